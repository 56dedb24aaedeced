package upstream

import (
	"testing"

	"k8s.io/client-go/tools/cache"
)

// Promise: "NewIndexer returns an Indexer implemented simply with a map and a lock." (tools/cache/store.go:428)
// Nothing says that two of them share a map.
//
// Defect: the store keeps the caller's map of index functions, and AddIndexers writes to it
// (tools/cache/thread_safe_store.go, addIndexers). Two stores that were made from one map share it, without a lock.
//
// Impact: an index that is added to one informer appears in the other, which has not computed it for its objects:
// lookups there find nothing, and adding it there is a conflict.
//
// Upstream: no report found.
//
// Repair: copy the map in NewThreadSafeStore.
func TestAddIndexers_changes_another_store(t *testing.T) {
	common := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	one := cache.NewIndexer(cache.MetaNamespaceKeyFunc, common)
	other := cache.NewIndexer(cache.MetaNamespaceKeyFunc, common)
	if err := other.Add(pod("web", "1")); err != nil {
		t.Fatal(err)
	}
	byName := cache.Indexers{"name": func(any) ([]string, error) { return []string{"web"}, nil }}
	if err := one.AddIndexers(byName); err != nil {
		t.Fatal(err)
	}
	found, err := other.ByIndex("name", "web")
	present(t, err == nil && len(found) == 0 && other.AddIndexers(byName) != nil, "the other store has no such index")
}
