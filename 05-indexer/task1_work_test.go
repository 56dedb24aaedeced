package indexer_test

// The work of task 1's calls, and the memory that they free.

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/05-indexer"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/guardpage"
)

func TestTask1_Calls_make_only_the_keys_they_need(t *testing.T) {
	guard.Test(t, "The work of a lookup does not grow with the number of stored objects: a call computes the key of "+
		"its object, and no other key.", func(t *guard.T) {
		made := 0
		keyFunc := func(obj any) (string, error) {
			made++
			return cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		}
		for _, stored := range []int{10, 1000} {
			t.Story(8)
			s := indexer.NewStore(keyFunc)
			t.Did("Add %d objects", stored)
			for i := range stored {
				s.Add(deploy(fmt.Sprintf("default/web-%d", i)))
			}
			web := deploy("default/web-7")
			for _, c := range []struct {
				name string
				most int
				call func()
			}{
				{"Get", 1, func() { s.Get(web) }},
				{"Update", 1, func() { s.Update(web) }},
				{"Add", 1, func() { s.Add(deploy("default/new")) }},
				{"Delete", 1, func() { s.Delete(web) }},
				{"GetByKey", 0, func() { s.GetByKey("default/web-8") }},
				{"ListKeys", 0, func() { s.ListKeys() }},
			} {
				t.Did("%s, with %d objects stored", c.name, stored)
				made = 0
				c.call()
				require.LessOrEqual(t, made, c.most, "calls of the key function by "+c.name)
			}
		}
	})
}

func TestTask1_Get_does_not_search(t *testing.T) {
	guard.Test(t, "The work of a lookup does not grow with the number of stored objects: Get compares its key with "+
		"few other keys.", func(t *guard.T) {
		t.Did("Get, in %d stores with up to 1000 objects", guardpage.Stores)
		reads := guardpage.Reads(t, func(keys []string, own string) func() {
			s := filled(keys, nil)
			return func() { s.Get(own) }
		})
		require.LessOrEqual(t, reads, guardpage.Most, "calls of Get that read other keys")
		t.Did("Get of a key that is not there")
		reads = guardpage.Reads(t, func(keys []string, own string) func() {
			s := filled(slices.DeleteFunc(keys, func(key string) bool { return key == own }), nil)
			return func() { s.Get(own) }
		})
		require.LessOrEqual(t, reads, guardpage.Most, "calls of Get that read other keys")
	})
}

func TestTask1_Delete_of_a_missing_key_does_not_search(t *testing.T) {
	guard.Test(t, "The work of a lookup does not grow with the number of stored objects, and a Delete of a key "+
		"that is not stored is only a lookup.", func(t *guard.T) {
		t.Did("Delete of a key that is not there, in %d stores with up to 1000 objects", guardpage.Stores)
		reads := guardpage.Reads(t, func(keys []string, own string) func() {
			s := filled(slices.DeleteFunc(keys, func(key string) bool { return key == own }), nil)
			return func() { s.Delete(own) }
		})
		require.LessOrEqual(t, reads, guardpage.Most, "calls of Delete that read other keys")
	})
}

// filled returns a store of one object for each key. The object is the key.
func filled(keys []string, indexers cache.Indexers) cache.ThreadSafeStore {
	s := newThreadSafe(indexers)
	for _, key := range keys {
		s.Update(key, key)
	}
	return s
}

func TestTask1_What_left_the_store_can_be_freed(t *testing.T) {
	guard.Test(t, "An object that has left the store can be freed, and so can its key: a cache that keeps deleted "+
		"objects grows until the process ends.", func(t *guard.T) {
		const n = 100
		var stores []cache.ThreadSafeStore // several, because each may keep one object
		for range 10 {
			stores = append(stores, newThreadSafe(nil))
		}
		var replaced, deleted []weak.Pointer[appsv1.Deployment]
		var keys []weak.Pointer[byte]
		t.Did("in 10 stores: Update %d keys twice, Get, List, ListKeys, then DeleteWithObject and Delete all of them", n)
		elsewhere(func() {
			for i := range n {
				key, watched := text(fmt.Sprintf("default/web-%d", i))
				one, two := deploy("default/web", "@1"), deploy("default/web", "@2")
				s := stores[i%len(stores)]
				s.Update(key, one)
				s.Update(key, two)
				s.Get(key)
				s.List()
				s.ListKeys()
				replaced, deleted = append(replaced, weak.Make(one)), append(deleted, weak.Make(two))
				keys = append(keys, watched)
			}
		})
		require.Equal(t, "0 of 100 still in memory", stillHeld(replaced), "the objects that were replaced")
		elsewhere(func() {
			for _, s := range stores {
				for i, key := range s.ListKeys() {
					if i%2 == 0 {
						s.Delete(key)
					} else {
						s.DeleteWithObject(key, deploy("default/web", "@3"))
					}
				}
			}
		})
		require.Equal(t, "0 of 100 still in memory", stillHeld(deleted), "the objects that were deleted")
		require.Equal(t, "0 of 100 still in memory", stillHeld(keys), "the keys that were deleted")
		runtime.KeepAlive(stores)

		var gone []weak.Pointer[appsv1.Deployment]
		store := indexer.NewStore(indexer.MetaNamespaceKeyFunc)
		t.Did("in a store with MetaNamespaceKeyFunc: Add, Get and Delete %d objects", n)
		elsewhere(func() {
			for i := range n {
				web := deploy(fmt.Sprintf("default/web-%d", i))
				store.Add(web)
				store.Get(web)
				store.Delete(web)
				gone = append(gone, weak.Make(web))
			}
		})
		require.Equal(t, "0 of 100 still in memory", stillHeld(gone), "the objects that were added and deleted")
		runtime.KeepAlive(store)
	})
}

func TestTask1_Lock_is_shared_by_readers_and_writers(t *testing.T) {
	guard.Race(t, "Any goroutine may call any method: every method holds the lock while it uses a field, Lock to "+
		"write and RLock to read.", func(t *guard.T) {
		s := newThreadSafe(nil)
		a, b := deploy("default/a", "@1"), deploy("default/b", "@22")
		t.Did("Update, DeleteWithObject, Bookmark, Get, List, ListKeys and LastStoreSyncResourceVersion, " +
			"each in a goroutine of its own")
		guard.Storm(
			func(i int) { s.Update("default/a", a) },
			func(i int) { s.Update("default/b", b) },
			func(i int) { s.DeleteWithObject("default/a", a) },
			func(i int) { s.Bookmark("333") },
			func(i int) { s.Get("default/a") },
			func(i int) { require.NotContains(t, s.List(), nil, "the objects of List") },
			func(i int) { s.ListKeys() },
			func(i int) {
				version := s.LastStoreSyncResourceVersion()
				require.Contains(t, []string{"", "1", "22", "333"}, version, "LastStoreSyncResourceVersion")
			},
		)
	})
}
