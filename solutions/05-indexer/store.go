package indexer

// This file is the outermost layer: it works out each object's key and hands key and object to a cache.ThreadSafeStore.
// The informer writes to it what it pops from the queue, listers read from it. It mirrors client-go's
// tools/cache/store.go.

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// MetaNamespaceKeyFunc makes the key under which an object is stored: "namespace/name", or just "name" for a
// cluster-scoped object. A cache.ExplicitKey is a key already. Metadata is what meta.Accessor finds (of the package
// k8s.io/apimachinery/pkg/api/meta); an object without it is an error. Mirrors cache.MetaNamespaceKeyFunc.
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

// Delete takes out what stands under obj's key. obj may be whatever the key function takes: the object's last state, or
// a tombstone (cache.DeletedFinalStateUnknown) with cache.DeletionHandlingMetaNamespaceKeyFunc.
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

// Get returns the stored object that has the same key as obj.
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

// Replace makes list the whole content of the store, and version its version. If one object has no key, it returns a
// cache.KeyError and changes nothing. Of two objects with the same key the later one stays.
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
