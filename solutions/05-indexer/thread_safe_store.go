package indexer

// This file is the store itself: keys, objects, indexes, one lock. It sits below store.go, which knows how to name
// objects, and above index.go, which knows how to find them. It mirrors client-go's tools/cache/thread_safe_store.go.
//
//workshop:file task 1 ThreadSafeStore

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// threadSafeMap implements cache.ThreadSafeStore. Every method may be called from any goroutine.
//
// The objects are shared, not copied: what goes in is what comes out, for every reader. Nobody may change an object
// once it is in here. The slices returned belong to the caller; the objects in them do not.
type threadSafeMap struct {
	// lock guards all fields below. Readers share it; a writer changes items and indexes under one hold, so that no
	// reader meets the one without the other.
	lock sync.RWMutex
	// items holds each object under its key.
	items map[string]any
	// indexes holds each index under its name. Every key in an index is a key of items, at all times: an object goes
	// into items before its indexes hear of it, and leaves after them.
	indexes map[string]*index
	// version is the resourceVersion that the last write, Replace or Bookmark brought.
	version string
}

var _ cache.ThreadSafeStore = (*threadSafeMap)(nil)

// NewThreadSafeStore returns an empty store that keeps one index for each of indexers.
//
// The second parameter is there because client-go's constructor has it, for indexes that are filled already. Outside of
// its tests client-go passes an empty one; ours is not used. Mirrors cache.NewThreadSafeStore.
//
//workshop:keep
func NewThreadSafeStore(indexers cache.Indexers, _ cache.Indices) cache.ThreadSafeStore {
	s := &threadSafeMap{items: map[string]any{}, indexes: map[string]*index{}}
	for name, values := range indexers {
		s.indexes[name] = newIndex(values)
	}
	return s
}

// Add is Update: a store does not care whether it knew the key.
//
//workshop:keep
func (s *threadSafeMap) Add(key string, obj any) { s.Update(key, obj) }

// Update puts obj under key, in the place of the object that stood there, and moves it in every index. If obj has
// metadata, the store's version becomes its resourceVersion, also if that is empty. If an index function fails, Update
// panics: obj is stored then, and may be missing in some indexes.
func (s *threadSafeMap) Update(key string, obj any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	old := s.items[key]
	s.items[key] = obj
	for _, x := range s.indexes {
		x.update(key, old, obj)
	}
	s.observe(obj)
}

// Delete takes out what stands under key. Unlike DeleteWithObject it has no object to learn a version from.
//
//workshop:keep
func (s *threadSafeMap) Delete(key string) { s.DeleteWithObject(key, nil) }

// DeleteWithObject takes out what stands under key, from the store and from every index. A key that is not there is no
// error. If obj has metadata, the store's version becomes its resourceVersion: obj is the object's last state, so this
// is the version of the deletion. obj may be nil, or something without metadata, such as a tombstone.
func (s *threadSafeMap) DeleteWithObject(key string, obj any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if old, known := s.items[key]; known {
		for _, x := range s.indexes {
			x.update(key, old, nil)
		}
		delete(s.items, key)
	}
	s.observe(obj)
}

// observe takes over the version of obj, if it has one. The caller holds the lock.
func (s *threadSafeMap) observe(obj any) {
	if obj == nil {
		return
	}
	if object, err := meta.Accessor(obj); err == nil {
		s.version = object.GetResourceVersion()
	}
}

// Get returns the object under key.
func (s *threadSafeMap) Get(key string) (obj any, exists bool) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	obj, exists = s.items[key]
	return obj, exists
}

// List returns all objects, in no order.
func (s *threadSafeMap) List() []any {
	s.lock.RLock()
	defer s.lock.RUnlock()
	list := make([]any, 0, len(s.items))
	for _, obj := range s.items {
		list = append(list, obj)
	}
	return list
}

// ListKeys returns all keys, in no order.
func (s *threadSafeMap) ListKeys() []string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	keys := make([]string, 0, len(s.items))
	for key := range s.items {
		keys = append(keys, key)
	}
	return keys
}

// Replace makes items the whole content of the store, rebuilds every index from it, and sets the store's version. For
// readers all of that happens at once. The store keeps items, which must not be nil; the caller must not touch it
// again. If an index function fails, Replace panics; even then no index names a key that items lacks.
//
//workshop:task 4
func (s *threadSafeMap) Replace(items map[string]any, version string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.items = items
	s.version = version
	for _, x := range s.indexes {
		x.keys = map[string]sets.Set[string]{} // in all of them first: an index function may panic below
	}
	for _, x := range s.indexes {
		for key, obj := range items {
			x.update(key, nil, obj)
		}
	}
}

// Bookmark sets the version of a store whose content did not change: the server says how far it has got, although none
// of its news was for us.
func (s *threadSafeMap) Bookmark(version string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.version = version
}

// LastStoreSyncResourceVersion returns the store's version: "" before the first write.
func (s *threadSafeMap) LastStoreSyncResourceVersion() string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.version
}

// Index returns the objects that share at least one indexed value with obj, in no order, each once. obj is an example;
// it need not be in the store. An unknown index is an error, and so is an index function that fails for obj.
//
//workshop:task 3
func (s *threadSafeMap) Index(indexName string, obj any) ([]any, error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	x, err := s.indexNamed(indexName)
	if err != nil {
		return nil, err
	}
	values, err := x.values(obj)
	if err != nil {
		return nil, fmt.Errorf("compute what to look for in index %q: %w", indexName, err)
	}
	return s.objects(x.keysOfAny(values)), nil
}

// ByIndex returns the objects that have indexedValue, in no order. An unknown index is an error; a value that no object
// has is not.
//
//workshop:task 2
func (s *threadSafeMap) ByIndex(indexName, indexedValue string) ([]any, error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	x, err := s.indexNamed(indexName)
	if err != nil {
		return nil, err
	}
	return s.objects(x.keys[indexedValue]), nil
}

// IndexKeys returns the keys of the objects that have indexedValue, sorted. An unknown index is an error.
//
//workshop:task 2
func (s *threadSafeMap) IndexKeys(indexName, indexedValue string) ([]string, error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	x, err := s.indexNamed(indexName)
	if err != nil {
		return nil, err
	}
	return sets.List(x.keys[indexedValue]), nil
}

// ListIndexFuncValues returns every indexed value that some object in the store has, in no order, each once. An unknown
// index has none.
//
//workshop:task 2
func (s *threadSafeMap) ListIndexFuncValues(indexName string) []string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	x, err := s.indexNamed(indexName)
	if err != nil {
		return nil
	}
	values := make([]string, 0, len(x.keys))
	for value := range x.keys {
		values = append(values, value)
	}
	return values
}

// indexNamed finds an index. The caller holds the lock, for reading at least.
func (s *threadSafeMap) indexNamed(name string) (*index, error) {
	x, known := s.indexes[name]
	if !known {
		return nil, fmt.Errorf("there is no index %q in this store", name)
	}
	return x, nil
}

// objects returns the objects under keys. The caller holds the lock, for reading at least.
func (s *threadSafeMap) objects(keys sets.Set[string]) []any {
	list := make([]any, 0, len(keys))
	for key := range keys {
		list = append(list, s.items[key])
	}
	return list
}

// GetIndexers returns the index functions by the names of their indexes. The map belongs to the caller (client-go
// returns its own one, without the lock).
//
//workshop:task 4
func (s *threadSafeMap) GetIndexers() cache.Indexers {
	s.lock.RLock()
	defer s.lock.RUnlock()
	indexers := make(cache.Indexers, len(s.indexes))
	for name, x := range s.indexes {
		indexers[name] = x.values
	}
	return indexers
}

// AddIndexers gives the store more indexes, which find also what is stored already. If one of the names is taken, it
// returns an error and adds none of them. If an index function fails for a stored object, it panics, like Update, and
// adds none of them.
//
//workshop:task 4
func (s *threadSafeMap) AddIndexers(newIndexers cache.Indexers) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	added := map[string]*index{}
	for name, values := range newIndexers {
		if _, taken := s.indexes[name]; taken {
			return fmt.Errorf("add index %q: the store has one of that name", name)
		}
		added[name] = newIndex(values)
		for key, obj := range s.items {
			added[name].update(key, nil, obj)
		}
	}
	maps.Copy(s.indexes, added)
	return nil
}

// Resync does nothing. It is here for the sake of cache.Store, where a queue has work to do on it (chapter 04).
//
//workshop:keep
func (s *threadSafeMap) Resync() error { return nil }
