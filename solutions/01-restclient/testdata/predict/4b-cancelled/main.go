// A request waits for the rate limiter when its context is cancelled.
//
// Question: Which error does the program print?
//
// Wrong: cancel-is-blamed-on-the-limiter
//
// Story: The limiter only returned the context's error. With the limiter's name in front, its readers look for a
// problem with the rate limit. Client-go added that name until 2026, and it was a false lead in a real investigation
// ([#137694](https://github.com/kubernetes/kubernetes/pull/137694)).
package main

import (
	"context"
	"fmt"
	"time"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	config := api.Config()
	config.QPS, config.Burst = 0.001, 1 // one request, and the next after a quarter of an hour
	client := must(restclient.AppsV1For(config))
	list := func(ctx context.Context) error {
		return client.Get().Namespace("default").Resource("deployments").Do(ctx).Error()
	}
	ctx, cancel := context.WithCancel(context.Background())
	fmt.Println("first: ", list(ctx))
	time.AfterFunc(50*time.Millisecond, cancel)
	fmt.Println("second:", list(ctx))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
