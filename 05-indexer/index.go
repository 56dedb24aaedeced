// Package indexer re-creates client-go's cache.Indexer, the local copy of the cluster that every informer keeps. The
// informer writes to it. Listers read from it, by key or by a value that is computed from an object.
//
// From the inside out, index.go has one index, thread_safe_store.go stores objects under keys and keeps their indexes,
// and store.go makes the keys. The package leaves out transactions (cache.ThreadSafeStoreWithTransaction), transformers
// and metrics.
package indexer

// This file has one index: the table that finds the objects with a value. thread_safe_store.go keeps it up to date.

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// index is a table from each indexed value to the keys of the objects that have it. An object may have several values,
// and several objects may have the same value. The caller of a method holds the store's lock.
type index struct {
	values cache.IndexFunc             // returns an object's indexed values, the same ones at every call
	keys   map[string]sets.Set[string] // by indexed value
}

func newIndex(values cache.IndexFunc) *index {
	return &index{values: values, keys: map[string]sets.Set[string]{}}
}

// update moves key from the indexed values of old to those of obj. A new object has a nil old, a deleted one a nil obj.
// A value that no object has leaves the index. It panics if the index function fails.
func (x *index) update(key string, old, obj any) {
	panic(todo.Task(2, "index.update"))
}

// MetaNamespaceIndexFunc returns the one indexed value of an object: its namespace, which is "" for a cluster-scoped
// object. It is the function of the index "namespace" (cache.NamespaceIndex).
//
// Any object with metadata has a namespace, even a bare *metav1.ObjectMeta: a lister passes one to Index, to name the
// namespace. An object without metadata is an error.
//
// MetaNamespaceIndexFunc mirrors cache.MetaNamespaceIndexFunc.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	panic(todo.Task(5, "MetaNamespaceIndexFunc"))
}
