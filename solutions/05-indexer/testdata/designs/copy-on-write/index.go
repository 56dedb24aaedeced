package indexer

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// index is one index of a state. Neither its map nor its sets change.
type index struct {
	values cache.IndexFunc
	keys   map[string]sets.Set[string]
}

// filled returns the index of items.
func filled(values cache.IndexFunc, items map[string]any) index {
	keys := map[string]sets.Set[string]{}
	for key, obj := range items {
		for _, value := range valuesOf(values, key, obj) {
			if keys[value] == nil {
				keys[value] = sets.New[string]()
			}
			keys[value].Insert(key)
		}
	}
	return index{values: values, keys: keys}
}

// moved returns the index after key has gone from the values of old to those of obj. It copies the sets that differ.
func (x index) moved(key string, old, obj any) index {
	before, after := sets.New(valuesOf(x.values, key, old)...), sets.New(valuesOf(x.values, key, obj)...)
	if before.Equal(after) {
		return x
	}
	keys := make(map[string]sets.Set[string], len(x.keys))
	maps.Copy(keys, x.keys)
	for value := range before.Difference(after) {
		keys[value] = keys[value].Clone().Delete(key)
		if len(keys[value]) == 0 {
			delete(keys, value)
		}
	}
	for value := range after.Difference(before) {
		if keys[value] == nil {
			keys[value] = sets.New(key)
		} else {
			keys[value] = keys[value].Clone().Insert(key)
		}
	}
	return index{values: x.values, keys: keys}
}

func valuesOf(indexFunc cache.IndexFunc, key string, obj any) []string {
	if obj == nil {
		return nil
	}
	values, err := indexFunc(obj)
	if err != nil {
		panic(fmt.Errorf("compute the indexed values of %q: %w", key, err))
	}
	return values
}

// keysOfAny returns the keys under at least one of values.
func (x index) keysOfAny(values []string) sets.Set[string] {
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
