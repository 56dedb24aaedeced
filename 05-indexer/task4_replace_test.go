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
	guard.Test(t, func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/old", "nginx"))
		require.NoError(t, s.Replace([]any{deploy("default/new", "caddy")}, "9"))
		require.Equal(t, []string{"default/new"}, s.ListKeys(), "the list is the truth: what it lacks was deleted while nobody watched")
		require.Equal(t, []string{}, s.running("nginx"), "the indexes are rebuilt from the list alone")
		require.Equal(t, []string{"default/new"}, s.running("caddy"), "what is in the list is indexed")
		require.Equal(t, []string{"caddy"}, s.ListIndexFuncValues("image"), "no value of the old content is left")
	})
}

func TestTask4_Replace_rebuilds_every_index(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s := newStore(t, cache.Indexers{"image": images, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			deploy("default/web", "nginx"), deploy("default/db", "postgres"))
		require.NoError(t, s.Replace([]any{deploy("default/web", "caddy"), deploy("shop/web", "nginx")}, "9"))
		require.Equal(t, []string{"default/web"}, s.running("caddy"), "default/web is in the list with a new image")
		require.Equal(t, []string{"shop/web"}, s.running("nginx"), "only shop/web runs nginx now")
		t.Did("IndexKeys namespace=default")
		keys, err := s.IndexKeys(cache.NamespaceIndex, "default")
		require.NoError(t, err, "the store was made with this index")
		require.Equal(t, []string{"default/web"}, keys, "the second index is rebuilt like the first")
	})
}

func TestTask4_Replace_sets_the_version(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web", "@5"))
		require.NoError(t, s.Replace([]any{deploy("default/web", "@7"), deploy("default/db", "@3")}, "9"))
		require.Equal(t, "9", s.LastStoreSyncResourceVersion(), "a list has a version of its own, newer than or equal to that of every object in it")
		require.NoError(t, s.Replace(nil, "11"))
		require.Equal(t, "11", s.LastStoreSyncResourceVersion(), "an empty list has a version as well")
		require.Empty(t, s.ListKeys(), "an empty list empties the store")
	})
}

func TestTask4_Replace_with_an_object_without_a_key_changes_nothing(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "@5"))
		err := s.Replace([]any{deploy("default/db", "postgres"), "no metadata"}, "9")
		require.ErrorAs(t, err, &cache.KeyError{}, "the caller must learn which object it was")
		require.Equal(t, []string{"default/web"}, s.ListKeys(), "all or nothing: find every key before you change anything")
		require.Equal(t, []string{"default/web"}, s.running("nginx"), "all or nothing")
		require.Equal(t, "5", s.LastStoreSyncResourceVersion(), "all or nothing")
	})
}

func TestTask4_Replace_keeps_the_later_of_two(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s := newStore(t, byImage())
		require.NoError(t, s.Replace([]any{deploy("default/web", "nginx", "@1"), deploy("default/web", "caddy", "@2")}, "9"))
		require.Equal(t, "@2", versions(s.List()), "one key, one object: whoever calls Replace may name one twice, and as with two Adds the later one stays")
		require.Equal(t, []string{"caddy"}, s.ListIndexFuncValues("image"), "the earlier one is in no index")
	})
}

func TestTask4_Replace_that_fails_leaves_no_ghost(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		broken := deploy("default/broken", "caddy")
		failing := func(obj any) ([]string, error) {
			if obj == any(broken) {
				return nil, errors.New("cannot tell")
			}
			return images(obj)
		}
		// Which of the two indexes comes first is a map's choice, one time in eight for some, so do it often enough.
		for range 200 {
			t.Story(8)
			s := newStore(t, cache.Indexers{"image": images, "failing": failing}, deploy("default/old", "nginx"))
			t.Did("Replace with default/broken, whose index function returns an error")
			require.Panics(t, func() { s.Indexer.Replace([]any{broken}, "9") }, "Replace is as strict as Update: an index that lacks an entry is wrong, and nobody hears of it")
			for _, name := range []string{"image", "failing"} {
				t.Did("ByIndex %s=nginx", name)
				objs, err := s.ByIndex(name, "nginx")
				require.NoError(t, err, "the store was made with this index")
				require.NotContains(t, objs, nil, "a nil is what an index finds if it names a key that the store lacks. default/old is gone, so no index may name it: empty all of them before you fill the first, or build new ones aside")
			}
			s.Update(deploy("default/web", "nginx")) // hangs if the panic kept the lock
		}
	})
}

func TestTask4_Replace_happens_at_once(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
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
		require.NoError(t, s.Replace(list("1"), "1"))
		read := func() string {
			objs, _ := s.Indexer.ByIndex("image", "nginx")
			return versions(objs) + " and " + strings.Join(sorted(s.Indexer.ListKeys()), " ")
		}
		before := read()
		m.read = read
		t.Did("ByIndex and ListKeys, in the middle of the next call")
		require.NoError(t, s.Replace(list("2"), "2"))
		m.late.Wait()
		for _, saw := range m.saw {
			require.Equal(t, before, saw, "Replace swaps the objects and rebuilds the indexes under one hold of the lock: a reader waits for all of it, or sees the old list")
		}
	})
}

func TestTask4_Objects_and_indexes_are_replaced_together(t *testing.T) {
	guard.Race(t, "Replace swaps the objects and rebuilds the indexes under one hold of the lock: who gives it back in between lets readers in", func(t *guard.T) {
		s := newThreadSafe(byImage())
		lists := []string{"default/a1 default/b1", "default/a2 default/b2"}
		t.Did("Replace %s, all running nginx, with %s, and back, many times, and ask who runs nginx", lists[0], lists[1])
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
				require.Equal(t, strings.Join(lists, ", or "), found, "a reader finds one list or the other, whole; an index of one over the objects of the other names what is not there")
			}
		}
		for range 10 {
			guard.Storm(replace, ask, ask)
		}
	})
}

func TestTask4_Index_that_comes_during_a_Replace_stays(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		m := &midway{}
		s := newStore(t, cache.Indexers{"image": m.index}, deploy("default/old", "nginx"))
		m.read = func() string {
			return both(sortedKeys(s.Indexer.GetIndexers()), s.Indexer.AddIndexers(cache.Indexers{"late": images}))
		}
		t.Did("AddIndexers late, in the middle of the next call")
		require.NoError(t, s.Replace([]any{deploy("default/web", "nginx")}, "9"))
		m.late.Wait()
		t.Did("IndexKeys late=nginx")
		keys, err := s.IndexKeys("late", "nginx")
		require.NoError(t, err, "AddIndexers returned no error, so the index is there: a Replace that builds its indexes before it takes the lock forgets those that were added meanwhile")
		require.Equal(t, []string{"default/web"}, keys, "an index that was added during a Replace knows what was replaced")
	})
}

func TestTask4_AddIndexers_finds_what_is_stored_already(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web", "nginx"), deploy("default/db", "postgres"))
		require.NoError(t, s.AddIndexers(byImage()), "a store may get an index at any time, since 0.30 even while its informer runs")
		require.Equal(t, []string{"default/web"}, s.running("nginx"), "an index that comes late must be filled with what is there")
		s.Update(deploy("default/web", "caddy"))
		s.Add(deploy("default/cdn", "caddy"))
		require.Equal(t, []string{"default/cdn", "default/web"}, s.running("caddy"), "from then on it follows like any other")
		require.Equal(t, []string{}, s.running("nginx"), "from then on it follows like any other")
		require.NoError(t, s.Replace([]any{deploy("default/new", "nginx")}, "9"))
		require.Equal(t, []string{"default/new"}, s.running("nginx"), "a relist rebuilds it like any other")
		require.Equal(t, []string{}, s.running("caddy"), "a relist rebuilds it like any other")
	})
}

func TestTask4_AddIndexers_refuses_a_name_that_is_taken(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		nothing := func(any) ([]string, error) { return nil, nil }
		// Which of the names comes first is a map's choice, one time in eight for some, so do it often enough to see both.
		for range 200 {
			t.Story(8)
			s := newStore(t, byImage(), deploy("default/web", "nginx"))
			require.Error(t, s.AddIndexers(cache.Indexers{"image": nothing, "new": nothing}), "two owners of one name would read each other's index")
			require.Equal(t, []string{"default/web"}, s.running("nginx"), "the index that had the name first is untouched")
			t.Did("GetIndexers")
			require.Equal(t, []string{"image"}, sortedKeys(s.GetIndexers()), "all or nothing: the caller who got an error has added no index")
			t.Did("ByIndex new=x")
			_, err := s.ByIndex("new", "x")
			require.Error(t, err, "all or nothing: the caller who got an error has added no index")
		}
	})
}

func TestTask4_AddIndexers_that_fails_panics(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		broken := deploy("default/broken", "nginx")
		failing := func(obj any) ([]string, error) {
			if obj == any(broken) {
				return nil, errors.New("cannot tell")
			}
			return images(obj)
		}
		s := newStore(t, byImage(), deploy("default/web", "nginx"), broken)
		t.Did("AddIndexers failing, which returns an error for default/broken")
		require.Panics(t, func() { s.Indexer.AddIndexers(cache.Indexers{"failing": failing}) }, "AddIndexers is as strict as Update: an index that lacks an entry is wrong, and nobody hears of it")
		s.Add(deploy("default/db", "nginx")) // hangs if the panic kept the lock
		require.Equal(t, []string{"default/broken", "default/db", "default/web"}, s.running("nginx"), "the other index goes on as before")
	})
}

func TestTask4_GetIndexers_names_them_all(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s := newStore(t, byImage())
		require.NoError(t, s.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
		t.Did("GetIndexers")
		indexers := s.GetIndexers()
		require.Equal(t, []string{"image", "namespace"}, sortedKeys(indexers), "those from the start and those that were added")
		values, err := indexers["image"](deploy("default/web", "nginx"))
		require.NoError(t, err)
		require.Equal(t, []string{"nginx"}, values, "each under its own name")
	})
}

func TestTask4_Lock_covers_Replace_and_AddIndexers(t *testing.T) {
	guard.Race(t, "Replace and AddIndexers change what every reader reads, so they are writers like any other", func(t *guard.T) {
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
