package indexer_test

// Replace and AddIndexers: their work, the memory that they free, and calls that overlap with them.

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Calls_that_overlap_come_one_after_the_other(t *testing.T) {
	addIndexers := func(m *midway) call {
		return write("AddIndexers late, held", func(s cache.Indexer) error {
			return s.AddIndexers(cache.Indexers{"late": m.index})
		})
	}
	const rule = "Concurrent calls have the same effect as if one came after the other"
	guard.Test(t, rule+".", func(t *guard.T) {
		all := slices.Concat(lookups1, lookups2, lookups3, lookups4, writes2, writes4)
		t.Rule(rule + ": Replace loses no index that is added at the same time.")
		for _, second := range all {
			requireOneAfterTheOther(t, always(firstReplace), second)
		}
		t.Rule(rule + ": an index that AddIndexers fills from a copy of the map misses the writes in between.")
		for _, second := range all {
			requireOneAfterTheOther(t, addIndexers, second)
		}
		t.Rule(rule + ": an index that is added during a write has the new object.")
		for _, second := range slices.Concat(lookups4, writes4) {
			requireOneAfterTheOther(t, always(firstUpdate), second)
			requireOneAfterTheOther(t, always(firstDelete), second)
		}
		t.Rule(rule + ": Index answers with the objects before a Replace, or with those after it.")
		for _, second := range writes4 {
			requireOneAfterTheOther(t, always(lookups3[0]), second)
		}
	})
}

func TestTask4_Replace_keeps_the_later_of_two(t *testing.T) {
	guard.Test(t, "Of two objects with the same key the later one stays, as with two Adds, whatever their versions "+
		"are.", func(t *guard.T) {
		s := newStore(t, byImage())
		for _, later := range []string{"7", "5", "6"} {
			list := []any{deploy("default/web", "nginx", "@6"), deploy("default/web", "caddy", "@"+later)}
			require.NoError(t, s.Replace(list, "9"), "the error of Replace")
			got, _, _ := s.GetByKey("default/web")
			require.Same(t, list[1], got, "the object under default/web")
			t.Rule("Under each value, an index names exactly the objects that have it now: the earlier one is gone.")
			s.requireValues("after Replace", "caddy")
			t.Rule("Of two objects with the same key the later one stays, as with two Adds, whatever their versions are.")
		}
	})
}

func TestTask4_Replace_leaves_the_list_to_the_caller(t *testing.T) {
	guard.Test(t, "The list belongs to the caller: if the caller changes it after Replace, the store does not "+
		"change.", func(t *guard.T) {
		s := newStore(t, byImage())
		list := []any{deploy("default/b", "nginx"), deploy("default/a", "nginx")}
		require.NoError(t, s.Replace(list, "9"), "the error of Replace")
		require.Equal(t, "default/b running nginx, default/a running nginx", describe(list...),
			"the list after Replace")
		t.Did("overwrite the list")
		clear(list)
		require.Equal(t, []string{"default/a", "default/b"}, keysOf(s.List()), "the keys of List")
		s.requireRunning("nginx", "default/a", "default/b")
	})
}

func TestTask4_Versions_after_a_list(t *testing.T) {
	guard.Test(t, "The store's version becomes that of the last write, higher, lower or empty, also after a "+
		"list.", func(t *guard.T) {
		s := newStore(t, byImage())
		require.NoError(t, s.Replace([]any{deploy("default/web", "nginx", "@5")}, "9"), "the error of Replace")
		for _, version := range []string{"12", "8", ""} {
			require.NoError(t, s.Update(deploy("default/web", "nginx", "@"+version)), "the error of Update")
			require.Equal(t, version, s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after Update")
		}
		t.Rule("A store does not compare versions, also after a list.")
		for _, version := range []string{"11", "7"} {
			t.Did("Bookmark %s", version)
			s.Bookmark(version)
			require.Equal(t, version, s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after Bookmark")
		}
		t.Rule("Replace rebuilds every index from the list, also if the list has the keys that the store has.")
		require.NoError(t, s.Replace([]any{deploy("default/web", "caddy", "@5")}, "9"), "the error of Replace")
		s.requireValues("after the 2nd Replace", "caddy")
	})
}

func TestTask4_Nothing_has_no_values(t *testing.T) {
	guard.Test(t, "Replace rebuilds every index from the list. A key whose object is nil is stored, and has no values.",
		func(t *guard.T) {
			s := newThreadSafe(byImage())
			t.Did("Replace with a key whose object is nil, and Update another one with nil")
			s.Replace(map[string]any{"nothing": nil, "default/web": deploy("default/web", "nginx")}, "1")
			s.Update("more", nil)
			require.Equal(t, []string{"nginx"}, s.ListIndexFuncValues("image"), "values of the index")
			t.Rule("AddIndexers adds indexes, which find the objects that are stored already. A nil has no values.")
			require.NoError(t, s.AddIndexers(cache.Indexers{"late": images}), "the error of AddIndexers")
			require.Equal(t, []string{"nginx"}, s.ListIndexFuncValues("late"), "values of the new index")
			require.Equal(t, []string{"default/web", "more", "nothing"}, sorted(s.ListKeys()), "ListKeys, sorted")
			t.Rule("A nil object has no values: under each value, an index names exactly the objects that have it now.")
			t.Did("Update default/web with nil")
			s.Update("default/web", nil)
			require.Equal(t, []string{"default/web", "more", "nothing"}, sorted(s.ListKeys()), "ListKeys, sorted")
			require.Empty(t, s.ListIndexFuncValues("image"), "values of the index")
			t.Did("Update default/web running caddy")
			s.Update("default/web", deploy("default/web", "caddy"))
			require.Equal(t, []string{"caddy"}, s.ListIndexFuncValues("image"), "values of the index")

			t.Rule("Replace makes the list the whole content of the store, of whatever type the objects are.")
			s = newThreadSafe(nil)
			for range 2 {
				t.Did("Replace with plain, a slice")
				s.Replace(map[string]any{"plain": []string{"an object that cannot be compared"}}, "1")
				require.Equal(t, []string{"plain"}, s.ListKeys(), "ListKeys")
			}
		})
}

func TestTask4_Replace_is_seen_by_each_lookup(t *testing.T) {
	guard.Test(t, "Replace makes the list the whole content of the store: no lookup answers with what it found before.",
		func(t *guard.T) {
			s := newStore(t, byImage())
			for _, name := range []string{"default/a", "default/b", "default/c"} {
				require.NoError(t, s.Replace([]any{deploy(name, "nginx", name)}, "9"), "the error of Replace")
				for range 2 {
					require.Equal(t, []string{name}, keysOf(s.List()), "the keys of List")
					require.Equal(t, []string{name}, s.ListKeys(), "ListKeys")
					s.requireRunning("nginx", name)
					s.requireRunning(name, name)
					s.requireValues("after Replace", name, "nginx")
					s.requireLike(deploy("example/x", "nginx"), name)
					s.requireLike(deploy("example/x", "nginx", "envoy"), name)
				}
			}
		})
}

func TestTask4_Replace_after_a_failed_Update(t *testing.T) {
	guard.Test(t, "Even after an index function has failed, no index names a key that is not in the store. A Replace drops "+
		"the object for which it failed, and all others.", func(t *guard.T) {
		failing := func(obj any) ([]string, error) {
			if obj.(*appsv1.Deployment).Name == "broken" {
				return nil, errors.New("cannot tell")
			}
			return images(obj)
		}
		// The order of the two indexes is that of a map, for some maps one in eight. 200 rounds see both orders.
		for range 200 {
			t.Story(8)
			s := newStore(t, cache.Indexers{"image": images, "failing": failing})
			for i := range 5 {
				s.Add(deploy(fmt.Sprintf("default/old-%d", i), "nginx"))
			}
			t.Did("Update default/broken running nginx, which panics; then Replace with default/new, panicking or not")
			panicked(func() { s.Indexer.Update(deploy("default/broken", "nginx")) })
			panicked(func() { s.Indexer.Replace([]any{deploy("default/new", "nginx")}, "9") })
			for _, name := range []string{"image", "failing"} {
				t.Did("ByIndex %s=nginx", name)
				objs, err := s.ByIndex(name, "nginx")
				require.NoError(t, err, "the error of ByIndex "+name)
				require.NotContains(t, objs, nil, "objects under %s=nginx after Replace", name)
			}
		}
	})
}

func TestTask4_AddIndexers_that_panics_adds_none(t *testing.T) {
	guard.Test(t, "If an index function fails for a stored object, AddIndexers adds none of the indexes: an index "+
		"with some of the objects gives wrong answers.", func(t *guard.T) {
		failing := func(any) ([]string, error) { return nil, errors.New("cannot tell") }
		// The order of the names is that of a map, for some maps one in eight. 200 rounds see both orders.
		for range 200 {
			t.Story(8)
			s := newStore(t, byImage(), deploy("default/web", "nginx"))
			t.Did("AddIndexers failing and good, where failing returns an error")
			require.Panics(t, func() {
				s.Indexer.AddIndexers(cache.Indexers{"failing": failing, "good": images})
			}, "AddIndexers failing and good")
			for _, name := range []string{"failing", "good"} {
				t.Did("ByIndex %s=nginx", name)
				_, err := s.ByIndex(name, "nginx")
				require.Error(t, err, "the error of ByIndex "+name+"=nginx")
			}
			more := cache.Indexers{"failing": images, "good": images} // the names are free
			require.NoError(t, s.AddIndexers(more), "the error of AddIndexers with the same names")
		}
	})
}

func TestTask4_AddIndexers_that_fails_panics(t *testing.T) {
	// In a process of its own, because to unlock twice is an error that ends the process.
	guard.Race(t, "If an index function fails for a stored object, AddIndexers panics, as Update does: an index "+
		"without the entry would be wrong, and no error would report it.", func(t *guard.T) {
		broken := deploy("default/broken", "nginx")
		failing := func(obj any) ([]string, error) {
			if obj == any(broken) {
				return nil, errors.New("cannot tell")
			}
			return images(obj)
		}
		s := newStore(t, byImage(), deploy("default/web", "nginx"), broken)
		t.Did("AddIndexers failing, which returns an error for default/broken")
		require.Panics(t, func() { s.Indexer.AddIndexers(cache.Indexers{"failing": failing}) }, "AddIndexers failing")
		t.Rule("After a failed AddIndexers the lock is free, and the other indexes work as before.")
		s.Add(deploy("default/db", "nginx")) // hangs if the panic kept the lock
		s.requireRunning("nginx", "default/broken", "default/db", "default/web")
	})
}

func TestTask4_Panic_of_the_index_function_itself_leaves_the_lock_free(t *testing.T) {
	// In a process of its own, because to unlock twice is an error that ends the process.
	guard.Race(t, "A call that panics releases the lock, even if the index function itself panics.", func(t *guard.T) {
		panics := cache.Indexers{"panics": func(any) ([]string, error) { panic("cannot tell") }}
		for name, call := range guard.InOrder(map[string]func(s cache.ThreadSafeStore){
			"Replace":     func(s cache.ThreadSafeStore) { s.Replace(map[string]any{"default/web": "an object"}, "1") },
			"AddIndexers": func(s cache.ThreadSafeStore) { s.AddIndexers(panics) },
		}) {
			t.Rule("A call that panics releases the lock, even if the index function itself panics.")
			t.Did("%s, with an index function that panics; then Update", name)
			s := newThreadSafe(nil)
			s.Update("default/web", "an object")
			if name == "Replace" {
				s = newThreadSafe(panics)
			}
			require.Panics(t, func() { call(s) }, name)
			s.Update("nothing", nil) // hangs if the panic kept the lock
			if name == "AddIndexers" {
				t.Rule("If an index function fails for a stored object, AddIndexers adds none of the indexes, even if the " +
					"function itself panics.")
				require.Empty(t, sortedKeys(s.GetIndexers()), "names of the indexes after AddIndexers")
			}
		}

		t.Rule("If an index function fails, Replace panics, however long the list is: the caller can recover.")
		items := map[string]any{}
		for i := range 1_001 {
			items[fmt.Sprintf("default/web-%d", i)] = "an object"
		}
		t.Did("Replace with 1001 objects, with an index function that panics")
		require.Panics(t, func() { newThreadSafe(panics).Replace(items, "1") }, "Replace")
	})
}

func TestTask4_What_a_relist_drops_can_be_freed(t *testing.T) {
	guard.Test(t, "An object that has left the store can be freed, and so can its key and its values: Replace keeps "+
		"nothing of the old content.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		var objs []weak.Pointer[appsv1.Deployment]
		var texts []weak.Pointer[byte]
		t.Did("Replace with 100 objects, then with none")
		elsewhere(func() {
			items := map[string]any{}
			for i := range 100 {
				image, watchedImage := text(fmt.Sprintf("nginx:%d", i))
				key, watchedKey := text(fmt.Sprintf("default/web-%d", i))
				obj := deploy("default/web", image)
				items[key] = obj
				objs, texts = append(objs, weak.Make(obj)), append(texts, watchedImage, watchedKey)
			}
			s.Replace(items, "1")
		})
		elsewhere(func() { s.Replace(map[string]any{}, "2") })
		require.Equal(t, "0 of 100 still in memory", stillHeld(objs), "the objects that the 2nd list lacks")
		require.Equal(t, "0 of 200 still in memory", stillHeld(texts), "the keys and values that the 2nd list lacks")
		runtime.KeepAlive(s)
	})
}

func TestTask4_AddIndexers_computes_the_new_indexes_alone(t *testing.T) {
	guard.Test(t, "AddIndexers calls each new index function for each stored object, and the others not at all.",
		func(t *guard.T) {
			image, imageCalls := countedIndex()
			late, lateCalls := countedIndex()
			s := newThreadSafe(cache.Indexers{"image": image})
			t.Did("Update 1000 keys")
			for i := range 1000 {
				s.Update(fmt.Sprintf("default/web-%d", i), deploy("default/web", "nginx"))
			}
			requireCalls(t, imageCalls, 0, "AddIndexers", func() { s.AddIndexers(cache.Indexers{"late": late}) })
			require.LessOrEqual(t, *lateCalls, 2_000, "calls of the new index function by AddIndexers")
			t.Rule("Replace calls the index function at most once for each old object and for each new one.")
			requireCalls(t, imageCalls, 1001, "Replace", func() {
				s.Replace(map[string]any{"default/new": deploy("default/new", "nginx")}, "2")
			})
		})
}

func TestTask4_Objects_and_indexes_are_replaced_together(t *testing.T) {
	guard.Race(t, "For readers Replace is one step: a reader finds all of one list, or all of the other. If the "+
		"index is of one list and the objects are of the other, "+
		"the index names keys that are not in the store.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		lists := []string{"a1 b1 c1 d1 e1 f1 g1 h1", "a2 b2 c2 d2 e2 f2 g2 h2"}
		t.Did("Replace %s, all running nginx and an image of their name, with %s, and back, many times", lists[0], lists[1])
		var objects [2]map[string]any
		for i, list := range lists {
			objects[i] = map[string]any{}
			for key := range strings.FieldsSeq(list) {
				objects[i][key] = deploy("/"+key, "nginx", key)
			}
		}
		replace := func(i int) { s.Replace(maps.Clone(objects[i%2]), "9") }
		// First a check that takes little time, so that a round has many lookups.
		requireOneList := func(what string, found []string) {
			ofOther := func(key string) bool { return !strings.HasSuffix(key, found[0][len(found[0])-1:]) }
			if len(found) == 8 && found[0] != "" && !slices.ContainsFunc(found, ofOther) {
				return
			}
			if found := strings.Join(sorted(found), " "); !slices.Contains(lists, found) {
				require.Equal(t, strings.Join(lists, ", or "), found, what)
			}
		}
		names := func(objs []any) (all []string) {
			for _, obj := range objs {
				if d, there := obj.(*appsv1.Deployment); there {
					all = append(all, d.Name)
				}
			}
			return all
		}
		byIndex := func(int) {
			objs, _ := s.ByIndex("image", "nginx")
			requireOneList("objects under image=nginx", names(objs))
			objs, _ = s.Index("image", deploy("example/x", "nginx"))
			requireOneList("objects of Index image, like an example running nginx", names(objs))
			keys, _ := s.IndexKeys("image", "nginx")
			requireOneList("keys under image=nginx", keys)
		}
		values := func(int) {
			nginx := func(value string) bool { return value == "nginx" }
			requireOneList("values other than nginx", slices.DeleteFunc(s.ListIndexFuncValues("image"), nginx))
		}
		list := func(int) { requireOneList("objects of List", names(s.List())) }
		listKeys := func(int) { requireOneList("keys of ListKeys", s.ListKeys()) }
		replace(0)
		for range 10 {
			guard.Storm(replace, byIndex, values, list, listKeys)
		}
	})
}
