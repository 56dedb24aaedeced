// The cache is at 10, and a write at 11. A worker asks twice.
//
// Question: What are the two answers?
//
// Wrong: error-forgets-the-record
//
// Story: The question is asked again after each back-off, until the cache has arrived. If the first error takes the
// record away, the second reconcile finds nothing to wait for, and creates the Pods again.
package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ownwrites "client-go-workshop/labs/solutions/own-writes"
)

func main() {
	caches := map[schema.GroupResource]ownwrites.LastSyncRVGetter{ownwrites.Pods: at("10")}
	store := ownwrites.NewConsistencyStore(caches)
	web := types.NamespacedName{Namespace: "default", Name: "web"}
	store.WroteAt(web, "uid-1", ownwrites.Pods, "11")
	for range 2 {
		fmt.Println("ready:", store.EnsureReady(web) == nil)
	}
}

type at string

func (a at) LastStoreSyncResourceVersion() string { return string(a) }
