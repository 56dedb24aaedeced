// A program deletes one Deployment, and forgot to fill in its name.
//
// Question: How many Deployments are left?
//
// Wrong: empty-name-passes
//
// Story: Without its name, the path of one object is the path of all of them. A DELETE of that path is valid, and
// deletes the whole collection. In 2024 the Python client still did this
// ([#2291](https://github.com/kubernetes-client/python/issues/2291)).
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
	for _, name := range []string{"web", "db", "cache"} {
		r := client.Post().Namespace("default").Resource("deployments").Body(manifest(name))
		must(r.DoRaw(ctx))
	}
	name := "" // not filled in
	err := client.Delete().Namespace("default").Resource("deployments").Name(name).Do(ctx).Error()
	fmt.Println("error:", err)
	fmt.Println("Deployments left:", len(api.Objects("deployments")))
}

func manifest(name string) []byte {
	return fmt.Appendf(nil, `{"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": %q}, "spec": {
		"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}},
		"spec": {"containers": [{"name": "c", "image": "nginx"}]}}}}`, name)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
