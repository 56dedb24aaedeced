// Package indexer is another correct design: the keys are spread over shards, each with a lock of its own.
//
// It differs from the solution in what a lock covers. A write of one key locks its shard, so writes of other shards go
// on meanwhile. A call about the whole store locks all shards, in their order. It is correct because every call holds
// all the locks of what it reads or writes until it has finished, and because all of them lock in the same order. Each
// shard has its part of every index, so that an object and its entries are under the same lock. The version has a lock
// of its own, which is always the last one: a write takes it before it releases its shard.
package indexer

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

const shards = 8

// threadSafeMap implements cache.ThreadSafeStore.
type threadSafeMap struct {
	shards [shards]*shard

	versionLock sync.RWMutex // taken after the lock of a shard
	version     string
}

// shard has the objects of some keys, and their part of every index. All shards have the same indexes.
type shard struct {
	lock    sync.RWMutex
	items   map[string]any
	indexes map[string]*index
}

var _ cache.ThreadSafeStore = (*threadSafeMap)(nil)

// NewThreadSafeStore returns an empty store that keeps one index for each of indexers.
func NewThreadSafeStore(indexers cache.Indexers, _ cache.Indices) cache.ThreadSafeStore {
	s := &threadSafeMap{}
	for i := range s.shards {
		s.shards[i] = &shard{items: map[string]any{}, indexes: map[string]*index{}}
		for name, values := range indexers {
			s.shards[i].indexes[name] = newIndex(values)
		}
	}
	return s
}

// of returns the shard of a key.
func (s *threadSafeMap) of(key string) *shard {
	hash := fnv.New32a()
	hash.Write([]byte(key))
	return s.shards[hash.Sum32()%shards]
}

// lockAll locks all shards for writing, and returns the function that unlocks them.
func (s *threadSafeMap) lockAll() (unlock func()) {
	for _, shard := range s.shards {
		shard.lock.Lock()
	}
	return func() {
		for _, shard := range s.shards {
			shard.lock.Unlock()
		}
	}
}

// readAll locks all shards for reading, and returns the function that unlocks them.
func (s *threadSafeMap) readAll() (unlock func()) {
	for _, shard := range s.shards {
		shard.lock.RLock()
	}
	return func() {
		for _, shard := range s.shards {
			shard.lock.RUnlock()
		}
	}
}

// observe makes the version of obj that of the store. The caller holds the lock of a shard.
func (s *threadSafeMap) observe(obj any) {
	if object, err := meta.Accessor(obj); err == nil {
		s.Bookmark(object.GetResourceVersion())
	}
}

// Add is Update.
func (s *threadSafeMap) Add(key string, obj any) { s.Update(key, obj) }

// Update stores obj under key.
func (s *threadSafeMap) Update(key string, obj any) {
	shard := s.of(key)
	shard.lock.Lock()
	defer shard.lock.Unlock()
	old := shard.items[key]
	shard.items[key] = obj
	for _, x := range shard.indexes {
		x.update(key, old, obj)
	}
	s.observe(obj)
}

// Delete removes the object under key.
func (s *threadSafeMap) Delete(key string) { s.DeleteWithObject(key, nil) }

// DeleteWithObject removes the object under key.
func (s *threadSafeMap) DeleteWithObject(key string, obj any) {
	shard := s.of(key)
	shard.lock.Lock()
	defer shard.lock.Unlock()
	if old, known := shard.items[key]; known {
		for _, x := range shard.indexes {
			x.update(key, old, nil)
		}
		delete(shard.items, key)
	}
	s.observe(obj)
}

// Replace makes items the whole content of the store.
func (s *threadSafeMap) Replace(items map[string]any, version string) {
	defer s.lockAll()()
	s.Bookmark(version)
	for _, shard := range s.shards {
		shard.items = map[string]any{}
		for _, x := range shard.indexes {
			x.keys = map[string]sets.Set[string]{} // in all shards first: an index function may panic below
		}
	}
	for key, obj := range items {
		s.of(key).items[key] = obj
	}
	for _, shard := range s.shards {
		for key, obj := range shard.items {
			for _, x := range shard.indexes {
				x.update(key, nil, obj)
			}
		}
	}
}

// Bookmark sets the version.
func (s *threadSafeMap) Bookmark(version string) {
	s.versionLock.Lock()
	defer s.versionLock.Unlock()
	s.version = version
}

// LastStoreSyncResourceVersion returns the version.
func (s *threadSafeMap) LastStoreSyncResourceVersion() string {
	s.versionLock.RLock()
	defer s.versionLock.RUnlock()
	return s.version
}

// AddIndexers adds indexes.
func (s *threadSafeMap) AddIndexers(newIndexers cache.Indexers) error {
	defer s.lockAll()()
	for name := range newIndexers {
		if _, taken := s.shards[0].indexes[name]; taken {
			return fmt.Errorf("add index %q: the store has one of that name", name)
		}
	}
	var added [shards]map[string]*index
	for i, shard := range s.shards {
		added[i] = map[string]*index{}
		for name, values := range newIndexers {
			added[i][name] = newIndex(values)
			for key, obj := range shard.items {
				added[i][name].update(key, nil, obj)
			}
		}
	}
	for i, shard := range s.shards {
		maps.Copy(shard.indexes, added[i])
	}
	return nil
}

// Get returns the object under key.
func (s *threadSafeMap) Get(key string) (obj any, exists bool) {
	shard := s.of(key)
	shard.lock.RLock()
	defer shard.lock.RUnlock()
	obj, exists = shard.items[key]
	return obj, exists
}

// List returns all objects.
func (s *threadSafeMap) List() (list []any) {
	defer s.readAll()()
	for _, shard := range s.shards {
		list = slices.AppendSeq(list, maps.Values(shard.items))
	}
	return list
}

// ListKeys returns all keys.
func (s *threadSafeMap) ListKeys() (keys []string) {
	defer s.readAll()()
	for _, shard := range s.shards {
		keys = slices.AppendSeq(keys, maps.Keys(shard.items))
	}
	return keys
}

// Index returns the objects that share a value with obj.
func (s *threadSafeMap) Index(indexName string, obj any) ([]any, error) {
	defer s.readAll()()
	x, known := s.shards[0].indexes[indexName]
	if !known {
		return nil, unknown(indexName)
	}
	values, err := x.values(obj)
	if err != nil {
		return nil, fmt.Errorf("compute what to look for in index %q: %w", indexName, err)
	}
	return s.find(indexName, values...), nil
}

// ByIndex returns the objects that have indexedValue.
func (s *threadSafeMap) ByIndex(indexName, indexedValue string) ([]any, error) {
	defer s.readAll()()
	if s.shards[0].indexes[indexName] == nil {
		return nil, unknown(indexName)
	}
	return s.find(indexName, indexedValue), nil
}

// find returns the objects that have one of the values. The caller holds all locks.
func (s *threadSafeMap) find(indexName string, values ...string) (found []any) {
	for _, shard := range s.shards {
		for key := range shard.indexes[indexName].keysOfAny(values) {
			found = append(found, shard.items[key])
		}
	}
	return found
}

// IndexKeys returns the keys of the objects that have indexedValue, sorted.
func (s *threadSafeMap) IndexKeys(indexName, indexedValue string) (keys []string, err error) {
	defer s.readAll()()
	if s.shards[0].indexes[indexName] == nil {
		return nil, unknown(indexName)
	}
	for _, shard := range s.shards {
		keys = slices.AppendSeq(keys, maps.Keys(shard.indexes[indexName].keys[indexedValue]))
	}
	slices.Sort(keys)
	return keys, nil
}

// ListIndexFuncValues returns every indexed value.
func (s *threadSafeMap) ListIndexFuncValues(indexName string) []string {
	defer s.readAll()()
	values := sets.New[string]()
	for _, shard := range s.shards {
		if x := shard.indexes[indexName]; x != nil {
			values = values.Union(sets.KeySet(x.keys))
		}
	}
	return values.UnsortedList()
}

// GetIndexers returns the index functions.
func (s *threadSafeMap) GetIndexers() cache.Indexers {
	defer s.readAll()()
	indexers := cache.Indexers{}
	for name, x := range s.shards[0].indexes {
		indexers[name] = x.values
	}
	return indexers
}

// Resync does nothing.
func (s *threadSafeMap) Resync() error { return nil }

func unknown(indexName string) error {
	return fmt.Errorf("there is no index %q in this store", indexName)
}
