package indexer

// This file has the store of keys, objects and indexes, and the lock around them. store.go calls it, and it calls
// index.go. It mirrors client-go's tools/cache/thread_safe_store.go.
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
// The objects are shared, not copied: a reader receives the pointer that a writer stored. So an object must not be
// changed while it is in the store. Returned slices belong to the caller, and the objects in them do not.
type threadSafeMap struct {
	lock    sync.RWMutex // guards the fields below
	items   map[string]any
	indexes map[string]*index
	version string
}

var _ cache.ThreadSafeStore = (*threadSafeMap)(nil)

// NewThreadSafeStore returns an empty store that keeps one index for each of indexers.
//
// The second parameter is not used. In client-go it takes indexes that are filled already, but outside of its tests
// client-go always passes an empty map. NewThreadSafeStore mirrors cache.NewThreadSafeStore.
//
//workshop:keep
func NewThreadSafeStore(indexers cache.Indexers, _ cache.Indices) cache.ThreadSafeStore {
	s := &threadSafeMap{items: map[string]any{}, indexes: map[string]*index{}}
	for name, values := range indexers {
		s.indexes[name] = newIndex(values)
	}
	return s
}

// Add is the same as Update, whether the key is stored or not.
//
//workshop:keep
func (s *threadSafeMap) Add(key string, obj any) { s.Update(key, obj) }

// Update stores obj under its key and replaces the object that has this key. Under each value, an index then names
// exactly the objects that have it now. A nil object has no values.
//
// The store's version becomes that of the last write, higher, lower or empty. An object without metadata does not
// change the store's version.
//
// If an index function fails, Update panics. Even after an index function has failed (it then fails each time for
// that key), no index names a key that is not in the store.
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

// Delete removes the object under key. The store keeps its version, because no object carries that of the deletion.
//
//workshop:keep
func (s *threadSafeMap) Delete(key string) { s.DeleteWithObject(key, nil) }

// DeleteWithObject removes the object under key from the store and from every index. A key that is not stored is not an
// error.
//
// The version of a deletion is that of obj. If obj is nil or a tombstone, the store keeps its version.
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

// observe makes the version of obj that of the store, if obj has metadata. The caller holds the lock.
func (s *threadSafeMap) observe(obj any) {
	if obj == nil {
		return
	}
	if object, err := meta.Accessor(obj); err == nil {
		s.version = object.GetResourceVersion()
	}
}

// Get returns the object under key. It reports whether the key is stored, even if its object is nil.
func (s *threadSafeMap) Get(key string) (obj any, exists bool) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	obj, exists = s.items[key]
	return obj, exists
}

// List returns all objects, in any order.
func (s *threadSafeMap) List() []any {
	s.lock.RLock()
	defer s.lock.RUnlock()
	list := make([]any, 0, len(s.items))
	for _, obj := range s.items {
		list = append(list, obj)
	}
	return list
}

// ListKeys returns all keys, in any order.
func (s *threadSafeMap) ListKeys() []string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	keys := make([]string, 0, len(s.items))
	for key := range s.items {
		keys = append(keys, key)
	}
	return keys
}

// Replace makes the list the whole content of the store, rebuilds every index from the list and sets the store's
// version to that of the list. For readers it is one step. If an index function fails, it panics.
//
// The keys of items are those of its objects. The store keeps items: the map must not be nil, and the caller must not
// use it again.
//
//workshop:task 4
func (s *threadSafeMap) Replace(items map[string]any, version string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.items = items
	s.version = version
	for _, x := range s.indexes {
		x.keys = map[string]sets.Set[string]{} // empty all of them first: an index function may panic below
	}
	for _, x := range s.indexes {
		for key, obj := range items {
			x.update(key, nil, obj)
		}
	}
}

// Bookmark sets the version of a store whose content did not change. A store does not compare versions.
func (s *threadSafeMap) Bookmark(version string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.version = version
}

// LastStoreSyncResourceVersion returns the store's version, that of the last write, Replace or Bookmark. The version of
// a store is "" before the first write.
func (s *threadSafeMap) LastStoreSyncResourceVersion() string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.version
}

// Index returns the objects that share at least one indexed value with the example, each once. The example, obj, need
// not be in the store.
//
// It calls the index function for the example, and for no stored object. An unknown index is an error, and so is
// an index function that fails for the example. Index returns an error that wraps that of the index function.
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

// ByIndex returns the objects that have the indexed value. For a value that no object has, it returns no objects and no
// error. An unknown index is an error.
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

// IndexKeys returns the keys of the objects that have the indexed value, sorted. An unknown index is an error.
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

// ListIndexFuncValues returns every indexed value that an object has, each once. An unknown index has no values.
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

// indexNamed returns the index of this name. The caller holds the lock, for reading at least.
func (s *threadSafeMap) indexNamed(name string) (*index, error) {
	x, known := s.indexes[name]
	if !known {
		return nil, fmt.Errorf("there is no index %q in this store", name)
	}
	return x, nil
}

// objects returns the objects under keys. All keys in an index are keys of items, even if an index function panics: an
// object enters items before the indexes, and leaves the indexes before items. The caller holds the lock, for reading
// at least.
func (s *threadSafeMap) objects(keys sets.Set[string]) []any {
	list := make([]any, 0, len(keys))
	for key := range keys {
		list = append(list, s.items[key])
	}
	return list
}

// GetIndexers returns the index functions by the names of their indexes. The map belongs to the caller.
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

// AddIndexers adds indexes, which find the objects that are stored already. The map of index functions belongs to the
// caller.
//
// If one of the names is taken, AddIndexers returns an error and adds none of them. It then calls no index function. If
// an index function fails for a stored object, it panics and adds none of the indexes.
//
//workshop:task 4
func (s *threadSafeMap) AddIndexers(newIndexers cache.Indexers) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	for name := range newIndexers {
		if _, taken := s.indexes[name]; taken {
			return fmt.Errorf("add index %q: the store has one of that name", name)
		}
	}
	added := make(map[string]*index, len(newIndexers))
	for name, values := range newIndexers {
		added[name] = newIndex(values)
		for key, obj := range s.items {
			added[name].update(key, nil, obj)
		}
	}
	maps.Copy(s.indexes, added)
	return nil
}

// Resync does nothing. cache.Store demands it because a queue, which has the same methods, resyncs (chapter 04).
//
//workshop:keep
func (s *threadSafeMap) Resync() error { return nil }
