// An index function fails while an object is deleted, and the caller recovers.
//
// Question: What does the program print?
//
// Wrong: deletes-before-it-unindexes
//
// Story: Until 2017 client-go ignored the error of an index function. When the object was deleted later, an index could
// still have its key, and a lookup returned a nil
// ([#43605](https://github.com/kubernetes/kubernetes/issues/43605)). The lister that received the nil crashed, far from
// the function that had failed.
package main

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	var failure error
	image := func(obj any) ([]string, error) { return []string{"nginx"}, failure }
	store := indexer.NewIndexer(indexer.MetaNamespaceKeyFunc, cache.Indexers{"image": image})
	web := &metav1.ObjectMeta{Name: "web"}
	_ = store.Add(web)
	failure = errors.New("out of order")
	func() {
		defer func() { fmt.Println("panicked:", recover() != nil) }()
		_ = store.Delete(web)
	}()
	objs, err := store.ByIndex("image", "nginx")
	fmt.Println("found:", len(objs), "error:", err)
	fmt.Println("nil:", objs[0] == nil)
}
