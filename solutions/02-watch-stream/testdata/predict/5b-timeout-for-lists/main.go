// A program limits its lists to ten seconds, but not its watches.
//
// Question: Which queries does the server receive?
//
// Wrong: modified-before-it-is-a-watch
//
// Story: One function modifies the options of lists and of watches, and only the option Watch distinguishes them. If it
// is set too late, the watches of this program end every ten seconds. Each of its informers then starts thousands of
// watches a day, and nothing looks broken.
package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/fakeapi"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	lw := watchstream.NewFilteredListWatchFromClient(client(api), "deployments", "default",
		func(options *metav1.ListOptions) {
			if !options.Watch {
				options.TimeoutSeconds = new(int64(10))
			}
		})
	must(lw.ListWithContext(context.Background(), metav1.ListOptions{}))
	must(lw.WatchWithContext(context.Background(), metav1.ListOptions{})).Stop()
	for _, r := range api.Requests("") {
		fmt.Println(r.Query.Encode())
	}
}

func client(api *fakeapi.Server) *rest.RESTClient {
	config := api.Config()
	config.APIPath, config.GroupVersion = "/apis", &appsv1.SchemeGroupVersion
	config.NegotiatedSerializer = watchstream.Codecs
	return must(rest.RESTClientFor(config))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
