// Package indexer re-creates client-go's cache.Indexer, the local copy of the cluster that every informer keeps. The
// informer writes to it. Listers read from it, by key or by a value that is computed from an object.
//
// From the inside out, index.go has one index, thread_safe_store.go stores objects under keys and keeps their indexes,
// and store.go makes the keys. The package leaves out transactions (cache.ThreadSafeStoreWithTransaction), transformers
// and metrics.
package indexer

// This file has one index: the table that finds the objects with a value. thread_safe_store.go keeps it up to date.
//
//workshop:file omit

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// index is a table from each indexed value to the keys of the objects that have it. An object may have several values,
// and several objects may have the same value. The caller of a method holds the store's lock.
type index struct {
	values cache.IndexFunc             // returns an object's indexed values, the same ones at every call
	keys   map[string]sets.Set[string] // by indexed value
}

//workshop:keep
func newIndex(values cache.IndexFunc) *index {
	return &index{values: values, keys: map[string]sets.Set[string]{}}
}

// update moves key from the indexed values of old to those of obj. A new object has a nil old, a deleted one a nil obj.
// A value that no object has leaves the index. It panics if the index function fails.
//
//workshop:task 2
func (x *index) update(key string, old, obj any) {
	before, after := x.valuesOf(key, old), x.valuesOf(key, obj)
	if slices.Equal(before, after) {
		return // most updates change a status, and no indexed value
	}
	// Remove all old values before you insert the new ones. Code that skips the values that both have must be right
	// for every pair of lengths. client-go's was not (#109115).
	for _, value := range before {
		x.remove(value, key)
	}
	for _, value := range after {
		x.insert(value, key)
	}
}

// valuesOf returns the indexed values of obj, none for a nil. If the index function fails, valuesOf panics.
func (x *index) valuesOf(key string, obj any) []string {
	if obj == nil {
		return nil
	}
	values, err := x.values(obj)
	if err != nil {
		panic(fmt.Errorf("compute the indexed values of %q: %w", key, err))
	}
	return values
}

// insert puts key into the set of value.
func (x *index) insert(value, key string) {
	keys := x.keys[value]
	if keys == nil {
		keys = sets.New[string]()
		x.keys[value] = keys
	}
	keys.Insert(key)
}

// remove takes key out of the set of value. No set stays empty.
func (x *index) remove(value, key string) {
	keys := x.keys[value]
	keys.Delete(key)
	if len(keys) == 0 {
		delete(x.keys, value) // otherwise the table grows with each value that ever existed (#84959)
	}
}

// keysOfAny returns the keys that have at least one of values, each once. The result may be the index's own set. So the
// caller only reads it, and only while it holds the lock.
func (x *index) keysOfAny(values []string) sets.Set[string] {
	if len(values) == 1 {
		return x.keys[values[0]] // the usual case: a lister asks for one namespace
	}
	found := sets.New[string]()
	for _, value := range values {
		for key := range x.keys[value] {
			found.Insert(key)
		}
	}
	return found
}

// MetaNamespaceIndexFunc returns the one indexed value of an object: its namespace, which is "" for a cluster-scoped
// object. It is the function of the index "namespace" (cache.NamespaceIndex).
//
// Any object with metadata has a namespace, even a bare *metav1.ObjectMeta: a lister passes one to Index, to name the
// namespace. An object without metadata is an error.
//
// MetaNamespaceIndexFunc mirrors cache.MetaNamespaceIndexFunc.
//
//workshop:task 5
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("find the namespace of a %T: %w", obj, err)
	}
	return []string{object.GetNamespace()}, nil
}
