// A Deployment runs nginx and envoy, and then only envoy.
//
// Question: What does each line print?
//
// Wrong: new-before-old
//
// Story: envoy is an old value and a new one. If the store inserts the new values first and then removes the old ones,
// envoy is removed last. A security scanner that asks for all Deployments with envoy then misses each Deployment that
// has removed another container.
package main

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	images := func(obj any) ([]string, error) {
		return strings.Fields(obj.(*metav1.ObjectMeta).Annotations["images"]), nil
	}
	store := indexer.NewIndexer(indexer.MetaNamespaceKeyFunc, cache.Indexers{"image": images})
	for _, list := range []string{"nginx envoy", "envoy"} {
		_ = store.Update(&metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"images": list}})
	}
	for _, image := range []string{"nginx", "envoy"} {
		keys, _ := store.IndexKeys("image", image)
		fmt.Println(image, keys)
	}
}
