// A watch has a Timeout of 100 milliseconds, and the next change comes later.
//
// Question: Does the watch receive the change?
//
// Wrong: watch-dies-with-its-timeout
//
// Story: A watch lasts for minutes, so a limit for requests must not end it. The Timeout of a rest.Config is the
// http.Client's, and does. NGINX Gateway Fabric set it to 10 seconds, and each of its watches ended and started again
// every 10 seconds
// ([#5793](https://github.com/nginx/nginx-gateway-fabric/issues/5793)).
package main

import (
	"context"
	"fmt"
	"time"

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
	r := client.Get().Namespace("default").Resource("deployments").Timeout(100*time.Millisecond).Param("watch", "true")
	events := must(r.Watch(ctx))
	defer events.Stop()
	time.Sleep(400 * time.Millisecond)
	must(client.Post().Namespace("default").Resource("deployments").Body([]byte(web)).DoRaw(ctx))
	if event, ok := <-events.ResultChan(); ok {
		fmt.Println("event:", event.Type)
	} else {
		fmt.Println("the watch has ended")
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
