// Three clients send different Accept headers.
//
// Question: What does the proxy accept from the API server for each of them?
//
// Wrong: accept-passes
//
// Story: The API server takes the first form, protobuf. The proxy's frame reader does not find an end in protobuf, and
// the watch fails. client-go then falls back to a list, and a proxy that also passes lists in protobuf hands out
// unchanged objects, without an error anywhere.
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	proxy, err := rewritingproxy.New(rewritingproxy.Config{
		Upstream: &url.URL{Scheme: "https", Host: "upstream"}, Transport: http.DefaultTransport,
		NewFrameReader: watchstream.NewFrameReader, View: rewritingproxy.View{Factor: 3},
	})
	if err != nil {
		panic(err)
	}
	for _, accept := range []string{
		"application/vnd.kubernetes.protobuf,application/json",
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
		"*/*",
	} {
		in := httptest.NewRequest("GET", "/apis/apps/v1/deployments", nil)
		in.Header.Set("Accept", accept)
		out, err := proxy.Request(in)
		if err != nil {
			panic(err)
		}
		fmt.Println(out.Header.Get("Accept"))
	}
}
