package indexer_test

// Task 4: Replace, and indexes that are added later.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/05-indexer"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Replace_forgets_what_is_not_in_the_list(t *testing.T) {
	guard.Test(t, "Replace makes the list the whole content of the store: an object "+
		"that the list lacks was deleted.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/old", "nginx"))
		require.NoError(t, s.Replace([]any{deploy("default/new", "caddy")}, "9"), "the error of Replace")
		require.Equal(t, []string{"default/new"}, s.ListKeys(), "ListKeys after Replace")
		t.Rule("Replace rebuilds every index from the list: no value of the old content is left.")
		s.requireRunning("nginx")
		s.requireRunning("caddy", "default/new")
		s.requireValues("after Replace", "caddy")
		t.Rule("Replace makes the list the whole content of the store, whatever the versions of the objects and of the " +
			"list are: the server has decided which is newer.")
		for _, versions := range [][2]string{{"5", "9"}, {"5", "9"}, {"5", "5"}, {"3", "5"}, {"3", "2"}} {
			web := deploy("default/web", "@"+versions[0])
			require.NoError(t, s.Replace([]any{web}, versions[1]), "the error of Replace")
			got, _, _ := s.GetByKey("default/web")
			require.Same(t, web, got, "the object under default/web")
			require.Equal(t, versions[1], s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after Replace")
		}
	})
}

func TestTask4_Replace_rebuilds_every_index(t *testing.T) {
	guard.Test(t, "Replace rebuilds every index from the list.", func(t *guard.T) {
		s := newStore(t, cache.Indexers{"image": images, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			deploy("default/web", "nginx"), deploy("default/db", "postgres"))
		t.Did("IndexKeys image=postgres")
		keys, err := s.IndexKeys("image", "postgres")
		require.NoError(t, err, "the error of IndexKeys")
		require.Equal(t, []string{"default/db"}, keys, "keys under image=postgres")
		list := []any{deploy("default/web", "caddy"), deploy("shop/web", "nginx"), deploy("", "nginx")}
		require.NoError(t, s.Replace(list, "9"), "the error of Replace")
		s.requireRunning("caddy", "default/web")
		s.requireRunning("nginx", "", "shop/web")
		require.NoError(t, s.Delete(deploy("")), "the error of Delete")
		s.requireRunning("nginx", "shop/web")
		t.Did("IndexKeys namespace=default")
		keys, err = s.IndexKeys(cache.NamespaceIndex, "default")
		require.NoError(t, err, "the error of IndexKeys")
		require.Equal(t, []string{"default/web"}, keys, "keys under namespace=default")
		t.Did("IndexKeys image=postgres")
		keys, err = s.IndexKeys("image", "postgres")
		require.NoError(t, err, "the error of IndexKeys")
		require.Empty(t, keys, "keys under image=postgres, which only the old content has")
	})
}

func TestTask4_Replace_sets_the_version(t *testing.T) {
	guard.Test(t, "Replace sets the store's version to that of the list. No object in the list is newer, and an "+
		"empty list has a version, too.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "@5"))
		list := []any{deploy("default/web", "@7"), deploy("default/db", "@3")}
		require.NoError(t, s.Replace(list, "9"), "the error of Replace")
		require.Equal(t, "9", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after Replace")
		require.NoError(t, s.Replace(nil, "11"), "the error of Replace with an empty list")
		require.Equal(t, "11", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after the 2nd Replace")
		t.Rule("Replace makes the list the whole content of the store: an empty list empties it.")
		require.Empty(t, s.ListKeys(), "ListKeys after Replace with an empty list")
		t.Rule("Update stores obj under its key, after an empty list too.")
		s.Update(deploy("default/new", "nginx", "@12")) // panics if Replace took the table away
		s.requireRunning("nginx", "default/new")
		require.Equal(t, []string{"default/new"}, s.ListKeys(), "ListKeys after an empty list and Update")
		t.Rule("Replace sets the store's version to that of the list, even to an empty one.")
		for _, version := range []string{" 8 ", ""} {
			require.NoError(t, s.Replace(list, version), "the error of Replace")
			require.Equal(t, version, s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after Replace")
		}
		t.Rule("Replace makes the list the whole content of the store: an empty list empties it, whatever the versions.")
		require.NoError(t, s.Replace(nil, ""), "the error of Replace with an empty list")
		require.Empty(t, s.ListKeys(), "ListKeys after Replace with an empty list")
	})
}

func TestTask4_Replace_uses_the_stores_key_function(t *testing.T) {
	guard.Test(t, "Replace finds the keys with the store's own key function.", func(t *guard.T) {
		s := indexer.NewStore(func(obj any) (string, error) { return string(obj.(*appsv1.Deployment).UID), nil })
		web := deploy("default/web")
		web.UID = "uid-1"
		t.Did("Replace with default/web and an object without UID, with a key function that returns the UID")
		require.NoError(t, s.Replace([]any{web, deploy("default/new")}, "9"), "the error of Replace")
		require.Equal(t, []string{"", "uid-1"}, sorted(s.ListKeys()), "ListKeys after Replace")
	})
}

func TestTask4_Replace_with_an_object_without_a_key_changes_nothing(t *testing.T) {
	const rule = "If one object has no key, Replace returns a cache.KeyError, which names the object."
	guard.Test(t, rule, func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "@5"))
		err := s.Replace([]any{deploy("default/db", "postgres"), "no metadata"}, "9")
		var keyError cache.KeyError
		require.ErrorAs(t, err, &keyError, "the error of Replace")
		require.Equal(t, "no metadata", keyError.Obj, "the object in the KeyError")
		require.Error(t, keyError.Err, "the error of the key function in the KeyError")
		require.ErrorAs(t, s.Replace([]any{nil}, "9"), &keyError, "the error of Replace with a nil")
		cause := errors.New("no key today")
		other := indexer.NewStore(func(any) (string, error) { return "default/web", cause })
		bad := append(withoutMetadata(), cache.ExplicitKey("default/web"))
		t.Did("Replace with objects for which the key function fails, although it returns a key")
		for n, obj := range bad {
			for _, list := range [][]any{{obj}, bad[n:]} {
				given := slices.Clone(list)
				t.Rule(rule)
				err = other.Replace(given, "9")
				require.ErrorIs(t, err, cause, "the error of Replace")
				require.ErrorAs(t, err, &keyError, "the error of Replace")
				require.Contains(t, list, keyError.Obj, "the object in the KeyError")
				t.Rule("The list belongs to the caller, even if Replace fails.")
				require.Equal(t, list, given, "the list after the failed Replace")
			}
		}
		t.Rule("Replace is all or nothing: it finds every key before it changes anything.")
		require.Equal(t, []string{"default/web"}, s.ListKeys(), "ListKeys after the failed Replace")
		s.requireRunning("nginx", "default/web")
		require.Equal(t, "5", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after the failed Replace")
	})
}

func TestTask4_Replace_that_fails_leaves_no_ghost(t *testing.T) {
	const (
		mustPanic = "If an index function fails, Replace panics, as Update does: an index without the entry would be " +
			"wrong, and no error would report it."
		noGhost = "Even after an index function has failed, no index names a key that is not in the store: a " +
			"lookup that finds the key of default/old returns a nil. The panic in one index must not leave old keys " +
			"in another."
	)
	guard.Test(t, mustPanic, func(t *guard.T) {
		broken := deploy("default/broken", "caddy")
		failing := func(obj any) ([]string, error) {
			if obj == any(broken) {
				return nil, errors.New("cannot tell")
			}
			return images(obj)
		}
		// The order of the two indexes is that of a map, for some maps one in eight. 200 rounds see both orders.
		for range 200 {
			t.Story(8)
			t.Rule(mustPanic)
			s := newStore(t, cache.Indexers{"image": images, "failing": failing}, deploy("default/old", "nginx"))
			t.Did("Replace with default/broken, whose index function returns an error")
			require.Panics(t, func() { s.Indexer.Replace([]any{broken}, "9") }, "Replace with default/broken")
			t.Rule(noGhost)
			for _, value := range []string{"nginx", "caddy"} { // of the old content and of the list
				for _, name := range []string{"image", "failing"} {
					t.Did("ByIndex %s=%s", name, value)
					objs, err := s.ByIndex(name, value)
					require.NoError(t, err, "the error of ByIndex "+name)
					require.NotContains(t, objs, nil, "objects under %s=%s after the failed Replace", name, value)
				}
			}
			t.Rule("A call that panics releases the lock.")
			s.Update(deploy("default/web", "nginx")) // hangs if the panic kept the lock
		}
	})
}

func TestTask4_Replace_happens_at_once(t *testing.T) {
	guard.Test(t, "For readers Replace is one step: objects and indexes change in one hold of the lock. A reader "+
		"waits for the new list, or sees the old one.", func(t *guard.T) {
		// Two lists of several objects, all running nginx, one list @1 and the other one @2: a reader that gets in
		// between sees too few of them, or a mixture.
		list := func(version string) (objs []any) {
			for _, name := range []string{"a", "b", "c", "d"} {
				objs = append(objs, deploy("default/"+name+version, "nginx", "@"+version))
			}
			return objs
		}
		m := &midway{}
		s := newStore(t, cache.Indexers{"image": m.index})
		require.NoError(t, s.Replace(list("1"), "1"), "the error of the 1st Replace")
		read := func() string {
			objs, _ := s.Indexer.ByIndex("image", "nginx")
			return versions(objs) + " and " + strings.Join(sorted(s.Indexer.ListKeys()), " ")
		}
		before := read()
		t.Did("ByIndex and ListKeys, in the middle of the next call")
		inside, _ := m.during(func() {
			require.NoError(t, s.Replace(list("2"), "2"), "the error of the 2nd Replace")
		}, read)
		for _, saw := range inside {
			require.Equal(t, before, saw, "ByIndex and ListKeys in the middle of Replace")
		}

		t.Rule("For readers Replace is one step, however long the list is.")
		many := func(n int) (objs []any) {
			for i := range n {
				objs = append(objs, deploy(fmt.Sprintf("default/web-%d", i), "nginx"))
			}
			return objs
		}
		count := func() string {
			objs, _ := s.Indexer.ByIndex("image", "nginx")
			return fmt.Sprintf("%d objects and %d keys", len(objs), len(s.Indexer.ListKeys()))
		}
		t.Did("Replace with 1001 objects, then with 1002; ByIndex and ListKeys in the middle")
		require.NoError(t, s.Indexer.Replace(many(1_001), "3"), "the error of the 3rd Replace")
		before = count()
		m.skip, m.once = 500, true
		inside, later := m.during(func() {
			require.NoError(t, s.Indexer.Replace(many(1_002), "4"), "the error of the 4th Replace")
		}, count)
		for _, saw := range inside {
			require.Equal(t, before, saw, "ByIndex and ListKeys in the middle of Replace")
		}
		for _, saw := range later {
			require.Equal(t, "1002 objects and 1002 keys", saw, "ByIndex and ListKeys, which waited for Replace")
		}
	})
}

func TestTask4_AddIndexers_finds_what_is_stored_already(t *testing.T) {
	guard.Test(t, "AddIndexers adds indexes, which find the objects that are stored already: AddIndexers works "+
		"at any time, since 0.30 even while the informer runs.", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web", "nginx"), deploy("default/db", "postgres"), deploy("", "nginx"))
		require.NoError(t, s.AddIndexers(byImage()), "the error of AddIndexers")
		s.requireRunning("nginx", "", "default/web")
		t.Rule("After AddIndexers, Update, Add and Delete change the new index like any other.")
		s.Update(deploy("default/web", "caddy"))
		s.Add(deploy("default/cdn", "caddy"))
		s.requireRunning("caddy", "default/cdn", "default/web")
		s.requireRunning("nginx", "")
		s.Delete(deploy("default/cdn", "caddy"))
		s.requireRunning("caddy", "default/web")
		t.Rule("The map of index functions belongs to the caller: if the caller changes it after AddIndexers, the " +
			"store does not change.")
		more := cache.Indexers{"more": images}
		require.NoError(t, s.AddIndexers(more), "the error of AddIndexers")
		require.Equal(t, []string{"more"}, sortedKeys(more), "names in the caller's map after AddIndexers")
		t.Did("put another index function into the caller's map")
		more["more"] = func(any) ([]string, error) { return nil, nil }
		s.Add(deploy("default/api", "envoy"))
		keys, err := s.IndexKeys("more", "envoy")
		require.NoError(t, err, "the error of IndexKeys more=envoy")
		require.Equal(t, []string{"default/api"}, keys, "keys under more=envoy")
		t.Rule("Replace rebuilds every index, also one that was added later.")
		require.NoError(t, s.Replace([]any{deploy("default/new", "nginx", "envoy")}, "9"), "the error of Replace")
		s.requireRunning("nginx", "default/new")
		s.requireRunning("caddy")
		t.Rule("AddIndexers adds indexes, which find the objects that are stored already: those of a list too.")
		late := cache.Indexers{"late": images, "later": images}
		require.NoError(t, s.AddIndexers(late), "the error of AddIndexers after Replace")
		for _, at := range []string{"late nginx", "late envoy", "later nginx", "later envoy"} {
			name, value, _ := strings.Cut(at, " ")
			require.Equal(t, "default/new", both(s.IndexKeys(name, value)), "keys under "+name+"="+value)
		}
		t.Rule("LastStoreSyncResourceVersion returns the store's version, that of the last write, Replace or Bookmark.")
		require.Equal(t, "9", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after AddIndexers")
		t.Rule("If one of the names is taken, AddIndexers returns an error. No name is not a name that is taken.")
		for _, none := range []cache.Indexers{nil, {}} {
			require.NoError(t, s.AddIndexers(none), "the error of AddIndexers without an index")
			s.requireRunning("nginx", "default/new")
		}
	})
}

func TestTask4_AddIndexers_refuses_a_name_that_is_taken(t *testing.T) {
	const (
		refuses = "If one of the names is taken, AddIndexers returns an error: otherwise two owners read one " +
			"index."
		untouched = "If one of the names is taken, the index that has this name does not change."
		addsNone  = "If one of the names is taken, AddIndexers adds none of them."
		asksNone  = "If one of the names is taken, AddIndexers calls no index function: it looks at all names first."
	)
	guard.Test(t, refuses, func(t *guard.T) {
		nothing := func(any) ([]string, error) { return nil, nil }
		// The order of the names is that of a map, for some maps one in eight. 200 rounds see both orders.
		for i := range 200 {
			t.Story(8)
			s := newStore(t, byImage(), deploy("default/web", "nginx"))
			t.Rule(refuses)
			image := []cache.IndexFunc{nothing, images}[i%2] // the same function under the same name is refused too
			if i%4 > 1 {
				s.Delete(deploy("default/web")) // a store without objects refuses the name too
			}
			asked := 0
			counted := func(any) ([]string, error) { asked++; return nil, nil }
			err := s.AddIndexers(cache.Indexers{"image": image, "new": counted})
			require.Error(t, err, "the error of AddIndexers")
			t.Rule(untouched)
			s.Update(deploy("default/web", "nginx"))
			s.requireRunning("nginx", "default/web")
			t.Rule(addsNone)
			t.Did("GetIndexers")
			require.Equal(t, []string{"image"}, sortedKeys(s.GetIndexers()), "names of the indexes")
			t.Did("ByIndex new=x")
			_, err = s.ByIndex("new", "x")
			require.Error(t, err, "the error of ByIndex new=x")
			t.Rule(asksNone)
			require.Equal(t, 0, asked, "calls of the index function of new by AddIndexers")
			t.Rule(addsNone)
			require.NoError(t, s.AddIndexers(cache.Indexers{"new": counted}), "the error of AddIndexers new")
			t.Rule(refuses)
			require.Error(t, s.AddIndexers(cache.Indexers{"new": counted}), "the error of the 2nd AddIndexers new")
		}
	})
}

func TestTask4_GetIndexers_names_them_all(t *testing.T) {
	guard.Test(t, "GetIndexers returns the index functions by the names of their indexes: those of the constructor "+
		"and those that were added.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web")) // is under no value of image
		more := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		require.NoError(t, s.AddIndexers(more), "the error of AddIndexers")
		t.Rule("Readers do not wait for each other: GetIndexers is a reader too.")
		requireShared(t, lookups4[0])
		t.Rule("GetIndexers returns the index functions by the names of their indexes: those of the constructor and " +
			"those that were added.")
		none := indexer.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
		require.Empty(t, sortedKeys(none.GetIndexers()), "names of the indexes of a store that has none")
		t.Did("GetIndexers")
		indexers := s.GetIndexers()
		require.Equal(t, []string{"image", "namespace"}, sortedKeys(indexers), "names that GetIndexers returns")
		values, err := indexers["image"](deploy("default/web", "nginx"))
		require.NoError(t, err, `the error of the index function "image"`)
		require.Equal(t, []string{"nginx"}, values, `values that the index function "image" returns`)
	})
}

func TestTask4_GetIndexers_returns_a_copy(t *testing.T) {
	guard.Race(t, "The map that GetIndexers returns belongs to the caller: if the store returns its own map, "+
		"the caller can change it without the lock.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		t.Did("GetIndexers of a store without indexes, and add one to the map that it returned")
		none := newStore(t, nil)
		none.GetIndexers()["more"] = images
		require.Empty(t, sortedKeys(none.GetIndexers()), "names of the indexes of this store")
		t.Did("GetIndexers, twice, and change the map that it returned: remove image, add more")
		for range 2 { // two callers must not receive the same copy
			indexers := s.GetIndexers()
			clear(indexers)
			indexers["more"] = images
		}
		t.Did("GetIndexers")
		require.Equal(t, []string{"image"}, sortedKeys(s.GetIndexers()), "names of the indexes")
		s.requireRunning("nginx", "default/web")
		t.Rule("Any goroutine may call any method: GetIndexers reads what AddIndexers writes, so both take the lock.")
		t.Did("AddIndexers, against GetIndexers, each in a goroutine of its own")
		for range 5 { // on a busy machine one storm misses the race once in thirty times
			fresh := newThreadSafe(byImage())
			guard.Storm(func(i int) { fresh.AddIndexers(cache.Indexers{fmt.Sprint(i % 200): images}) },
				func(i int) { clear(fresh.GetIndexers()) })
		}
	})
}

func TestTask4_Lock_covers_Replace_and_AddIndexers(t *testing.T) {
	guard.Race(t, "Replace and AddIndexers are writers, so no reader runs while they hold "+
		"the lock.", func(t *guard.T) {
		s, empty := newThreadSafe(byImage()), newThreadSafe(byImage())
		list := func(i int) { s.List() }
		ask := func(i int) { s.ByIndex("image", "nginx") }
		t.Did("Replace and Update, against List and ByIndex, each in a goroutine of its own")
		guard.Storm(func(i int) { s.Replace(map[string]any{"default/a": deploy("default/a", "nginx")}, "2") },
			func(i int) { s.Update("default/b", deploy("default/b", "nginx")) }, list, ask)
		t.Did("AddIndexers, against List and ByIndex, each in a goroutine of its own")
		guard.Storm(func(i int) { empty.AddIndexers(cache.Indexers{fmt.Sprint(i): images}) },
			func(i int) { empty.List() }, func(i int) { empty.ByIndex("image", "nginx") })
		t.Did("AddIndexers, against Update, DeleteWithObject and Replace, each in a goroutine of its own")
		web, fresh := deploy("default/web", "nginx"), newThreadSafe(byImage())
		guard.Storm(func(i int) { fresh.AddIndexers(cache.Indexers{fmt.Sprint(i % 50): images}) },
			func(i int) { fresh.Update("default/web", web) },
			func(i int) { fresh.DeleteWithObject("default/web", web) },
			func(i int) { fresh.Replace(map[string]any{"default/web": web}, "2") })
		t.Rule("If one of the names is taken, AddIndexers returns an error: of two calls that add one name, one fails.")
		requireNoneBetween(t, writes4[2], writes4[2])
		t.Rule("Concurrent calls have the same effect as if one came after the other: an index that is added before a " +
			"write takes part in it.")
		requireNoneBetween(t, firstUpdate, writes4[2])
		requireNoneBetween(t, firstDelete, writes4[2])
		t.Rule("For readers Replace is one step: the list, the indexes and the version change in one hold of the lock.")
		for _, second := range slices.Concat(writes2, writes4[1:]) {
			requireNoneBetween(t, firstReplace, second)
		}
	})
}
