// Package indexer is another correct design: every write makes a new state and publishes it with one atomic store.
//
// In the solution, readers share a lock, so that they do not see half of a change. Here a reader loads a pointer to a
// state that never changes, so it never waits. Writers take turns. The design is correct because a state is complete
// before it is published, and nothing writes to a published state. A write copies the map of objects, and those sets of
// an index that it changes. So a write does more work, and a lookup less. After a panic of an index function the old
// state stays.
package indexer

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// threadSafeMap implements cache.ThreadSafeStore.
type threadSafeMap struct {
	writers sync.Mutex // one write at a time
	now     atomic.Pointer[state]
}

// state is everything that a reader can see. It never changes after it has been published.
type state struct {
	items   map[string]any
	indexes map[string]index
	version string
}

var _ cache.ThreadSafeStore = (*threadSafeMap)(nil)

// NewThreadSafeStore returns an empty store that keeps one index for each of indexers.
func NewThreadSafeStore(indexers cache.Indexers, _ cache.Indices) cache.ThreadSafeStore {
	first := &state{indexes: map[string]index{}}
	for name, values := range indexers {
		first.indexes[name] = index{values: values}
	}
	s := &threadSafeMap{}
	s.now.Store(first)
	return s
}

// write publishes what change makes of a copy of the state.
func (s *threadSafeMap) write(change func(next *state)) {
	s.writers.Lock()
	defer s.writers.Unlock()
	next := *s.now.Load()
	change(&next)
	s.now.Store(&next)
}

// put makes obj the object under key, in new maps. If known is false, the key is removed.
func (n *state) put(key string, obj any, known bool) {
	old := n.items[key]
	items := make(map[string]any, len(n.items)+1)
	maps.Copy(items, n.items)
	items[key] = obj
	if !known {
		delete(items, key)
	}
	indexes := make(map[string]index, len(n.indexes))
	for name, x := range n.indexes {
		indexes[name] = x.moved(key, old, obj)
	}
	n.items, n.indexes = items, indexes
}

func (n *state) observe(obj any) {
	if object, err := meta.Accessor(obj); err == nil {
		n.version = object.GetResourceVersion()
	}
}

// Add is Update.
func (s *threadSafeMap) Add(key string, obj any) { s.Update(key, obj) }

// Update stores obj under key.
func (s *threadSafeMap) Update(key string, obj any) {
	s.write(func(next *state) {
		next.put(key, obj, true)
		next.observe(obj)
	})
}

// Delete removes the object under key.
func (s *threadSafeMap) Delete(key string) { s.DeleteWithObject(key, nil) }

// DeleteWithObject removes the object under key.
func (s *threadSafeMap) DeleteWithObject(key string, obj any) {
	s.write(func(next *state) {
		if _, known := next.items[key]; known {
			next.put(key, nil, false)
		}
		next.observe(obj)
	})
}

// Replace makes items the whole content of the store.
func (s *threadSafeMap) Replace(items map[string]any, version string) {
	s.write(func(next *state) {
		indexes := make(map[string]index, len(next.indexes))
		for name, x := range next.indexes {
			indexes[name] = filled(x.values, items)
		}
		next.items, next.indexes, next.version = items, indexes, version
	})
}

// Bookmark sets the version.
func (s *threadSafeMap) Bookmark(version string) {
	s.write(func(next *state) { next.version = version })
}

// AddIndexers adds indexes.
func (s *threadSafeMap) AddIndexers(newIndexers cache.Indexers) (err error) {
	s.write(func(next *state) {
		for name := range newIndexers {
			if _, taken := next.indexes[name]; taken {
				err = fmt.Errorf("add index %q: the store has one of that name", name)
				return
			}
		}
		indexes := maps.Clone(next.indexes)
		for name, values := range newIndexers {
			indexes[name] = filled(values, next.items)
		}
		next.indexes = indexes
	})
	return err
}

// Get returns the object under key.
func (s *threadSafeMap) Get(key string) (obj any, exists bool) {
	obj, exists = s.now.Load().items[key]
	return obj, exists
}

// List returns all objects.
func (s *threadSafeMap) List() []any { return slices.Collect(maps.Values(s.now.Load().items)) }

// ListKeys returns all keys.
func (s *threadSafeMap) ListKeys() []string { return slices.Collect(maps.Keys(s.now.Load().items)) }

// LastStoreSyncResourceVersion returns the version.
func (s *threadSafeMap) LastStoreSyncResourceVersion() string { return s.now.Load().version }

// Index returns the objects that share a value with obj.
func (s *threadSafeMap) Index(indexName string, obj any) ([]any, error) {
	now := s.now.Load()
	x, err := now.indexNamed(indexName)
	if err != nil {
		return nil, err
	}
	values, err := x.values(obj)
	if err != nil {
		return nil, fmt.Errorf("compute what to look for in index %q: %w", indexName, err)
	}
	return now.objects(x.keysOfAny(values)), nil
}

// ByIndex returns the objects that have indexedValue.
func (s *threadSafeMap) ByIndex(indexName, indexedValue string) ([]any, error) {
	now := s.now.Load()
	x, err := now.indexNamed(indexName)
	if err != nil {
		return nil, err
	}
	return now.objects(x.keys[indexedValue]), nil
}

// IndexKeys returns the keys of the objects that have indexedValue, sorted.
func (s *threadSafeMap) IndexKeys(indexName, indexedValue string) ([]string, error) {
	x, err := s.now.Load().indexNamed(indexName)
	if err != nil {
		return nil, err
	}
	return sets.List(x.keys[indexedValue]), nil
}

// ListIndexFuncValues returns every indexed value.
func (s *threadSafeMap) ListIndexFuncValues(indexName string) []string {
	return slices.Collect(maps.Keys(s.now.Load().indexes[indexName].keys))
}

// GetIndexers returns the index functions.
func (s *threadSafeMap) GetIndexers() cache.Indexers {
	indexers := cache.Indexers{}
	for name, x := range s.now.Load().indexes {
		indexers[name] = x.values
	}
	return indexers
}

// Resync does nothing.
func (s *threadSafeMap) Resync() error { return nil }

func (n *state) indexNamed(name string) (index, error) {
	x, known := n.indexes[name]
	if !known {
		return index{}, fmt.Errorf("there is no index %q in this store", name)
	}
	return x, nil
}

func (n *state) objects(keys sets.Set[string]) []any {
	list := make([]any, 0, len(keys))
	for key := range keys {
		list = append(list, n.items[key])
	}
	return list
}
