// Command kube-apiserver is the Kubernetes API server as its project ships it:
// the only program that talks to etcd, and the one that everybody else talks
// to, the workshop's controller included. It is here so that `go build` can
// make it. Left out: the JSON log format, the embedded time zones. Its flags are in
// internal/controlplane/components.go.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics, on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
