// The server is busy twice, and the client has a rate limiter that counts its calls.
//
// Question: How often is the limiter called?
//
// Wrong: retries-are-not-limited
//
// Story: For the server, a retry is another request. A client whose retries pass the limiter sends more than its limit,
// exactly when the server is too busy. Client-go did this in 2016
// ([#34938](https://github.com/kubernetes/kubernetes/issues/34938)).
package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/flowcontrol"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
)

// counter is a rate limiter that lets every request pass.
type counter struct {
	flowcontrol.RateLimiter
	calls int
}

func (c *counter) Wait(ctx context.Context) error {
	c.calls++
	return nil
}

func main() {
	api := fakeapi.New()
	defer api.Close()
	limiter := &counter{}
	config := api.Config()
	config.RateLimiter = limiter
	client := must(restclient.AppsV1For(config))
	api.Script("list", fakeapi.Times(2, fakeapi.Answer(429, "0"))...)
	err := client.Get().Namespace("default").Resource("deployments").Do(context.Background()).Error()
	fmt.Println("error:", err)
	fmt.Println("requests:", len(api.Requests("list")))
	fmt.Println("calls of the limiter:", limiter.calls)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
