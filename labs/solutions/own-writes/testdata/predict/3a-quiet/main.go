// The last write of the day has version 10, and so has the cache.
//
// Question: Is web ready?
//
// Wrong: cache-must-be-newer
//
// Story: The event of a write carries the version of the write. So a cache that has seen it is at this version, and
// not above it. A controller that waits for more waits until some other Pod changes, which on a quiet night takes
// hours.
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
	store.WroteAt(web, "uid-1", ownwrites.Pods, "10")
	fmt.Println("ready:", store.EnsureReady(web) == nil)
}

type at string

func (a at) LastStoreSyncResourceVersion() string { return string(a) }
