package indexer_test

// Task 2: one index, with one value per object.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_ByIndex_finds_by_value(t *testing.T) {
	guard.Test(t, "ByIndex returns the objects that have the indexed value.", func(t *guard.T) {
		web := deploy("default/web", "nginx")
		s := newStore(t, byImage(), web, deploy("default/db", "postgres"), deploy("shop/web", "nginx"), deploy("", "nginx"))
		s.requireRunning("nginx", "", "default/web", "shop/web")
		s.requireRunning("postgres", "default/db")
		t.Rule("For a value that no object has, ByIndex returns no objects and no error.")
		s.requireRunning("redis")
		t.Did("IndexKeys image=redis")
		keys, err := s.IndexKeys("image", "redis")
		require.NoError(t, err, "the error of IndexKeys")
		require.Empty(t, keys, "keys under image=redis")
		t.Rule("A lookup does not add its value to the index.")
		s.requireValues("after the lookups", "nginx", "postgres")

		objs, _ := s.ByIndex("image", "nginx")
		t.Rule("Objects are shared: ByIndex returns the stored objects, not copies.")
		require.True(t, slices.Contains(objs, any(web)), "ByIndex returns the object that was stored, not a copy")

		t.Rule("IndexKeys returns the keys of the objects that have the indexed value: the keys under which they are " +
			"stored, whatever the objects say.")
		other := newThreadSafe(byImage())
		t.Did("Update uid-1, with default/web running nginx; then IndexKeys image=nginx")
		other.Update("uid-1", web)
		keys, err = other.IndexKeys("image", "nginx")
		require.NoError(t, err, "the error of IndexKeys")
		require.Equal(t, []string{"uid-1"}, keys, "keys under image=nginx")
	})
}

func TestTask2_Update_moves_the_entry(t *testing.T) {
	guard.Test(t, "Under each value, an index names exactly the objects that have it now.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		s.Update(deploy("default/web", "caddy"))
		s.requireRunning("caddy", "default/web")
		t.Rule("An object is not found under a value that it had before: Update also asks the index function " +
			"about the old object.")
		s.requireRunning("nginx")
		t.Rule("Under each value, an index names exactly the objects that have it now, whatever else the old object and " +
			"the new one have in common. A change of a label leaves the generation as it was.")
		moved := deploy("default/web", "envoy", "@2")
		again := deploy("default/web", "nginx", "@2")
		moved.Generation, again.Generation, moved.UID, again.UID = 3, 3, "uid-1", "uid-1"
		s.Update(moved)
		s.Update(again)
		s.requireRunning("nginx", "default/web")
		s.requireRunning("envoy")
	})
}

func TestTask2_Update_in_place_serves_the_new_object(t *testing.T) {
	guard.Test(t, "After an update that changes no indexed value, a lookup by value returns the new object: an index "+
		"holds keys, not objects.", func(t *guard.T) {
		newer := deploy("default/web", "nginx", "@2")
		s := newStore(t, byImage(), deploy("default/web", "nginx", "@1"))
		s.Update(newer)
		t.Did("ByIndex image=nginx")
		objs, err := s.ByIndex("image", "nginx")
		require.NoError(t, err, "the error of ByIndex")
		require.Equal(t, "@2", versions(objs), "versions of the objects under image=nginx")
	})
}

func TestTask2_Delete_takes_the_entry_out(t *testing.T) {
	guard.Test(t, "DeleteWithObject removes the object under key from the store and from every index. Its entries "+
		"are those of the stored object: the object that is passed to Delete may have other values.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"), deploy("shop/web", "nginx"))
		s.Delete(deploy("default/web")) // the deletion's object may have other containers, only its key is right
		s.requireRunning("nginx", "shop/web")
	})
}

func TestTask2_Value_that_nobody_has_is_forgotten(t *testing.T) {
	guard.Test(t, "A value that no object has takes no memory: when its last key leaves, the value leaves "+
		"the index. With thousands of short-lived namespaces, each controller's memory grew (#84959).", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx:1"))
		t.Rule("ListIndexFuncValues returns every indexed value that an object has, each once.")
		s.requireValues("after Add", "nginx:1")
		s.Add(deploy("default/db", "nginx:1"))
		s.requireValues("after Add of a 2nd object with the value", "nginx:1")
		s.Delete(deploy("default/db"))
		s.requireValues("after Delete of the 2nd object", "nginx:1")
		t.Rule("A value that no object has takes no memory: when its last key leaves, the value leaves the index.")
		s.Update(deploy("default/web", "nginx:2"))
		s.requireValues("after Update", "nginx:2")
		s.Delete(deploy("default/web"))
		s.requireValues("after Delete")
	})
}

func TestTask2_Store_leaves_the_values_alone(t *testing.T) {
	guard.Test(t, "The values belong to the index function, which may return a slice that is part of the object: the "+
		"store does not sort or change it.", func(t *guard.T) {
		// The values are the first three finalizers, so the slice has room for three more.
		finalizers := func(obj any) ([]string, error) { return obj.(*appsv1.Deployment).Finalizers[:3], nil }
		web, newer := deploy("default/web"), deploy("default/web")
		web.Finalizers, newer.Finalizers = []string{"d", "c", "c", "x", "y", "z"}, []string{"d", "b", "a", "x", "y", "z"}
		s := newStore(t, cache.Indexers{"finalizer": finalizers}, web)
		s.Update(newer)
		t.Did("Delete default/web")
		s.Delete(newer)
		require.Equal(t, []string{"d", "c", "c", "x", "y", "z"}, web.Finalizers, "finalizers of the old object")
		require.Equal(t, []string{"d", "b", "a", "x", "y", "z"}, newer.Finalizers, "finalizers of the new object")
	})
}

func TestTask2_IndexKeys_is_sorted(t *testing.T) {
	guard.Test(t, "IndexKeys returns the keys of the objects that have the indexed value, sorted: the order of a Go "+
		"map changes from call to call.", func(t *guard.T) {
		s := newStore(t, byImage())
		for _, name := range []string{"g", "c", "f", "a", "e", "B", "d"} {
			s.Add(deploy("default/"+name, "nginx"))
		}
		s.Add(deploy("default-2/h", "nginx")) // a hyphen comes before a slash
		t.Did("IndexKeys image=nginx")
		keys, err := s.IndexKeys("image", "nginx")
		require.NoError(t, err, "the error of IndexKeys")
		wanted := "default-2/h default/B default/a default/c default/d default/e default/f default/g"
		require.Equal(t, strings.Fields(wanted), keys, "IndexKeys image=nginx")
		t.Did("Add 1001 objects that run nginx")
		for i := range 1_001 {
			s.Indexer.Add(deploy(fmt.Sprintf("shop/%d", i), "nginx"))
		}
		keys, err = s.IndexKeys("image", "nginx")
		require.NoError(t, err, "the error of IndexKeys")
		require.Len(t, keys, 1_009, "IndexKeys image=nginx")
		require.True(t, slices.IsSorted(keys), "IndexKeys image=nginx is sorted")
		t.Rule("List returns all objects, however many there are.")
		require.Len(t, s.List(), 1_009, "List")
	})
}

func TestTask2_Indexes_do_not_mix(t *testing.T) {
	guard.Test(t, "Each index has a table of its own.", func(t *guard.T) {
		byName := func(obj any) ([]string, error) { return []string{obj.(*appsv1.Deployment).Name}, nil }
		s := newStore(t, cache.Indexers{"image": images, "name": byName},
			deploy("default/nginx", "caddy"), deploy("default/web", "nginx"))
		s.requireRunning("nginx", "default/web")
		t.Did("IndexKeys name=nginx")
		keys, err := s.IndexKeys("name", "nginx")
		require.NoError(t, err, "the error of IndexKeys")
		require.Equal(t, []string{"default/nginx"}, keys, "keys under name=nginx")
		require.ElementsMatch(t, []string{"nginx", "web"}, s.ListIndexFuncValues("name"), `values of the index "name"`)
	})
}

func TestTask2_Unknown_index_is_an_error(t *testing.T) {
	guard.Test(t, `An unknown index is an error: an empty answer would mean "no object has this value", and a `+
		"controller would believe it.", func(t *guard.T) {
		s := newStore(t, byImage())
		for _, unknown := range []string{"imgae", "", "imgae"} {
			t.Did("ask the index %q", unknown)
			_, err := s.ByIndex(unknown, "nginx")
			require.Error(t, err, "the error of ByIndex "+unknown+"=nginx")
			_, err = s.IndexKeys(unknown, "nginx")
			require.Error(t, err, "the error of IndexKeys "+unknown+"=nginx")
			s.Add(deploy("default/web", "nginx")) // the store is empty in the first round
		}
		t.Rule("An unknown index has no values. ListIndexFuncValues cannot return an error.")
		require.Empty(t, s.ListIndexFuncValues("imgae"), `values of the unknown index "imgae"`)

		t.Rule("A lookup that fails releases the lock.")
		s.Add(deploy("default/db", "postgres")) // hangs if one of the calls above kept the lock
		s.requireRunning("postgres", "default/db")
	})
}

func TestTask2_Results_belong_to_the_caller(t *testing.T) {
	guard.Test(t, "The slices that a lookup returns belong to the caller: if the caller sorts or overwrites one, the "+
		"store does not change.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/a", "nginx"), deploy("default/b", "nginx"))
		t.Did("ask for nginx in three ways, twice each, and overwrite the first results")
		objs, _ := s.ByIndex("image", "nginx")
		keys, _ := s.IndexKeys("image", "nginx")
		values := s.ListIndexFuncValues("image")
		objsAgain, _ := s.ByIndex("image", "nginx")
		keysAgain, _ := s.IndexKeys("image", "nginx")
		valuesAgain := s.ListIndexFuncValues("image")
		clear(objs)
		clear(keys)
		clear(values)
		require.Equal(t, []string{"default/a", "default/b"}, keysOf(objsAgain), "the other result of ByIndex")
		require.Equal(t, []string{"default/a", "default/b"}, keysAgain, "the other result of IndexKeys")
		require.Equal(t, []string{"nginx"}, valuesAgain, "the other result of ListIndexFuncValues")

		s.requireRunning("nginx", "default/a", "default/b")
		keys, _ = s.IndexKeys("image", "nginx")
		require.Equal(t, []string{"default/a", "default/b"}, keys, "IndexKeys image=nginx")
		s.requireValues("after the results were overwritten", "nginx")
		t.Did("ask for the keys of caddy, which has one, and overwrite them")
		s.Indexer.Add(deploy("default/c", "caddy"))
		keys, _ = s.IndexKeys("image", "caddy")
		clear(keys)
		keys, _ = s.IndexKeys("image", "caddy")
		require.Equal(t, []string{"default/c"}, keys, "IndexKeys image=caddy")
		requireOwned(t, "ByIndex image=none", func() []any { found, _ := s.ByIndex("image", "none"); return found })
		requireOwned(t, "IndexKeys image=none", func() []string { found, _ := s.IndexKeys("image", "none"); return found })
		requireOwned(t, "values of the unknown index none", func() []string { return s.ListIndexFuncValues("none") })
	})
}

func TestTask2_Failing_index_function_leaves_no_ghost(t *testing.T) {
	const (
		mustPanic = "If an index function fails, Update panics: an index without the entry would be wrong from then " +
			"on, and no error would report it (#50555)."
		noGhost = "Even after an index function has failed, no index names a key that is not in the store: a " +
			"lookup would return a nil, and every lister that received one crashed (#43605). "
		others = "Under each value, an index names exactly the objects that have it now: if an index function fails for " +
			"one object, the entries of the others stay."
		mapFirst = noGhost + "An object enters the map before it enters an index."
		mapLast  = noGhost + "An object leaves every index before it leaves the map, also after an Update that failed."
	)
	guard.Test(t, mustPanic, func(t *guard.T) {
		added, changed := deploy("default/added", "nginx"), deploy("default/changed", "nginx")
		failing := func(obj any) ([]string, error) {
			values, err := images(obj)
			if obj == any(added) || obj == any(changed) {
				err = errors.New("cannot tell") // cache.MetaNamespaceIndexFunc too returns a value with its error
			}
			return values, err
		}
		// The order of the two indexes is that of a map, for some maps one in eight. 200 rounds see both orders.
		for range 200 {
			t.Story(8)
			t.Did("two indexes: image is a good one, failing returns an error for objects that run nginx")
			s := newStore(t, cache.Indexers{"image": images, "failing": failing},
				deploy("default/good", "envoy"), deploy("default/changed", "caddy"))
			requireNoGhost := func(rule, after string) {
				t.Helper()
				t.Rule("%s", rule)
				for _, at := range []string{"image nginx", "image caddy", "failing nginx", "failing caddy"} {
					name, value, _ := strings.Cut(at, " ")
					objs, err := s.ByIndex(name, value)
					require.NoError(t, err, "the error of ByIndex after "+after)
					require.NotContains(t, objs, nil, "objects under "+name+"="+value+" after "+after)
				}
			}
			for _, broken := range []*appsv1.Deployment{added, changed} {
				t.Did("Update %s, which panics", describe(broken))
				t.Rule(mustPanic)
				require.Panics(t, func() { s.Indexer.Update(broken) }, "Update of "+describe(broken))
				t.Rule(others)
				for _, name := range []string{"image", "failing"} {
					require.Equal(t, "default/good", both(s.IndexKeys(name, "envoy")), "keys under "+name+"=envoy")
				}
				requireNoGhost(mapFirst, "the Update of "+broken.Name)
				for range 2 {
					t.Did("Delete default/%s, panicking or not", broken.Name)
					panicked(func() { s.Indexer.Delete(broken) })
					requireNoGhost(mapLast, "the Delete of "+broken.Name)
				}
			}
			t.Rule("A call that panics releases the lock.")
			s.Add(deploy("default/web", "caddy")) // hangs if the panic kept the lock
		}

		for _, update := range []bool{false, true} {
			t.Story(8)
			fails := false
			s := newStore(t, cache.Indexers{"image": func(obj any) ([]string, error) {
				if fails {
					return nil, errors.New("cannot tell")
				}
				return images(obj)
			}}, deploy("default/stored", "nginx"))
			fails = true
			if update {
				t.Did("Update default/stored running caddy, while the index function fails")
				t.Rule(mustPanic)
				require.Panics(t, func() { s.Indexer.Update(deploy("default/stored", "caddy")) }, "Update of default/stored")
			}
			t.Did("Delete default/stored, while the index function fails, panicking or not")
			t.Rule(mapLast)
			if panicked(func() { s.Indexer.Delete(deploy("default/stored")) }) && len(s.ListKeys()) > 0 {
				continue
			}
			// A store that has recorded the values of each object needs no index function for a deletion.
			require.Empty(t, s.ListKeys(), "ListKeys after the Delete")
			s.requireRunning("nginx")
			s.requireRunning("caddy")
		}
	})
}

func TestTask2_Readers_wait_or_see_what_was_before(t *testing.T) {
	get := func(s cache.Indexer) string { obj, _, _ := s.GetByKey("default/a"); return describe(obj) }
	byIndex := func(s cache.Indexer) string {
		return "one: " + both(s.ByIndex("one", "nginx")) + "; two: " + both(s.ByIndex("two", "nginx"))
	}
	indexKeys := func(s cache.Indexer) string {
		return "one: " + both(s.IndexKeys("one", "nginx")) + "; two: " + both(s.IndexKeys("two", "nginx"))
	}
	listValues := func(s cache.Indexer) string {
		return "one: " + both(s.ListIndexFuncValues("one"), nil) + "; two: " + both(s.ListIndexFuncValues("two"), nil)
	}
	for name, read := range guard.InOrder(map[string]func(s cache.Indexer) string{
		"Get":                          get,
		"List":                         func(s cache.Indexer) string { return describe(s.List()...) },
		"ListKeys":                     func(s cache.Indexer) string { return strings.Join(s.ListKeys(), " ") },
		"LastStoreSyncResourceVersion": func(s cache.Indexer) string { return s.LastStoreSyncResourceVersion() },
		"ByIndex":                      byIndex,
		"IndexKeys":                    indexKeys,
		"ListIndexFuncValues":          listValues,
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "No reader sees half of a change: the writer changes the map and all indexes in one "+
				"hold of the lock. A reader that does not wait must see the state before the change.", func(t *guard.T) {
				m := &midway{}
				s := newStore(t, cache.Indexers{"one": m.index, "two": m.index}, deploy("default/a", "nginx", "@1"))
				for _, write := range []call{
					write("Update", func(cache.Indexer) error { return s.Update(deploy("default/a", "nginx", "envoy", "@2")) }),
					write("Delete", func(cache.Indexer) error { return s.Delete(deploy("default/a", "@3")) }),
				} {
					before := read(s.Indexer)
					t.Did("%s, in the middle of the next call", name)
					inside, _ := m.during(func() { write.do(s) }, func() string { return read(s.Indexer) })
					for _, saw := range inside {
						require.Equal(t, before, saw, name+" in the middle of "+write.name)
					}
				}
			})
		})
	}
}

func TestTask2_Calls_that_overlap_come_one_after_the_other(t *testing.T) {
	guard.Test(t, "Concurrent calls have the same effect as if one came after the other: what a writer reads under "+
		"the lock is out of date as soon as it releases the lock.", func(t *guard.T) {
		for _, second := range slices.Concat(lookups1, lookups2, writes2) {
			requireOneAfterTheOther(t, always(firstUpdate), second)
			requireOneAfterTheOther(t, always(firstDelete), second)
		}
	})
}

func TestTask2_Writes_come_one_after_the_other(t *testing.T) {
	guard.Race(t, "Concurrent calls have the same effect as if one came after the other: a write changes the object, the "+
		"indexes and the version in one hold of the lock. No other write comes in between.", func(t *guard.T) {
		for _, second := range slices.Concat(writes2, []call{firstUpdate, firstDelete}) {
			requireNoneBetween(t, firstUpdate, second)
			requireNoneBetween(t, firstDelete, second)
		}
	})
}

func TestTask2_Lock_covers_the_indexes(t *testing.T) {
	guard.Race(t, "Any goroutine may call any method: every method that reads an index holds the lock. "+
		"ListIndexFuncValues once forgot it (#25141).", func(t *guard.T) {
		s := newThreadSafe(byImage())
		one, two := deploy("default/a", "nginx"), deploy("default/a", "caddy")
		t.Did("Update and DeleteWithObject, against ByIndex, IndexKeys and ListIndexFuncValues, " +
			"each in a goroutine of its own")
		guard.Storm(
			func(i int) { s.Update("default/a", one) },
			func(i int) { s.Update("default/a", two) },
			func(i int) { s.DeleteWithObject("default/a", one) },
			func(i int) { s.IndexKeys("image", "caddy") },
			func(i int) { s.ListIndexFuncValues("image") },
			func(i int) { s.ByIndex("image", "nginx") },
		)
	})
}

func TestTask2_Object_and_entries_change_together(t *testing.T) {
	guard.Race(t, "No reader sees half of a change: the object and its index entries change in one hold of the lock. "+
		"If the writer releases it in between, ByIndex finds under nginx an object that runs caddy.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		versions := []any{deploy("default/a", "nginx"), deploy("default/a", "caddy")}
		t.Did("move default/a between nginx and caddy many times, while others read it, and ask for nginx")
		ask := func(i int) {
			objs, _ := s.ByIndex("image", "nginx")
			for _, obj := range objs {
				require.Equal(t, "default/a running nginx", describe(obj), "the object under image=nginx")
			}
		}
		for range 10 {
			move := func(i int) { s.Update("default/a", versions[i%2]) }
			guard.Storm(move, move, func(i int) { s.Get("default/a") }, ask)
		}
	})
}
