// A program calls Watch, and does not set the Watch field of the options.
//
// Question: What does the server receive?
//
// Wrong: watch-is-a-list
//
// Story: A list and a watch have the same path, and only a parameter tells them apart. Without it the server answers
// with a list, and a list is not an event. The watch fails at once, and so does the next one after each list of a
// Reflector. Its store does not see any change between two lists.
package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	client := must(restclient.AppsV1For(api.Config()))
	ctx := context.Background()
	deployments := restclient.NewDeployments(client, "default")
	events := must(deployments.Watch(ctx, metav1.ListOptions{LabelSelector: "app=web"}))
	events.Stop()
	fmt.Println("lists:", len(api.Requests("list")))
	fmt.Println("watches:", len(api.Requests("watch")))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
