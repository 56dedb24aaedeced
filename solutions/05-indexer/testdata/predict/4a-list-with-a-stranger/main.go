// A list has two objects, and the second one has no key.
//
// Question: Which keys and which version does the store have after the error?
//
// Wrong: replace-one-by-one
//
// Story: One object that the key function cannot handle is a bug in one object. If Replace clears the store before it
// has all keys, it becomes an outage: the cache is empty, and a controller that removes what has no owner removes
// everything. Replace must know that it can succeed before it changes anything.
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	store := indexer.NewStore(indexer.MetaNamespaceKeyFunc)
	_ = store.Add(&metav1.ObjectMeta{Name: "web", ResourceVersion: "5"})
	list := []any{&metav1.ObjectMeta{Name: "db", ResourceVersion: "9"}, "no metadata"}
	err := store.Replace(list, "9")
	fmt.Println("error:", err != nil)
	fmt.Println(store.ListKeys(), "at version", store.LastStoreSyncResourceVersion())
}
