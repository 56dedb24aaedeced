// Three namespaces come and go, and one stays.
//
// Question: What does the program print?
//
// Wrong: leaks-empty-sets
//
// Story: Until 2019 client-go's index kept an empty set for every value that it had ever seen. In clusters that create
// and delete many namespaces, the memory of every controller grew until a restart
// ([#84959](https://github.com/kubernetes/kubernetes/issues/84959)).
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	namespace := func(obj any) ([]string, error) {
		return []string{obj.(*metav1.ObjectMeta).Namespace}, nil
	}
	store := indexer.NewIndexer(indexer.MetaNamespaceKeyFunc, cache.Indexers{"namespace": namespace})
	store.Add(&metav1.ObjectMeta{Namespace: "default", Name: "web"})
	for n := range 3 {
		pod := &metav1.ObjectMeta{Namespace: fmt.Sprint("test-", n), Name: "web"}
		store.Add(pod)
		store.Delete(pod)
	}
	fmt.Println("objects:", len(store.List()))
	fmt.Println("namespaces:", len(store.ListIndexFuncValues("namespace")))
}
