// Command proxy stands between Kubernetes clients and an API server. It is the finished program of the lab; what makes
// it a program is in internal/testkit/proxyapp.
//
//	go run ./labs/solutions/rewriting-proxy/cmd/proxy                      a demonstration, without a cluster
//	go run ./labs/solutions/rewriting-proxy/cmd/proxy --kubeconfig FILE    in front of a cluster
package main

import (
	"net/http"

	"client-go-workshop/internal/testkit/proxyapp"
	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	proxyapp.Main(func(c proxyapp.Config) (http.Handler, error) {
		return rewritingproxy.New(rewritingproxy.Config{
			Upstream: c.Upstream, Transport: c.Transport, NewFrameReader: watchstream.NewFrameReader,
			View: rewritingproxy.View{Factor: c.Factor, HiddenLabel: c.HiddenLabel},
		})
	})
}
