// Two Deployments run nginx, and one moves to caddy.
//
// Question: Which Deployments does each line name?
//
// Wrong: forgets-the-old-entry
//
// Story: A cache that keeps old entries reports a Deployment under an image that it stopped running days ago. A
// controller that rolls out a fix for nginx restarts it at every pass and finds nothing to fix. No log shows an error,
// because `List` and `Get` return the current object; only the lookup by value is out of date.
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	image := func(obj any) ([]string, error) {
		return []string{obj.(*metav1.ObjectMeta).Annotations["image"]}, nil
	}
	store := indexer.NewIndexer(indexer.MetaNamespaceKeyFunc, cache.Indexers{"image": image})
	runs := func(name, image string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: name, Annotations: map[string]string{"image": image}}
	}
	store.Add(runs("web", "nginx"))
	store.Add(runs("shop", "nginx"))
	store.Update(runs("web", "caddy"))
	for _, image := range []string{"caddy", "nginx"} {
		keys, _ := store.IndexKeys("image", image)
		fmt.Println(image, keys)
	}
}
