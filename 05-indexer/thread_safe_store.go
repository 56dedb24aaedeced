package indexer

// This file is the store itself: keys, objects, indexes, one lock. It sits below store.go, which knows how to name
// objects, and above index.go, which knows how to find them. It mirrors client-go's tools/cache/thread_safe_store.go.

import (
	"sync"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
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
func NewThreadSafeStore(indexers cache.Indexers, _ cache.Indices) cache.ThreadSafeStore {
	s := &threadSafeMap{items: map[string]any{}, indexes: map[string]*index{}}
	for name, values := range indexers {
		s.indexes[name] = newIndex(values)
	}
	return s
}

// Add is Update: a store does not care whether it knew the key.
func (s *threadSafeMap) Add(key string, obj any) { s.Update(key, obj) }

// Update puts obj under key, in the place of the object that stood there, and moves it in every index. If obj has
// metadata, the store's version becomes its resourceVersion, also if that is empty. If an index function fails, Update
// panics: obj is stored then, and may be missing in some indexes.
func (s *threadSafeMap) Update(key string, obj any) {
	panic(todo.Task(1, "ThreadSafeStore.Update"))
}

// Delete takes out what stands under key. Unlike DeleteWithObject it has no object to learn a version from.
func (s *threadSafeMap) Delete(key string) { s.DeleteWithObject(key, nil) }

// DeleteWithObject takes out what stands under key, from the store and from every index. A key that is not there is no
// error. If obj has metadata, the store's version becomes its resourceVersion: obj is the object's last state, so this
// is the version of the deletion. obj may be nil, or something without metadata, such as a tombstone.
func (s *threadSafeMap) DeleteWithObject(key string, obj any) {
	panic(todo.Task(1, "ThreadSafeStore.DeleteWithObject"))
}

// Get returns the object under key.
func (s *threadSafeMap) Get(key string) (obj any, exists bool) {
	panic(todo.Task(1, "ThreadSafeStore.Get"))
}

// List returns all objects, in no order.
func (s *threadSafeMap) List() []any {
	panic(todo.Task(1, "ThreadSafeStore.List"))
}

// ListKeys returns all keys, in no order.
func (s *threadSafeMap) ListKeys() []string {
	panic(todo.Task(1, "ThreadSafeStore.ListKeys"))
}

// Replace makes items the whole content of the store, rebuilds every index from it, and sets the store's version. For
// readers all of that happens at once. The store keeps items, which must not be nil; the caller must not touch it
// again. If an index function fails, Replace panics; even then no index names a key that items lacks.
func (s *threadSafeMap) Replace(items map[string]any, version string) {
	panic(todo.Task(4, "ThreadSafeStore.Replace"))
}

// Bookmark sets the version of a store whose content did not change: the server says how far it has got, although none
// of its news was for us.
func (s *threadSafeMap) Bookmark(version string) {
	panic(todo.Task(1, "ThreadSafeStore.Bookmark"))
}

// LastStoreSyncResourceVersion returns the store's version: "" before the first write.
func (s *threadSafeMap) LastStoreSyncResourceVersion() string {
	panic(todo.Task(1, "ThreadSafeStore.LastStoreSyncResourceVersion"))
}

// Index returns the objects that share at least one indexed value with obj, in no order, each once. obj is an example;
// it need not be in the store. An unknown index is an error, and so is an index function that fails for obj.
func (s *threadSafeMap) Index(indexName string, obj any) ([]any, error) {
	panic(todo.Task(3, "ThreadSafeStore.Index"))
}

// ByIndex returns the objects that have indexedValue, in no order. An unknown index is an error; a value that no object
// has is not.
func (s *threadSafeMap) ByIndex(indexName, indexedValue string) ([]any, error) {
	panic(todo.Task(2, "ThreadSafeStore.ByIndex"))
}

// IndexKeys returns the keys of the objects that have indexedValue, sorted. An unknown index is an error.
func (s *threadSafeMap) IndexKeys(indexName, indexedValue string) ([]string, error) {
	panic(todo.Task(2, "ThreadSafeStore.IndexKeys"))
}

// ListIndexFuncValues returns every indexed value that some object in the store has, in no order, each once. An unknown
// index has none.
func (s *threadSafeMap) ListIndexFuncValues(indexName string) []string {
	panic(todo.Task(2, "ThreadSafeStore.ListIndexFuncValues"))
}

// GetIndexers returns the index functions by the names of their indexes. The map belongs to the caller (client-go
// returns its own one, without the lock).
func (s *threadSafeMap) GetIndexers() cache.Indexers {
	panic(todo.Task(4, "ThreadSafeStore.GetIndexers"))
}

// AddIndexers gives the store more indexes, which find also what is stored already. If one of the names is taken, it
// returns an error and adds none of them. If an index function fails for a stored object, it panics, like Update, and
// adds none of them.
func (s *threadSafeMap) AddIndexers(newIndexers cache.Indexers) error {
	panic(todo.Task(4, "ThreadSafeStore.AddIndexers"))
}

// Resync does nothing. It is here for the sake of cache.Store, where a queue has work to do on it (chapter 04).
func (s *threadSafeMap) Resync() error { return nil }
