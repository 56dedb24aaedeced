package guardpage_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guardpage"
)

// set returns the keys as a map, as a store fills it.
func set(keys []string) map[string]bool {
	set := map[string]bool{}
	for _, key := range keys {
		set[key] = true
	}
	return set
}

func TestCalls_that_look_at_few_keys(t *testing.T) {
	for name, fill := range map[string]func(keys []string, own string) func(){
		"a lookup in a map": func(keys []string, own string) func() {
			stored := set(keys)
			return func() { require.True(t, stored[own]) }
		},
		"a deletion from a map": func(keys []string, own string) func() {
			stored := set(keys)
			return func() { delete(stored, own) }
		},
		"a new key in a map, which may grow": func(keys []string, own string) func() {
			stored := set(slices.DeleteFunc(keys, func(key string) bool { return key == own }))
			return func() { stored[own] = true }
		},
		"a lookup in a sync.Map": func(keys []string, own string) func() {
			var stored sync.Map
			for _, key := range keys {
				stored.Store(key, true)
			}
			return func() { stored.Load(own) }
		},
		"a new key in a sync.Map": func(keys []string, own string) func() {
			var stored sync.Map
			for _, key := range keys {
				if key != own {
					stored.Store(key, true)
				}
			}
			return func() { stored.Store(own, true) }
		},
		"a binary search": func(keys []string, own string) func() {
			return func() { _, _ = slices.BinarySearch(keys[1:], own) }
		},
		"a copy of the slice": func(keys []string, _ string) func() {
			return func() { _ = slices.Clone(keys) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, guardpage.Reads(t, fill), guardpage.Most, "calls that read other keys")
		})
	}
}

func TestCalls_that_look_at_all_keys(t *testing.T) {
	for name, fill := range map[string]func(keys []string, own string) func(){
		"a loop over a map": func(keys []string, own string) func() {
			stored := set(keys)
			return func() {
				for key := range stored {
					if key == own {
						return
					}
				}
			}
		},
		"a loop over a slice": func(keys []string, own string) func() {
			return func() { _ = slices.Contains(keys, own) }
		},
		"a loop from the end of a slice": func(keys []string, own string) func() {
			slices.Reverse(keys)
			return func() { _ = slices.Index(keys, own) }
		},
		"a sorted copy": func(keys []string, _ string) func() {
			return func() { _ = slices.Sorted(slices.Values(keys)) }
		},
		"a map filled again": func(keys []string, _ string) func() {
			stored := set(keys)
			return func() { maps.Copy(map[string]bool{}, stored) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Greater(t, guardpage.Reads(t, fill), guardpage.Most, "calls that read other keys")
		})
	}
}

// TestCall_on_another_goroutine is of a store with a goroutine of its own, where a fault would end the process.
func TestCall_on_another_goroutine(t *testing.T) {
	require.Zero(t, guardpage.Reads(t, func(keys []string, own string) func() {
		calls := make(chan func())
		go func() {
			for call := range calls {
				call()
			}
		}()
		return func() {
			done := make(chan bool, 1)
			calls <- func() { done <- slices.Contains(keys, own) }
			require.True(t, <-done)
			close(calls)
		}
	}), "calls that read other keys")
}

// TestKeys_are_readable_outside_of_the_call also holds for a call that panics on its own.
func TestKeys_are_readable_outside_of_the_call(t *testing.T) {
	var all []string
	require.PanicsWithValue(t, "mine", func() {
		guardpage.Reads(t, func(keys []string, own string) func() {
			all = keys
			require.Equal(t, own, keys[len(keys)/2], "the key in the middle")
			return func() { panic("mine") }
		})
	})
	require.Len(t, set(all), 400, "different keys")
	for _, key := range all {
		require.Len(t, key, len(all[0]), "a key's length")
	}
	require.Panics(t, func() {
		guardpage.Reads(t, func([]string, string) func() {
			return func() { var none *[]string; _ = len(*none) }
		})
	}, "a nil dereference is not a read of another key")
}
