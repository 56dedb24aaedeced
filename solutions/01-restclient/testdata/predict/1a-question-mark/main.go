// A name from a web form contains a question mark.
//
// Question: Which URL does the program print?
//
// Wrong: url-is-put-together-as-text
//
// Story: A path that is put together as text ends at the question mark, so this request deletes another Deployment:
// web. In 2015 the horizontal pod autoscaler built URLs from fields of the user's object. The fix made the client check
// every segment of a path ([#16717](https://github.com/kubernetes/kubernetes/pull/16717)).
package main

import (
	"fmt"

	"k8s.io/client-go/rest"

	restclient "client-go-workshop/solutions/01-restclient"
)

func main() {
	client := must(restclient.AppsV1For(&rest.Config{Host: "http://api"}))
	name := "web?dryRun=All"
	r := client.Delete().Namespace("default").Resource("deployments").Name(name).Param("gracePeriodSeconds", "0")
	fmt.Println(r.URL())
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
