// Package indexer is chapter 05 of the workshop: the local copy of the cluster that every informer keeps.
//
//	watch ──▶ Reflector ──▶ DeltaFIFO ──▶ [ Indexer ] ◀── listers, your controller
//
// Three files, from the inside out:
//
//   - index.go, this one: one index, a table from indexed value to the keys of the objects that have it.
//   - thread_safe_store.go: a map from key to object, its indexes, and the one lock around both.
//   - store.go: the outer face, which works out the key of each object: a cache.Indexer.
//
// What is left out: transactions (cache.ThreadSafeStoreWithTransaction), transformers and metrics.
package indexer

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// An index finds objects by a value computed from them, such as their namespace. It holds keys, not objects: an object
// may have several values, a value belongs to several objects, and the objects themselves stand once, in the store.
//
// An index has no lock of its own. Whoever calls it holds the store's.
type index struct {
	// values computes an object's indexed values. It must give the same answer for the same object every time: that
	// is how update finds the entries of the old one again.
	values cache.IndexFunc
	// keys holds, for each indexed value, the keys of the objects that have it. No set in it is ever empty.
	keys map[string]sets.Set[string]
}

func newIndex(values cache.IndexFunc) *index {
	return &index{values: values, keys: map[string]sets.Set[string]{}}
}

// update moves key from the indexed values of old to those of obj. A new object has a nil old, a deleted one a nil obj.
// A value that no key is left under is forgotten.
//
// It panics when values fails for either object: the index could only go on wrong, and silently (#43605, #50555).
func (x *index) update(key string, old, obj any) {
	panic(todo.Task(2, "index.update"))
}

// keysOfAny returns the keys that stand under at least one of values, each once. The result may be the index's own set:
// it is to be read only, and only under the lock.
func (x *index) keysOfAny(values []string) sets.Set[string] {
	panic(todo.Task(3, "index.keysOfAny"))
}

// MetaNamespaceIndexFunc is the index function of the index "namespace" (cache.NamespaceIndex): an object's one indexed
// value is its namespace, which is "" for a cluster-scoped object. An object without metadata is an error.
//
// It takes whatever has metadata, so also a bare *metav1.ObjectMeta with nothing but a namespace set: that is what
// listers pass to Index to say which namespace they want. Mirrors cache.MetaNamespaceIndexFunc.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	panic(todo.Task(5, "MetaNamespaceIndexFunc"))
}
