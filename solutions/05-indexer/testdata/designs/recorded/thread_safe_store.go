package indexer

// This file has the store. It passes no old objects to the indexes.

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// threadSafeMap implements cache.ThreadSafeStore.
type threadSafeMap struct {
	lock    sync.RWMutex // guards the fields below
	items   map[string]any
	indexes map[string]*index
	version string
}

var _ cache.ThreadSafeStore = (*threadSafeMap)(nil)

// NewThreadSafeStore returns an empty store that keeps one index for each of indexers.
func NewThreadSafeStore(indexers cache.Indexers, _ cache.Indices) cache.ThreadSafeStore {
	s := &threadSafeMap{items: map[string]any{}, indexes: map[string]*index{}}
	for name, values := range indexers {
		s.indexes[name] = newIndex(values)
	}
	return s
}

// Add is the same as Update, whether the key is stored or not.
func (s *threadSafeMap) Add(key string, obj any) { s.Update(key, obj) }

// Update stores obj under its key and replaces the object that has this key.
func (s *threadSafeMap) Update(key string, obj any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.items[key] = obj
	for _, x := range s.indexes {
		x.update(key, obj)
	}
	s.observe(obj)
}

// Delete removes the object under key.
func (s *threadSafeMap) Delete(key string) { s.DeleteWithObject(key, nil) }

// DeleteWithObject removes the object under key from the store and from every index.
func (s *threadSafeMap) DeleteWithObject(key string, obj any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if _, known := s.items[key]; known {
		for _, x := range s.indexes {
			x.update(key, nil)
		}
		delete(s.items, key)
	}
	s.observe(obj)
}

// observe makes the version of obj that of the store, if obj has metadata.
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

// Replace makes the list the whole content of the store.
func (s *threadSafeMap) Replace(items map[string]any, version string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.items = items
	s.version = version
	for _, x := range s.indexes {
		x.reset() // empty all of them first: an index function may panic below
	}
	for _, x := range s.indexes {
		for key, obj := range items {
			x.update(key, obj)
		}
	}
}

// Bookmark sets the version of a store whose content did not change.
func (s *threadSafeMap) Bookmark(version string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.version = version
}

// LastStoreSyncResourceVersion returns the store's version, that of the last write, Replace or Bookmark.
func (s *threadSafeMap) LastStoreSyncResourceVersion() string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.version
}

// Index returns the objects that share at least one indexed value with the example, each once.
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

// ByIndex returns the objects that have the indexed value.
func (s *threadSafeMap) ByIndex(indexName, indexedValue string) ([]any, error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	x, err := s.indexNamed(indexName)
	if err != nil {
		return nil, err
	}
	return s.objects(x.keys[indexedValue]), nil
}

// IndexKeys returns the keys of the objects that have the indexed value, sorted.
func (s *threadSafeMap) IndexKeys(indexName, indexedValue string) ([]string, error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	x, err := s.indexNamed(indexName)
	if err != nil {
		return nil, err
	}
	return sets.List(x.keys[indexedValue]), nil
}

// ListIndexFuncValues returns every indexed value that an object has, each once.
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

// indexNamed returns the index of this name.
func (s *threadSafeMap) indexNamed(name string) (*index, error) {
	x, known := s.indexes[name]
	if !known {
		return nil, fmt.Errorf("there is no index %q in this store", name)
	}
	return x, nil
}

// objects returns the objects under keys.
func (s *threadSafeMap) objects(keys sets.Set[string]) []any {
	list := make([]any, 0, len(keys))
	for key := range keys {
		list = append(list, s.items[key])
	}
	return list
}

// GetIndexers returns the index functions by the names of their indexes.
func (s *threadSafeMap) GetIndexers() cache.Indexers {
	s.lock.RLock()
	defer s.lock.RUnlock()
	indexers := make(cache.Indexers, len(s.indexes))
	for name, x := range s.indexes {
		indexers[name] = x.values
	}
	return indexers
}

// AddIndexers adds indexes, which find the objects that are stored already.
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
			added[name].update(key, obj)
		}
	}
	maps.Copy(s.indexes, added)
	return nil
}

// Resync does nothing.
func (s *threadSafeMap) Resync() error { return nil }
