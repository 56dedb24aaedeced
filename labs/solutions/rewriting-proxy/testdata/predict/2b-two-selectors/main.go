// A client lists with a label selector, deletes with it, and gets one object.
//
// Question: Which label selector does each request have?
//
// Wrong: client-selects-alone
//
// Story: Without a selector of their own, clients see what they should. The first client that selects by a label sees
// hidden objects, and the client that deletes by a label deletes them. A test without a selector finds neither.
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
		NewFrameReader: watchstream.NewFrameReader, View: rewritingproxy.View{Factor: 3, HiddenLabel: "dark"},
	})
	if err != nil {
		panic(err)
	}
	const all = "/apis/apps/v1/namespaces/default/deployments"
	for _, r := range []*http.Request{
		httptest.NewRequest("GET", all, nil),
		httptest.NewRequest("GET", all+"?watch=1&labelSelector=app%3Dweb", nil),
		httptest.NewRequest("DELETE", all+"?labelSelector=app%3Dweb", nil),
		httptest.NewRequest("GET", all+"/web", nil),
	} {
		out, err := proxy.Request(r)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %q\n", r.Method, out.URL.Query().Get("labelSelector"))
	}
}
