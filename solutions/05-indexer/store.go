package indexer

// This file has the outermost layer, which makes the key of each object and passes key and object to a
// cache.ThreadSafeStore. The informer writes each object that it pops from the queue, and listers read. Only what is
// exported is fixed; the rest is our choice. It mirrors client-go's tools/cache/store.go.

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// MetaNamespaceKeyFunc returns the key of an object, namespace/name. The key of a cluster-scoped object is its name
// alone, without a slash. A cache.ExplicitKey is a key already.
//
// An object without metadata is an error. An object has metadata if meta.Accessor finds it (the function is in
// k8s.io/apimachinery/pkg/api/meta).
//
// MetaNamespaceKeyFunc mirrors cache.MetaNamespaceKeyFunc.
//
//workshop:task 1
func MetaNamespaceKeyFunc(obj any) (string, error) {
	if key, ok := obj.(cache.ExplicitKey); ok {
		return string(key), nil
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return "", fmt.Errorf("make a key for a %T: %w", obj, err)
	}
	if object.GetNamespace() == "" {
		return object.GetName(), nil
	}
	return object.GetNamespace() + "/" + object.GetName(), nil
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
//
//workshop:task 1 Store.Update
func (s store) Update(obj any) error {
	key, err := s.keyFunc(obj)
	if err != nil {
		return cache.KeyError{Obj: obj, Err: err}
	}
	s.ThreadSafeStore.Update(key, obj)
	return nil
}

// Delete removes the stored object that has obj's key, and no other. It asks the store's key function for the key, and
// does not look at the object: with cache.DeletionHandlingMetaNamespaceKeyFunc, obj may be a tombstone
// (cache.DeletedFinalStateUnknown).
//
// A key that is not stored is not an error. If the key function fails, the caller receives a cache.KeyError, which
// carries the object and wraps the error.
//
//workshop:task 1 Store.Delete
func (s store) Delete(obj any) error {
	key, err := s.keyFunc(obj)
	if err != nil {
		return cache.KeyError{Obj: obj, Err: err}
	}
	s.ThreadSafeStore.DeleteWithObject(key, obj)
	return nil
}

// Get returns the stored object that has the same key as obj. For a key that is not stored, exists is false and err is
// nil.
//
// If the key function fails, the caller receives a cache.KeyError, which carries the object and wraps the error.
//
//workshop:task 1 Store.Get
func (s store) Get(obj any) (item any, exists bool, err error) {
	key, err := s.keyFunc(obj)
	if err != nil {
		return nil, false, cache.KeyError{Obj: obj, Err: err}
	}
	return s.GetByKey(key)
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
//
//workshop:task 4 Store.Replace
func (s store) Replace(list []any, version string) error {
	items := make(map[string]any, len(list))
	for _, obj := range list {
		key, err := s.keyFunc(obj)
		if err != nil {
			return cache.KeyError{Obj: obj, Err: err}
		}
		items[key] = obj
	}
	s.ThreadSafeStore.Replace(items, version)
	return nil
}
