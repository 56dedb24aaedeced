package indexer_test

// Task 2: many readers at once, and what they leave behind.

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Lookups_leave_nothing_behind(t *testing.T) {
	guard.Test(t, "A value that no object has takes no memory, even if a reader has asked for it.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		var watched []weak.Pointer[byte]
		t.Did("ByIndex and IndexKeys for 100 values that no object has")
		elsewhere(func() {
			for i := range 100 {
				image, watchedImage := text(fmt.Sprintf("nginx:%d", i))
				s.ByIndex("image", image)
				s.IndexKeys("image", image)
				watched = append(watched, watchedImage)
			}
		})
		require.Equal(t, "0 of 100 still in memory", stillHeld(watched), "values of the lookups")

		t.Rule("An object that has left the store can be freed, even if a lookup has found it.")
		var objs []weak.Pointer[appsv1.Deployment]
		var keys []weak.Pointer[byte]
		t.Did("Update 100 keys of objects that run caddy; ByIndex, IndexKeys and ListIndexFuncValues; Delete all keys")
		elsewhere(func() {
			for i := range 100 {
				key, watchedKey := text(fmt.Sprintf("default/web-%d", i))
				obj := deploy("default/web", "caddy")
				s.Update(key, obj)
				objs, keys = append(objs, weak.Make(obj)), append(keys, watchedKey)
			}
			for range 3 {
				s.ByIndex("image", "caddy")
				s.IndexKeys("image", "caddy")
				s.ListIndexFuncValues("image")
			}
			for _, key := range s.ListKeys() {
				s.Delete(key)
			}
		})
		require.Equal(t, "0 of 100 still in memory", stillHeld(objs), "objects that left the store")
		require.Equal(t, "0 of 100 still in memory", stillHeld(keys), "keys that left the store")
		runtime.KeepAlive(s)
	})
}

func TestTask2_Readers_only_read(t *testing.T) {
	guard.Race(t, "Any goroutine may call any method: readers share the lock, so none of them writes to a map, even "+
		"if no object has the value.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		s.Update("default/a", deploy("default/a", "nginx"))
		t.Did("ByIndex, IndexKeys and ListIndexFuncValues, in several goroutines each, for nginx and for a missing value")
		nginx := []string{"nginx"}
		byIndex := func(i int) {
			for range 20 {
				s.ByIndex("image", "missing")
			}
			objs, _ := s.ByIndex("image", "nginx")
			require.Equal(t, "default/a running nginx", describe(objs...), "the object under nginx")
		}
		indexKeys := func(i int) {
			for range 20 {
				s.IndexKeys("image", "missing")
			}
			keys, _ := s.IndexKeys("image", "nginx")
			require.Equal(t, []string{"default/a"}, keys, "the key under nginx")
		}
		values := func(i int) {
			require.Equal(t, nginx, s.ListIndexFuncValues("image"), "the values of the index")
		}
		guard.Storm(byIndex, byIndex, byIndex, indexKeys, indexKeys, indexKeys, values, values)
	})
}

func TestTask2_Readers_hold_the_lock_to_the_end(t *testing.T) {
	guard.Race(t, "No reader sees half of a change: a reader holds the lock until it has read everything. Each key is "+
		"deleted after another one is added, so there are 1000 or 1001 at every moment.", func(t *guard.T) {
		const stored = 1_000
		byName := func(obj any) ([]string, error) { return []string{obj.(*appsv1.Deployment).Name}, nil }
		s := newThreadSafe(cache.Indexers{"image": images, "name": byName})
		t.Did("Update %d keys, of objects that run nginx; a second index has their names", stored)
		update := func(key string) { s.Update(key, deploy(key, "nginx")) }
		for i := range stored {
			update(fmt.Sprintf("default/a-%d", i))
		}
		t.Did("Update a key that begins with b, Delete the same one with a, and so on, and back, while others read")
		write := func(i int) {
			letters := []string{"b", "a"}
			if i/stored%2 == 1 {
				slices.Reverse(letters)
			}
			update(fmt.Sprintf("default/%s-%d", letters[0], i%stored))
			s.Delete(fmt.Sprintf("default/%s-%d", letters[1], i%stored))
		}
		require1000 := func(what string, found int, nils bool) {
			if found < stored || found > stored+1 || nils {
				require.Equal(t, "1000 or 1001, and no nil", fmt.Sprintf("%d, nil among them: %v", found, nils), what)
			}
		}
		objects := func(what string, objs []any) { require1000(what, len(objs), slices.Contains(objs, nil)) }
		for name, read := range guard.InOrder(map[string]func(int){
			"List":     func(int) { objects("objects of List", s.List()) },
			"ListKeys": func(int) { require1000("keys of ListKeys", len(s.ListKeys()), false) },
			"ByIndex": func(int) {
				objs, _ := s.ByIndex("image", "nginx")
				objects("objects of ByIndex", objs)
			},
			"IndexKeys": func(int) {
				keys, _ := s.IndexKeys("image", "nginx")
				require1000("keys of IndexKeys", len(keys), false)
			},
			"ListIndexFuncValues": func(int) {
				require1000("names of ListIndexFuncValues", len(s.ListIndexFuncValues("name")), false)
			},
		}) {
			t.Did("%s", name)
			guard.Storm(write, read)
		}
	})
}

func TestTask2_Writer_finds_its_own_write(t *testing.T) {
	guard.Race(t, "Concurrent calls have the same effect as if one came after the other: after an Update has returned, "+
		"every lookup has the new object and no old one.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		for i := range 100 {
			s.Update(fmt.Sprintf("default/other-%d", i), deploy("default/other", "caddy"))
		}
		t.Did("Update default/a and all lookups, many times, in a store with 100 other objects; others read as well")
		write := func(i int) {
			image := fmt.Sprintf("nginx:%d", i)
			obj := deploy("default/a", image)
			s.Update("default/a", deploy("default/a", "nginx"))
			require.Len(t, s.List(), 101, "List")
			s.Update("default/a", obj)
			got, _ := s.Get("default/a")
			require.Same(t, obj, got, "the object of Get")
			require.True(t, slices.Contains(s.List(), any(obj)), "List has the new object")
			found, _ := s.ByIndex("image", image)
			require.Equal(t, []any{obj}, found, "the objects of ByIndex")
			keys, _ := s.IndexKeys("image", image)
			require.Equal(t, []string{"default/a"}, keys, "the keys of IndexKeys")
			require.Equal(t, []string{"caddy", image}, sorted(s.ListIndexFuncValues("image")), "the values of the index")
			s.Delete("default/a")
			require.False(t, slices.Contains(s.ListKeys(), "default/a"), "ListKeys has the key that was deleted")
			require.False(t, slices.Contains(s.List(), any(obj)), "List has the object that was deleted")
		}
		read := func(i int) {
			s.List()
			s.ListKeys()
			s.ListIndexFuncValues("image")
			s.ByIndex("image", "caddy")
			s.IndexKeys("image", "caddy")
		}
		guard.Storm(write, read, read)
	})
}
