package indexer_test

// The work of task 2's calls, and the memory that they free.

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/guardpage"
)

// countedIndex returns the index function of most tests, and the number of its calls.
func countedIndex() (cache.IndexFunc, *int) {
	calls := new(int)
	return func(obj any) ([]string, error) {
		*calls++
		return images(obj)
	}, calls
}

// requireCalls asserts that a call of the store calls the index function at most so many times.
func requireCalls(t *guard.T, calls *int, most int, name string, call func()) {
	t.Helper()
	t.Did("%s", name)
	*calls = 0
	call()
	require.LessOrEqual(t, *calls, most, "calls of the index function by "+name)
}

func TestTask2_Lookups_read_the_table(t *testing.T) {
	const (
		lookups = "Lookups by value do not call the index function: they read the table. A lookup that asks about " +
			"every object gets slower with each object."
		writes = "A write calls the index function for no object but the old one and the new one."
	)
	guard.Test(t, lookups, func(t *guard.T) {
		for _, stored := range []int{10, 1000} {
			t.Story(8)
			counted, calls := countedIndex()
			var asked []any
			s := newThreadSafe(cache.Indexers{"image": func(obj any) ([]string, error) {
				asked = append(asked, obj)
				return counted(obj)
			}})
			t.Did("Update %d keys, of objects that run nginx", stored)
			for i := range stored {
				s.Update(fmt.Sprintf("default/web-%d", i), deploy("default/web", "nginx"))
			}
			t.Rule(lookups)
			requireCalls(t, calls, 0, "ByIndex", func() { s.ByIndex("image", "nginx") })
			requireCalls(t, calls, 0, "ByIndex of a missing value", func() { s.ByIndex("image", "caddy") })
			requireCalls(t, calls, 0, "IndexKeys of a missing value", func() { s.IndexKeys("image", "caddy") })
			requireCalls(t, calls, 0, "IndexKeys", func() { s.IndexKeys("image", "nginx") })
			requireCalls(t, calls, 0, "ListIndexFuncValues", func() { s.ListIndexFuncValues("image") })
			requireCalls(t, calls, 0, "Get", func() { s.Get("default/web-7") })
			requireCalls(t, calls, 0, "List", func() { s.List() })
			t.Rule(writes)
			web, caddy := deploy("default/web-7", "nginx"), deploy("default/web-7", "caddy")
			s.Update("default/web-7", web)
			for _, c := range []struct {
				name     string
				old, new any
				write    func()
			}{
				{"Update", web, caddy, func() { s.Update("default/web-7", caddy) }},
				{"Update of a new key", nil, web, func() { s.Update("default/new", web) }},
				{"Delete", caddy, nil, func() { s.Delete("default/web-7") }},
				{"Delete of an unknown key", nil, nil, func() { s.Delete("default/gone") }},
				{"DeleteWithObject of an unknown key", nil, nil, func() { s.DeleteWithObject("default/gone", web) }},
			} {
				t.Did("%s", c.name)
				asked = nil
				c.write()
				others := slices.DeleteFunc(asked, func(obj any) bool { return obj == c.old || obj == c.new })
				require.Empty(t, keysOf(others), "other objects for which "+c.name+" calls the index function")
			}
		}
	})
}

func TestTask2_Lookups_by_value_do_not_search(t *testing.T) {
	guard.Test(t, "The work of a lookup does not grow with the number of stored objects. It grows with the number of "+
		"objects that it finds.", func(t *guard.T) {
		value := cache.Indexers{"value": func(obj any) ([]string, error) { return []string{obj.(string)}, nil }}
		for name, lookup := range guard.InOrder(map[string]func(s cache.ThreadSafeStore, value string){
			"ByIndex":   func(s cache.ThreadSafeStore, value string) { s.ByIndex("value", value) },
			"IndexKeys": func(s cache.ThreadSafeStore, value string) { s.IndexKeys("value", value) },
		}) {
			t.Did("%s, in %d stores with up to 1000 objects that have a value each", name, guardpage.Stores)
			reads := guardpage.Reads(t, func(keys []string, own string) func() {
				s := filled(keys, value)
				return func() { lookup(s, own) }
			})
			require.LessOrEqual(t, reads, guardpage.Most, "calls of "+name+" that read other keys or values")
			t.Did("%s of a value that no object has", name)
			reads = guardpage.Reads(t, func(keys []string, own string) func() {
				s := filled(slices.DeleteFunc(keys, func(key string) bool { return key == own }), value)
				return func() { lookup(s, own) }
			})
			require.LessOrEqual(t, reads, guardpage.Most, "calls of "+name+" that read other keys or values")
		}
	})
}

func TestTask2_Lookups_take_memory_for_what_they_find(t *testing.T) {
	guard.Test(t, "The work of a lookup does not grow with the number of stored objects: its result has room for the "+
		"objects that it finds, not for all.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		t.Did("Update 10000 keys, of objects that run nginx, and default/db, which runs caddy")
		for i := range 10_000 {
			s.Update(fmt.Sprintf("default/web-%d", i), deploy("default/web", "nginx"))
		}
		s.Update("default/db", deploy("default/db", "caddy"))
		for name, lookup := range guard.InOrder(map[string]func(){
			"ByIndex":             func() { s.ByIndex("image", "caddy") },
			"IndexKeys":           func() { s.IndexKeys("image", "caddy") },
			"ListIndexFuncValues": func() { s.ListIndexFuncValues("image") },
		}) {
			t.Did("%s of caddy, 100 times", name)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 100 {
				lookup()
			}
			runtime.ReadMemStats(&after)
			kilobytes := (after.TotalAlloc - before.TotalAlloc) / 100 / 1024
			require.LessOrEqual(t, kilobytes, uint64(8), "kilobytes that a call of "+name+" takes")
		}
	})
}

func TestTask2_ListIndexFuncValues_does_not_look_at_the_keys(t *testing.T) {
	guard.Test(t, "The work of a lookup does not grow with the number of stored objects. ListIndexFuncValues reads the "+
		"values, not the keys that have them.", func(t *guard.T) {
		same := cache.Indexers{"same": func(any) ([]string, error) { return []string{"one"}, nil }}
		t.Did("ListIndexFuncValues, in %d stores with up to 1000 objects of one value", guardpage.Stores)
		reads := guardpage.Reads(t, func(keys []string, _ string) func() {
			s := filled(keys, same)
			return func() { s.ListIndexFuncValues("same") }
		})
		require.LessOrEqual(t, reads, guardpage.Most, "calls of ListIndexFuncValues that read keys")
	})
}

func TestTask2_What_left_the_index_can_be_freed(t *testing.T) {
	guard.Test(t, "A value that no object has takes no memory, and neither do the keys that were under it "+
		"(#84959).", func(t *guard.T) {
		s := newThreadSafe(byImage())
		var watched []weak.Pointer[byte]
		t.Did("100 times: Update default/web to a new image; 100 times: Update and Delete of another key")
		elsewhere(func() {
			for i := range 100 {
				image, watchedImage := text(fmt.Sprintf("nginx:%d", i))
				key, watchedKey := text(fmt.Sprintf("default/web-%d", i))
				s.Update("default/web", deploy("default/web", image))
				s.Update(key, deploy("default/web", "caddy"))
				s.Delete(key)
				watched = append(watched, watchedImage, watchedKey)
			}
			s.Update("default/web", deploy("default/web", "caddy"))
		})
		require.Equal(t, "0 of 200 still in memory", stillHeld(watched), "values and keys that left the index")
		runtime.KeepAlive(s)
	})
}
