package indexer

// This file has the outermost layer, which makes the key of each object and passes key and object to a
// cache.ThreadSafeStore. The informer writes each object that it pops from the queue, and listers read. Only what is
// exported is fixed; the rest is our choice. It mirrors client-go's tools/cache/store.go.

import (
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// MetaNamespaceKeyFunc returns the key of an object, namespace/name. The key of a cluster-scoped object is its name
// alone, without a slash. A cache.ExplicitKey is a key already.
//
// An object without metadata is an error. An object has metadata if meta.Accessor finds it (the function is in
// k8s.io/apimachinery/pkg/api/meta).
//
// MetaNamespaceKeyFunc mirrors cache.MetaNamespaceKeyFunc.
func MetaNamespaceKeyFunc(obj any) (string, error) {
	panic(todo.Task(1, "MetaNamespaceKeyFunc"))
}

// store implements cache.Indexer. The methods that take an object are below. All others (ListKeys, ByIndex,
// AddIndexers, …) are those of the embedded cache.ThreadSafeStore.
type store struct {
	keyFunc cache.KeyFunc
	cache.ThreadSafeStore
}

var _ cache.Indexer = store{}

// NewStore returns an empty store without indexes. It mirrors cache.NewStore.
func NewStore(keyFunc cache.KeyFunc) cache.Store {
	return NewIndexer(keyFunc, nil)
}

// NewIndexer returns an empty store that keeps one index for each of indexers. It mirrors cache.NewIndexer.
func NewIndexer(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
	return store{keyFunc: keyFunc, ThreadSafeStore: NewThreadSafeStore(indexers, cache.Indices{})}
}

// Add stores obj under its key.
func (s store) Add(obj any) error { return s.Update(obj) }

// Update stores obj under its key and replaces the object that has this key. A store finds the key of an object with
// its own key function.
//
// If the key function fails, the caller receives a cache.KeyError, which carries the object and wraps the error. The
// store is then the same as before.
func (s store) Update(obj any) error {
	panic(todo.Task(1, "Store.Update"))
}

// Delete removes the stored object that has obj's key, and no other. It asks the store's key function for the key, and
// does not look at the object: with cache.DeletionHandlingMetaNamespaceKeyFunc, obj may be a tombstone
// (cache.DeletedFinalStateUnknown).
//
// A key that is not stored is not an error. If the key function fails, the caller receives a cache.KeyError, which
// carries the object and wraps the error.
func (s store) Delete(obj any) error {
	panic(todo.Task(1, "Store.Delete"))
}

// Get returns the stored object that has the same key as obj. For a key that is not stored, exists is false and err is
// nil.
//
// If the key function fails, the caller receives a cache.KeyError, which carries the object and wraps the error.
func (s store) Get(obj any) (item any, exists bool, err error) {
	panic(todo.Task(1, "Store.Get"))
}

// GetByKey returns the object under key. The error is always nil.
func (s store) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = s.ThreadSafeStore.Get(key)
	return item, exists, nil
}

// Replace makes the list the whole content of the store and sets the store's version to that of the list. Of two
// objects with the same key the later one stays. The list belongs to the caller.
//
// It is all or nothing: if one object has no key, it returns a cache.KeyError, which names the object.
func (s store) Replace(list []any, version string) error {
	panic(todo.Task(4, "Store.Replace"))
}
