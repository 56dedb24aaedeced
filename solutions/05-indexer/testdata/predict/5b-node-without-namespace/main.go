// A store has a Node and a Pod, and an index by namespace.
//
// Question: Which keys does each line print?
//
// Wrong: no-namespace-no-value
//
// Story: A Node has no namespace, so its namespace is the empty string, and that is an indexed value like any other. If
// the index function returns no value instead, no lookup by namespace can find a cluster-scoped object. A tool that
// visits all values of the index visits every object except these.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	byNamespace := cache.Indexers{"namespace": indexer.MetaNamespaceIndexFunc}
	store := indexer.NewIndexer(indexer.MetaNamespaceKeyFunc, byNamespace)
	_ = store.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	_ = store.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
	for _, namespace := range []string{"", "shop"} {
		keys, _ := store.IndexKeys("namespace", namespace)
		fmt.Printf("%q %v\n", namespace, keys)
	}
}
