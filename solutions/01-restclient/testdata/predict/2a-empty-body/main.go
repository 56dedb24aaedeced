// A load balancer answers 200 and sends no body.
//
// Question: Does the program scale the Deployment up?
//
// Wrong: empty-body-is-an-object
//
// Story: An empty Deployment looks like one without replicas, so a program acts on an object that does not exist.
// Azure's API sometimes answers 200 without a body, and Kubernetes' Azure provider now treats such an answer as an
// error ([#2298](https://github.com/kubernetes-sigs/cloud-provider-azure/pull/2298)).
package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	client := must(restclient.AppsV1For(api.Config()))
	ctx := context.Background()
	api.Script("get", fakeapi.Body("application/json", ""))
	d := &appsv1.Deployment{}
	err := client.Get().Namespace("default").Resource("deployments").Name("web").Do(ctx).Into(d)
	switch {
	case err != nil:
		fmt.Println("error:", err)
	case d.Spec.Replicas == nil:
		fmt.Println("web has no replicas: scale it up")
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
