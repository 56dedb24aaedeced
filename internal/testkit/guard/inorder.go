package guard

// This file makes equal code fail equally: the cases of a table come in the same order in each run.

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// InOrder is a range over a map in the order of its keys.
func InOrder[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
