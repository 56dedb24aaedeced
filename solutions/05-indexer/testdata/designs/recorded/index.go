// Package indexer is another correct design: an index records the values of each key.
//
// In the solution, an index asks its function for the values of the old object. Here it has recorded them, so a write
// calls the function for the new object only, and a deletion calls no function at all. It is correct because the
// recorded values are always those under which the table has the key: both change together, after the function has
// returned. So a deletion succeeds even if the function fails. The price is memory for the values of each object.
package indexer

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// index is a table from each indexed value to the keys of the objects that have it.
type index struct {
	values   cache.IndexFunc
	keys     map[string]sets.Set[string] // by indexed value
	recorded map[string][]string         // by key, the values under which keys has it
}

func newIndex(values cache.IndexFunc) *index {
	x := &index{values: values}
	x.reset()
	return x
}

// reset empties the index.
func (x *index) reset() {
	x.keys, x.recorded = map[string]sets.Set[string]{}, map[string][]string{}
}

// update moves key from its recorded values to those of obj, none for a nil.
func (x *index) update(key string, obj any) {
	before, after := x.recorded[key], x.valuesOf(key, obj)
	if slices.Equal(before, after) {
		return
	}
	for _, value := range before {
		x.remove(value, key)
	}
	for _, value := range after {
		x.insert(value, key)
	}
	if len(after) == 0 {
		delete(x.recorded, key)
		return
	}
	x.recorded[key] = slices.Clone(after)
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

// MetaNamespaceIndexFunc returns the namespace of an object.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("find the namespace of a %T: %w", obj, err)
	}
	return []string{object.GetNamespace()}, nil
}
