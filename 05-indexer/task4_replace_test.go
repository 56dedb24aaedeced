package indexer_test

// Task 4: the whole content at once, and indexes that come late.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Replace_forgets_what_is_not_in_the_list(t *testing.T) {
	guard.Test(t, "Replace makes the list the whole content of the store: an object "+
		"that the list lacks was deleted.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/old", "nginx"))
		require.NoError(t, s.Replace([]any{deploy("default/new", "caddy")}, "9"), "the error of Replace")
		require.Equal(t, []string{"default/new"}, s.ListKeys(), "ListKeys after Replace")
		t.Rule("Replace rebuilds every index from the list alone, so that no value of the old content is left.")
		s.requireRunning("nginx")
		s.requireRunning("caddy", "default/new")
		s.requireValues("after Replace", "caddy")
	})
}

func TestTask4_Replace_rebuilds_every_index(t *testing.T) {
	guard.Test(t, "Replace rebuilds every index from the list.", func(t *guard.T) {
		s := newStore(t, cache.Indexers{"image": images, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			deploy("default/web", "nginx"), deploy("default/db", "postgres"))
		list := []any{deploy("default/web", "caddy"), deploy("shop/web", "nginx")}
		require.NoError(t, s.Replace(list, "9"), "the error of Replace")
		s.requireRunning("caddy", "default/web")
		s.requireRunning("nginx", "shop/web")
		t.Did("IndexKeys namespace=default")
		keys, err := s.IndexKeys(cache.NamespaceIndex, "default")
		require.NoError(t, err, "the error of IndexKeys")
		require.Equal(t, []string{"default/web"}, keys, "keys under namespace=default")
	})
}

func TestTask4_Replace_sets_the_version(t *testing.T) {
	guard.Test(t, "Replace sets the store's version to that of the list, which is at least that of every object in "+
		"it. An empty list has a version, too.", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web", "@5"))
		list := []any{deploy("default/web", "@7"), deploy("default/db", "@3")}
		require.NoError(t, s.Replace(list, "9"), "the error of Replace")
		require.Equal(t, "9", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after Replace")
		require.NoError(t, s.Replace(nil, "11"), "the error of Replace with an empty list")
		require.Equal(t, "11", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after the 2nd Replace")
		t.Rule("Replace makes the list the whole content of the store: an empty list empties it.")
		require.Empty(t, s.ListKeys(), "ListKeys after Replace with an empty list")
	})
}

func TestTask4_Replace_with_an_object_without_a_key_changes_nothing(t *testing.T) {
	guard.Test(t, "If one object has no key, Replace returns a "+
		"cache.KeyError, which names the object.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "@5"))
		err := s.Replace([]any{deploy("default/db", "postgres"), "no metadata"}, "9")
		require.ErrorAs(t, err, &cache.KeyError{}, "the error of Replace")
		t.Rule("Replace is all or nothing: it finds every key before it changes anything.")
		require.Equal(t, []string{"default/web"}, s.ListKeys(), "ListKeys after the failed Replace")
		s.requireRunning("nginx", "default/web")
		require.Equal(t, "5", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after the failed Replace")
	})
}

func TestTask4_Replace_keeps_the_later_of_two(t *testing.T) {
	guard.Test(t, "Of two objects with the same key the later one stays, as with two Adds.", func(t *guard.T) {
		s := newStore(t, byImage())
		list := []any{deploy("default/web", "nginx", "@1"), deploy("default/web", "caddy", "@2")}
		require.NoError(t, s.Replace(list, "9"), "the error of Replace")
		require.Equal(t, "@2", versions(s.List()), "versions of the stored objects")
		t.Rule("An index names exactly the objects that the store has: the earlier of the two is in none.")
		s.requireValues("after Replace", "caddy")
	})
}

func TestTask4_Replace_that_fails_leaves_no_ghost(t *testing.T) {
	const (
		mustPanic = "If an index function fails, Replace panics, as Update does: an index without the entry would be " +
			"wrong, and nothing would report it."
		noGhost = "Even if an index function fails, no index names a key that the store lacks: a lookup that finds " +
			"the key of default/old returns a nil. Empty all indexes before you fill the first, or build new ones " +
			"aside."
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
			for _, name := range []string{"image", "failing"} {
				t.Did("ByIndex %s=nginx", name)
				objs, err := s.ByIndex(name, "nginx")
				require.NoError(t, err, "the error of ByIndex "+name+"=nginx")
				require.NotContains(t, objs, nil, "objects under "+name+"=nginx after the failed Replace")
			}
			t.Rule("A call that panics releases the lock.")
			s.Update(deploy("default/web", "nginx")) // hangs if the panic kept the lock
		}
	})
}

func TestTask4_Replace_happens_at_once(t *testing.T) {
	guard.Test(t, "For readers Replace happens at once: it swaps the objects and rebuilds the indexes under one hold "+
		"of the lock. A reader waits for all of it, or sees the old list.", func(t *guard.T) {
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
		m.read = read
		t.Did("ByIndex and ListKeys, in the middle of the next call")
		require.NoError(t, s.Replace(list("2"), "2"), "the error of the 2nd Replace")
		m.late.Wait()
		for _, saw := range m.saw {
			require.Equal(t, before, saw, "ByIndex and ListKeys in the middle of Replace")
		}
	})
}

func TestTask4_Objects_and_indexes_are_replaced_together(t *testing.T) {
	guard.Race(t, "Replace swaps the objects and rebuilds the indexes under one hold of the lock: a reader finds one "+
		"list or the other, whole. An index of one list over the objects of "+
		"the other names keys that are not there.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		lists := []string{"default/a1 default/b1", "default/a2 default/b2"}
		t.Did("Replace %s, all running nginx, with %s, and back, many times, and ask for nginx", lists[0], lists[1])
		replace := func(i int) {
			items := map[string]any{}
			for key := range strings.FieldsSeq(lists[i%2]) {
				items[key] = deploy(key, "nginx")
			}
			s.Replace(items, "9")
		}
		ask := func(int) {
			objs, _ := s.ByIndex("image", "nginx")
			if found := strings.Join(keysOf(objs), " "); !slices.Contains(lists, found) {
				require.Equal(t, strings.Join(lists, ", or "), found, "keys under image=nginx")
			}
		}
		for range 10 {
			guard.Storm(replace, ask, ask)
		}
	})
}

func TestTask4_Index_that_comes_during_a_Replace_stays(t *testing.T) {
	guard.Test(t, "An index that was added during a Replace finds the replaced objects: if Replace builds its "+
		"indexes before it takes the lock, it loses an index that comes meanwhile.", func(t *guard.T) {
		m := &midway{}
		s := newStore(t, cache.Indexers{"image": m.index}, deploy("default/old", "nginx"))
		m.read = func() string {
			return both(sortedKeys(s.Indexer.GetIndexers()), s.Indexer.AddIndexers(cache.Indexers{"late": images}))
		}
		t.Did("AddIndexers late, in the middle of the next call")
		require.NoError(t, s.Replace([]any{deploy("default/web", "nginx")}, "9"), "the error of Replace")
		m.late.Wait()
		t.Did("IndexKeys late=nginx")
		keys, err := s.IndexKeys("late", "nginx")
		require.NoError(t, err, "the error of IndexKeys late=nginx")
		require.Equal(t, []string{"default/web"}, keys, "keys under late=nginx")
	})
}

func TestTask4_AddIndexers_finds_what_is_stored_already(t *testing.T) {
	guard.Test(t, "An index that comes late finds the objects that are stored already: AddIndexers works at any "+
		"time, since 0.30 even while the informer runs.", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web", "nginx"), deploy("default/db", "postgres"))
		require.NoError(t, s.AddIndexers(byImage()), "the error of AddIndexers")
		s.requireRunning("nginx", "default/web")
		t.Rule("After AddIndexers, Update and Add keep the new index right, like any other.")
		s.Update(deploy("default/web", "caddy"))
		s.Add(deploy("default/cdn", "caddy"))
		s.requireRunning("caddy", "default/cdn", "default/web")
		s.requireRunning("nginx")
		t.Rule("Replace rebuilds every index, and one that came late, too.")
		require.NoError(t, s.Replace([]any{deploy("default/new", "nginx")}, "9"), "the error of Replace")
		s.requireRunning("nginx", "default/new")
		s.requireRunning("caddy")
	})
}

func TestTask4_AddIndexers_refuses_a_name_that_is_taken(t *testing.T) {
	const (
		refuses = "If one of the names is taken, AddIndexers returns an error: two owners would read each other's " +
			"index."
		untouched = "If one of the names is taken, the index that had it first stays as it was."
		addsNone  = "If one of the names is taken, AddIndexers adds none of them."
	)
	guard.Test(t, refuses, func(t *guard.T) {
		nothing := func(any) ([]string, error) { return nil, nil }
		// The order of the names is that of a map, for some maps one in eight. 200 rounds see both orders.
		for range 200 {
			t.Story(8)
			s := newStore(t, byImage(), deploy("default/web", "nginx"))
			t.Rule(refuses)
			err := s.AddIndexers(cache.Indexers{"image": nothing, "new": nothing})
			require.Error(t, err, "the error of AddIndexers")
			t.Rule(untouched)
			s.requireRunning("nginx", "default/web")
			t.Rule(addsNone)
			t.Did("GetIndexers")
			require.Equal(t, []string{"image"}, sortedKeys(s.GetIndexers()), "names of the indexes")
			t.Did("ByIndex new=x")
			_, err = s.ByIndex("new", "x")
			require.Error(t, err, "the error of ByIndex new=x")
		}
	})
}

func TestTask4_AddIndexers_that_fails_panics(t *testing.T) {
	guard.Test(t, "If an index function fails for a stored object, AddIndexers panics, as Update does: an index "+
		"without the entry would be wrong, and nothing would report it.", func(t *guard.T) {
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

func TestTask4_GetIndexers_names_them_all(t *testing.T) {
	guard.Test(t, "GetIndexers returns the index functions by the names of their indexes: those from the start and "+
		"those that were added.", func(t *guard.T) {
		s := newStore(t, byImage())
		more := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		require.NoError(t, s.AddIndexers(more), "the error of AddIndexers")
		t.Did("GetIndexers")
		indexers := s.GetIndexers()
		require.Equal(t, []string{"image", "namespace"}, sortedKeys(indexers), "names that GetIndexers returns")
		values, err := indexers["image"](deploy("default/web", "nginx"))
		require.NoError(t, err, `the error of the index function "image"`)
		require.Equal(t, []string{"nginx"}, values, `values that the index function "image" returns`)
	})
}

func TestTask4_Lock_covers_Replace_and_AddIndexers(t *testing.T) {
	guard.Race(t, "Writers hold the lock for themselves, and Replace and AddIndexers "+
		"are writers like any other.", func(t *guard.T) {
		s, empty := newThreadSafe(byImage()), newThreadSafe(byImage())
		list := func(i int) { s.List() }
		ask := func(i int) { s.ByIndex("image", "nginx") }
		t.Did("Replace and Update, against List and ByIndex, each in a goroutine of its own")
		guard.Storm(func(i int) { s.Replace(map[string]any{"default/a": deploy("default/a", "nginx")}, "2") },
			func(i int) { s.Update("default/b", deploy("default/b", "nginx")) }, list, ask)
		t.Did("AddIndexers, against List and ByIndex, each in a goroutine of its own")
		guard.Storm(func(i int) { empty.AddIndexers(cache.Indexers{fmt.Sprint(i): images}) },
			func(i int) { empty.List() }, func(i int) { empty.ByIndex("image", "nginx") })
	})
}
