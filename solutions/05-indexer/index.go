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
//
//workshop:file omit
package indexer

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
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

//workshop:keep
func newIndex(values cache.IndexFunc) *index {
	return &index{values: values, keys: map[string]sets.Set[string]{}}
}

// update moves key from the indexed values of old to those of obj. A new object has a nil old, a deleted one a nil obj.
// A value that no key is left under is forgotten.
//
// It panics when values fails for either object: the index could only go on wrong, and silently (#43605, #50555).
//
//workshop:task 2
func (x *index) update(key string, old, obj any) {
	before, after := x.valuesOf(key, old), x.valuesOf(key, obj)
	if slices.Equal(before, after) {
		return // most updates change a status, and no indexed value
	}
	// All the old values go before any new one comes. Whoever tries to leave the shared ones alone must get it right
	// for every pair of lengths; client-go did not (#109115).
	for _, value := range before {
		x.remove(value, key)
	}
	for _, value := range after {
		x.insert(value, key)
	}
}

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

func (x *index) insert(value, key string) {
	keys := x.keys[value]
	if keys == nil {
		keys = sets.New[string]()
		x.keys[value] = keys
	}
	keys.Insert(key)
}

func (x *index) remove(value, key string) {
	keys := x.keys[value]
	keys.Delete(key)
	if len(keys) == 0 {
		delete(x.keys, value) // or the table grows with every value there ever was (#84959)
	}
}

// keysOfAny returns the keys that stand under at least one of values, each once. The result may be the index's own set:
// it is to be read only, and only under the lock.
//
//workshop:task 3
func (x *index) keysOfAny(values []string) sets.Set[string] {
	if len(values) == 1 {
		return x.keys[values[0]] // a namespace is one value, and this is what every lister asks for
	}
	found := sets.New[string]()
	for _, value := range values {
		for key := range x.keys[value] {
			found.Insert(key)
		}
	}
	return found
}

// MetaNamespaceIndexFunc is the index function of the index "namespace" (cache.NamespaceIndex): an object's one indexed
// value is its namespace, which is "" for a cluster-scoped object. An object without metadata is an error.
//
// It takes whatever has metadata, so also a bare *metav1.ObjectMeta with nothing but a namespace set: that is what
// listers pass to Index to say which namespace they want. Mirrors cache.MetaNamespaceIndexFunc.
//
//workshop:task 5
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("find the namespace of a %T: %w", obj, err)
	}
	return []string{object.GetNamespace()}, nil
}
