// Command kube-controller-manager is the Kubernetes controller manager as its
// project ships it: some fifty controllers in one program, of which the
// workshop switches on seven. It is here so that `go build` can make it. Left
// out: the JSON log format, the embedded time zones. Its flags are in
// internal/controlplane/components.go.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics, on /metrics: queue depths, request times
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	os.Exit(cli.Run(app.NewControllerManagerCommand()))
}
