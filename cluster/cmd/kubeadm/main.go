// Command kubeadm sets up a Kubernetes node, as its project ships it. kind runs it in each node. The launcher does not
// build it: scripts/node-image.sh does.
package main

import (
	"k8s.io/kubernetes/cmd/kubeadm/app"
	utilerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
)

func main() {
	utilerrors.HandleError(app.Run())
}
