// Command kube-proxy forwards connections to Services, on each node, as its project ships it. The launcher does not
// build it: no Pod of its clusters has an address. scripts/node-image.sh does, for nodes in Docker. Left out: the JSON
// log format.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics, on /metrics: queue depths, request times
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-proxy/app"
)

func main() {
	os.Exit(cli.Run(app.NewProxyCommand()))
}
