package indexer

// This file is the outermost layer: it works out each object's key and hands key and object to a cache.ThreadSafeStore.
// The informer writes to it what it pops from the queue, listers read from it. It mirrors client-go's
// tools/cache/store.go.

import (
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// MetaNamespaceKeyFunc makes the key under which an object is stored: "namespace/name", or just "name" for a
// cluster-scoped object. A cache.ExplicitKey is a key already. Metadata is what meta.Accessor finds (of the package
// k8s.io/apimachinery/pkg/api/meta); an object without it is an error. Mirrors cache.MetaNamespaceKeyFunc.
func MetaNamespaceKeyFunc(obj any) (string, error) {
	panic(todo.Task(1, "MetaNamespaceKeyFunc"))
}

// store implements cache.Indexer: a cache.ThreadSafeStore that finds the keys itself. It has no state of its own and so
// no lock. A key function that fails gives a cache.KeyError, and the store stays as it was.
type store struct {
	keyFunc cache.KeyFunc
	// ThreadSafeStore does the rest: what takes a key or no key at all (ListKeys, ByIndex, AddIndexers …) is its own
	// method; what takes an object is below.
	cache.ThreadSafeStore
}

var _ cache.Indexer = store{}

// NewStore returns an empty store without indexes. Mirrors cache.NewStore.
func NewStore(keyFunc cache.KeyFunc) cache.Store {
	return NewIndexer(keyFunc, nil)
}

// NewIndexer returns an empty store that keeps one index for each of indexers. Mirrors cache.NewIndexer.
func NewIndexer(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
	return store{keyFunc: keyFunc, ThreadSafeStore: NewThreadSafeStore(indexers, cache.Indices{})}
}

// Add stores obj under its key.
func (s store) Add(obj any) error { return s.Update(obj) }

// Update stores obj under its key, in the place of what stood there.
func (s store) Update(obj any) error {
	panic(todo.Task(1, "Store.Update"))
}

// Delete takes out what stands under obj's key. obj may be whatever the key function takes: the object's last state, or
// a tombstone (cache.DeletedFinalStateUnknown) with cache.DeletionHandlingMetaNamespaceKeyFunc.
func (s store) Delete(obj any) error {
	panic(todo.Task(1, "Store.Delete"))
}

// Get returns the stored object that has the same key as obj.
func (s store) Get(obj any) (item any, exists bool, err error) {
	panic(todo.Task(1, "Store.Get"))
}

// GetByKey returns the object under key. The error is always nil.
func (s store) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = s.ThreadSafeStore.Get(key)
	return item, exists, nil
}

// Replace makes list the whole content of the store, and version its version. If one object has no key, it returns a
// cache.KeyError and changes nothing. Of two objects with the same key the later one stays.
func (s store) Replace(list []any, version string) error {
	panic(todo.Task(4, "Store.Replace"))
}
