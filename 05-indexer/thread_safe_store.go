package indexer

// This file has the store of keys, objects and indexes, and the lock around them. store.go calls it, and it calls
// index.go. It mirrors client-go's tools/cache/thread_safe_store.go.

import (
	"sync"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
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
func NewThreadSafeStore(indexers cache.Indexers, _ cache.Indices) cache.ThreadSafeStore {
	s := &threadSafeMap{items: map[string]any{}, indexes: map[string]*index{}}
	for name, values := range indexers {
		s.indexes[name] = newIndex(values)
	}
	return s
}

// Add is the same as Update, whether the key is stored or not.
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
	panic(todo.Task(1, "ThreadSafeStore.Update"))
}

// Delete removes the object under key. The store keeps its version, because no object carries that of the deletion.
func (s *threadSafeMap) Delete(key string) { s.DeleteWithObject(key, nil) }

// DeleteWithObject removes the object under key from the store and from every index. A key that is not stored is not an
// error.
//
// The version of a deletion is that of obj. If obj is nil or a tombstone, the store keeps its version.
func (s *threadSafeMap) DeleteWithObject(key string, obj any) {
	panic(todo.Task(1, "ThreadSafeStore.DeleteWithObject"))
}

// Get returns the object under key. It reports whether the key is stored, even if its object is nil.
func (s *threadSafeMap) Get(key string) (obj any, exists bool) {
	panic(todo.Task(1, "ThreadSafeStore.Get"))
}

// List returns all objects, in any order.
func (s *threadSafeMap) List() []any {
	panic(todo.Task(1, "ThreadSafeStore.List"))
}

// ListKeys returns all keys, in any order.
func (s *threadSafeMap) ListKeys() []string {
	panic(todo.Task(1, "ThreadSafeStore.ListKeys"))
}

// Replace makes the list the whole content of the store, rebuilds every index from the list and sets the store's
// version to that of the list. For readers it is one step. If an index function fails, it panics.
//
// The keys of items are those of its objects. The store keeps items: the map must not be nil, and the caller must not
// use it again.
func (s *threadSafeMap) Replace(items map[string]any, version string) {
	panic(todo.Task(4, "ThreadSafeStore.Replace"))
}

// Bookmark sets the version of a store whose content did not change. A store does not compare versions.
func (s *threadSafeMap) Bookmark(version string) {
	panic(todo.Task(1, "ThreadSafeStore.Bookmark"))
}

// LastStoreSyncResourceVersion returns the store's version, that of the last write, Replace or Bookmark. The version of
// a store is "" before the first write.
func (s *threadSafeMap) LastStoreSyncResourceVersion() string {
	panic(todo.Task(1, "ThreadSafeStore.LastStoreSyncResourceVersion"))
}

// Index returns the objects that share at least one indexed value with the example, each once. The example, obj, need
// not be in the store.
//
// It calls the index function for the example, and for no stored object. An unknown index is an error, and so is
// an index function that fails for the example. Index returns an error that wraps that of the index function.
func (s *threadSafeMap) Index(indexName string, obj any) ([]any, error) {
	panic(todo.Task(3, "ThreadSafeStore.Index"))
}

// ByIndex returns the objects that have the indexed value. For a value that no object has, it returns no objects and no
// error. An unknown index is an error.
func (s *threadSafeMap) ByIndex(indexName, indexedValue string) ([]any, error) {
	panic(todo.Task(2, "ThreadSafeStore.ByIndex"))
}

// IndexKeys returns the keys of the objects that have the indexed value, sorted. An unknown index is an error.
func (s *threadSafeMap) IndexKeys(indexName, indexedValue string) ([]string, error) {
	panic(todo.Task(2, "ThreadSafeStore.IndexKeys"))
}

// ListIndexFuncValues returns every indexed value that an object has, each once. An unknown index has no values.
func (s *threadSafeMap) ListIndexFuncValues(indexName string) []string {
	panic(todo.Task(2, "ThreadSafeStore.ListIndexFuncValues"))
}

// GetIndexers returns the index functions by the names of their indexes. The map belongs to the caller.
func (s *threadSafeMap) GetIndexers() cache.Indexers {
	panic(todo.Task(4, "ThreadSafeStore.GetIndexers"))
}

// AddIndexers adds indexes, which find the objects that are stored already. The map of index functions belongs to the
// caller.
//
// If one of the names is taken, AddIndexers returns an error and adds none of them. It then calls no index function. If
// an index function fails for a stored object, it panics and adds none of the indexes.
func (s *threadSafeMap) AddIndexers(newIndexers cache.Indexers) error {
	panic(todo.Task(4, "ThreadSafeStore.AddIndexers"))
}

// Resync does nothing. cache.Store demands it because a queue, which has the same methods, resyncs (chapter 04).
func (s *threadSafeMap) Resync() error { return nil }
