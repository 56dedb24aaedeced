// A caller asks for everything that runs nginx or envoy.
//
// Question: What does the last line print?
//
// Wrong: joins-into-the-table
//
// Story: A lookup only has to read. If it collects its answer in a set of the index, it writes to the index, under a
// lock for readers. From then on db is found under an image that it never ran, and two lookups at the same time end the
// process with "concurrent map writes".
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
	runs := func(name, images string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: name, Annotations: map[string]string{"images": images}}
	}
	store := indexer.NewIndexer(indexer.MetaNamespaceKeyFunc, cache.Indexers{"image": images})
	_ = store.Add(runs("web", "nginx"))
	_ = store.Add(runs("db", "envoy"))
	objs, _ := store.Index("image", runs("example", "nginx envoy"))
	fmt.Println("found:", len(objs))
	keys, _ := store.IndexKeys("image", "nginx")
	fmt.Println("nginx:", keys)
}
