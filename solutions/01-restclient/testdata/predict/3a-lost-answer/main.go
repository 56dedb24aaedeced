// The server creates a Deployment, and the connection breaks before its answer arrives.
//
// Question: How often does the server receive the POST, and what does the program see?
//
// Wrong: post-is-sent-again
//
// Story: The client cannot know whether the server executed the POST. If it sends it again, the caller learns that its
// own object already exists, or there are two objects. An IP controller that retried POSTs after a reset created the
// same address twice ([#14](https://github.com/digitalocean/netbox-ip-controller/pull/14)). Client-go retries only a
// GET ([#39021](https://github.com/kubernetes/kubernetes/pull/39021)).
package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	api.Script("create", fakeapi.Reset(true)) // after the server has created the object
	err := client.Post().Namespace("default").Resource("deployments").Body([]byte(web)).Do(ctx).Error()
	fmt.Println("POSTs:", len(api.Requests("create")))
	fmt.Println("Deployments:", len(api.Objects("deployments")))
	fmt.Println("failed:", err != nil)
	fmt.Println("already exists:", apierrors.IsAlreadyExists(err))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
