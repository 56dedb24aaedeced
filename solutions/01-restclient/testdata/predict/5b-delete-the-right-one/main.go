// A program deletes an old Deployment by its UID, and another client has created a new one with the same name.
//
// Question: How many Deployments are left?
//
// Wrong: delete-forgets-its-options
//
// Story: The options of a deletion are its body, so they are easy to lose. Without the condition on the UID, the new
// object is deleted. The kubelet deleted new Pods like this, because an old Pod had the same name
// ([#25224](https://github.com/kubernetes/kubernetes/pull/25224)).
package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
)

const web = `{"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web"}, "spec": {
	"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
	"spec": {"containers": [{"name": "c", "image": "nginx"}]}}}}`

func main() {
	api := fakeapi.New()
	defer api.Close()
	client := must(restclient.AppsV1For(api.Config()))
	ctx := context.Background()
	must(client.Post().Namespace("default").Resource("deployments").Body([]byte(web)).DoRaw(ctx)) // the new one
	old := types.UID("of-the-old-one")
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &old}}
	err := restclient.NewDeployments(client, "default").Delete(ctx, "web", opts)
	fmt.Println("failed:", err != nil)
	fmt.Println("Deployments left:", len(api.Objects("deployments")))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
