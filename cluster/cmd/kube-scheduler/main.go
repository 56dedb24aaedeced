// Command kube-scheduler is the Kubernetes scheduler as its project ships it:
// it gives each pod a node. It is here so that `go build` can make it. Left
// out: the JSON log format. Its flags are in
// internal/controlplane/components.go.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics, on /metrics: queue depths, request times
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand()))
}
