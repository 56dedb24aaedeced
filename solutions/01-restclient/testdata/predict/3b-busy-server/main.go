// A busy server answers 429 five times, and then 200.
//
// Question: How many connections does the client open?
//
// Wrong: closed-without-reading
//
// Story: An HTTP/1.1 connection can be used again only after its answer was read to the end. This is the outage at the
// top of the chapter: each retry made a new connection, with a TLS handshake, on a server that was too busy already
// ([#30975](https://github.com/kubernetes/kubernetes/issues/30975)).
package main

import (
	"context"
	"fmt"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	client := must(restclient.AppsV1For(api.Config()))
	ctx := context.Background()
	api.Script("list", fakeapi.Times(5, fakeapi.Answer(429, "0"))...)
	err := client.Get().Namespace("default").Resource("deployments").Do(ctx).Error()
	_, connections := api.Connections()
	fmt.Println("error:", err)
	fmt.Println("requests:", len(api.Requests("list")))
	fmt.Println("connections:", connections)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
