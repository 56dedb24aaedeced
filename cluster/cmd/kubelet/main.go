// Command kubelet is the Kubernetes node agent as its project ships it. The launcher does not build it: its nodes are
// simulated. scripts/node-image.sh does, for nodes in Docker. Left out: the JSON log format.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics, on /metrics: queue depths, request times
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
