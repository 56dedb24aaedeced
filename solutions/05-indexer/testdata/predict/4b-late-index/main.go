// A controller adds an index to a store that has two objects.
//
// Question: Which keys does each line print?
//
// Wrong: late-index-starts-empty
//
// Story: Since client-go 0.30 a program may add an index to an informer that runs. If the new index starts empty, it
// finds an object only after one of the object's indexed values has changed. A namespace never changes, so even an
// update of web does not help. Every lookup returns an incomplete answer, without an error.
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	store := indexer.NewIndexer(indexer.MetaNamespaceKeyFunc, cache.Indexers{})
	add := func(name string) {
		_ = store.Update(&metav1.ObjectMeta{Namespace: "shop", Name: name})
	}
	add("web")
	add("db")
	_ = store.AddIndexers(cache.Indexers{"namespace": indexer.MetaNamespaceIndexFunc})
	keys, _ := store.IndexKeys("namespace", "shop")
	fmt.Println(keys)
	add("web")
	keys, _ = store.IndexKeys("namespace", "shop")
	fmt.Println(keys)
}
