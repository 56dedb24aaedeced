// A tombstone arrives, and it holds an object from long ago.
//
// Question: What does the last line print?
//
// Wrong: version-of-the-object-in-a-tombstone
//
// Story: The object in a tombstone is the last state that the cache had, so its version can be much older than the
// cache. If the store takes that version, it claims to be older than it is. A controller that waits until its cache has
// seen its own write then waits for an event that has already arrived.
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	store := indexer.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	web := &metav1.ObjectMeta{Name: "web", ResourceVersion: "3"}
	_ = store.Add(web)
	_ = store.Add(&metav1.ObjectMeta{Name: "db", ResourceVersion: "8"})
	fmt.Println(len(store.ListKeys()), "objects at version", store.LastStoreSyncResourceVersion())

	_ = store.Delete(cache.DeletedFinalStateUnknown{Key: "web", Obj: web})
	fmt.Println(len(store.ListKeys()), "objects at version", store.LastStoreSyncResourceVersion())
}
