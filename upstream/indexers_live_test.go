package upstream

import (
	"testing"

	"k8s.io/client-go/tools/cache"
)

// Promise: "ThreadSafeStore is an interface that allows concurrent indexed access to a storage backend."
// (tools/cache/thread_safe_store.go)
//
// Defect: GetIndexers returns the store's own map without its lock, and AddIndexers writes to this map.
//
// Impact: a program that reads the map while another part adds an index dies with "concurrent map iteration and map
// write", which cannot be recovered. Since v0.30, indexes can be added to a running informer.
//
// Upstream: https://github.com/kubernetes/kubernetes/pull/135440 (closed) adds the lock, which does not protect the
// map after the return.
//
// Repair: return maps.Clone(c.index.indexers) under the read lock.
func TestGetIndexers_returns_the_live_map(t *testing.T) {
	byName := func(any) ([]string, error) { return nil, nil }
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"a": byName})
	reader := store.GetIndexers()
	if err := store.AddIndexers(cache.Indexers{"b": byName}); err != nil {
		t.Fatal(err)
	}
	present(t, len(reader) == 2, "a map that was returned does not change any more")
}
