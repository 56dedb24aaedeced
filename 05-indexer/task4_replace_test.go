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
	guard.Test(t, "the list is the truth: what it lacks was deleted while nobody watched", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/old", "nginx"))
		require.NoError(t, s.Replace([]any{deploy("default/new", "caddy")}, "9"))
		require.Equal(t, []string{"default/new"}, s.ListKeys())
		t.Rule("the indexes are rebuilt from the list alone")
		require.Equal(t, []string{}, s.running("nginx"))
		t.Rule("what is in the list is indexed")
		require.Equal(t, []string{"default/new"}, s.running("caddy"))
		t.Rule("no value of the old content is left")
		require.Equal(t, []string{"caddy"}, s.ListIndexFuncValues("image"))
	})
}

func TestTask4_Replace_rebuilds_every_index(t *testing.T) {
	guard.Test(t, "default/web is in the list with a new image", func(t *guard.T) {
		s := newStore(t, cache.Indexers{"image": images, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			deploy("default/web", "nginx"), deploy("default/db", "postgres"))
		require.NoError(t, s.Replace([]any{deploy("default/web", "caddy"), deploy("shop/web", "nginx")}, "9"))
		require.Equal(t, []string{"default/web"}, s.running("caddy"))
		t.Rule("only shop/web runs nginx now")
		require.Equal(t, []string{"shop/web"}, s.running("nginx"))
		t.Did("IndexKeys namespace=default")
		keys, err := s.IndexKeys(cache.NamespaceIndex, "default")
		t.Rule("the store was made with this index")
		require.NoError(t, err)
		t.Rule("the second index is rebuilt like the first")
		require.Equal(t, []string{"default/web"}, keys)
	})
}

func TestTask4_Replace_sets_the_version(t *testing.T) {
	guard.Test(t, "a list has a version of its own, newer than or equal to that of every object in it", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web", "@5"))
		require.NoError(t, s.Replace([]any{deploy("default/web", "@7"), deploy("default/db", "@3")}, "9"))
		require.Equal(t, "9", s.LastStoreSyncResourceVersion())
		require.NoError(t, s.Replace(nil, "11"))
		t.Rule("an empty list has a version as well")
		require.Equal(t, "11", s.LastStoreSyncResourceVersion())
		t.Rule("an empty list empties the store")
		require.Empty(t, s.ListKeys())
	})
}

func TestTask4_Replace_with_an_object_without_a_key_changes_nothing(t *testing.T) {
	guard.Test(t, "the caller must learn which object it was", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "@5"))
		err := s.Replace([]any{deploy("default/db", "postgres"), "no metadata"}, "9")
		require.ErrorAs(t, err, &cache.KeyError{})
		t.Rule("all or nothing: find every key before you change anything")
		require.Equal(t, []string{"default/web"}, s.ListKeys())
		t.Rule("all or nothing")
		require.Equal(t, []string{"default/web"}, s.running("nginx"))
		require.Equal(t, "5", s.LastStoreSyncResourceVersion())
	})
}

func TestTask4_Replace_keeps_the_later_of_two(t *testing.T) {
	guard.Test(t, "one key, one object: whoever calls Replace may name one twice, and as with two Adds the later "+
		"one stays", func(t *guard.T) {
		s := newStore(t, byImage())
		require.NoError(t, s.Replace([]any{deploy("default/web", "nginx", "@1"), deploy("default/web", "caddy", "@2")}, "9"))
		require.Equal(t, "@2", versions(s.List()))
		t.Rule("the earlier one is in no index")
		require.Equal(t, []string{"caddy"}, s.ListIndexFuncValues("image"))
	})
}

func TestTask4_Replace_that_fails_leaves_no_ghost(t *testing.T) {
	guard.Test(t, "Replace is as strict as Update: an index that lacks an entry is wrong, and nobody hears of it", func(t *guard.T) {
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
			require.Panics(t, func() { s.Indexer.Replace([]any{broken}, "9") })
			for _, name := range []string{"image", "failing"} {
				t.Did("ByIndex %s=nginx", name)
				objs, err := s.ByIndex(name, "nginx")
				t.Rule("the store was made with this index")
				require.NoError(t, err)
				t.Rule("a nil is what an index finds if it names a key that the store lacks. default/old is gone, so " +
					"no index may name it: empty all of them before you fill the first, or build new ones aside")
				require.NotContains(t, objs, nil)
			}
			s.Update(deploy("default/web", "nginx")) // hangs if the panic kept the lock
		}
	})
}

func TestTask4_Replace_happens_at_once(t *testing.T) {
	guard.Test(t, "Replace swaps the objects and rebuilds the indexes under one hold of the lock: a reader waits "+
		"for all of it, or sees the old list", func(t *guard.T) {
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
			require.Equal(t, before, saw)
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
				t.Rule("a reader finds one list or the other, whole; an index of one over the objects of the other " +
					"names what is not there")
				require.Equal(t, strings.Join(lists, ", or "), found)
			}
		}
		for range 10 {
			guard.Storm(replace, ask, ask)
		}
	})
}

func TestTask4_Index_that_comes_during_a_Replace_stays(t *testing.T) {
	guard.Test(t, "AddIndexers returned no error, so the index is there: a Replace that builds its indexes before "+
		"it takes the lock forgets those that were added meanwhile", func(t *guard.T) {
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
		require.NoError(t, err)
		t.Rule("an index that was added during a Replace knows what was replaced")
		require.Equal(t, []string{"default/web"}, keys)
	})
}

func TestTask4_AddIndexers_finds_what_is_stored_already(t *testing.T) {
	guard.Test(t, "a store may get an index at any time, since 0.30 even while its informer runs", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web", "nginx"), deploy("default/db", "postgres"))
		require.NoError(t, s.AddIndexers(byImage()))
		t.Rule("an index that comes late must be filled with what is there")
		require.Equal(t, []string{"default/web"}, s.running("nginx"))
		s.Update(deploy("default/web", "caddy"))
		s.Add(deploy("default/cdn", "caddy"))
		t.Rule("from then on it follows like any other")
		require.Equal(t, []string{"default/cdn", "default/web"}, s.running("caddy"))
		require.Equal(t, []string{}, s.running("nginx"))
		require.NoError(t, s.Replace([]any{deploy("default/new", "nginx")}, "9"))
		t.Rule("a relist rebuilds it like any other")
		require.Equal(t, []string{"default/new"}, s.running("nginx"))
		require.Equal(t, []string{}, s.running("caddy"))
	})
}

func TestTask4_AddIndexers_refuses_a_name_that_is_taken(t *testing.T) {
	guard.Test(t, "two owners of one name would read each other's index", func(t *guard.T) {
		nothing := func(any) ([]string, error) { return nil, nil }
		// Which of the names comes first is a map's choice, one time in eight for some, so do it often enough to see both.
		for range 200 {
			t.Story(8)
			s := newStore(t, byImage(), deploy("default/web", "nginx"))
			require.Error(t, s.AddIndexers(cache.Indexers{"image": nothing, "new": nothing}))
			t.Rule("the index that had the name first is untouched")
			require.Equal(t, []string{"default/web"}, s.running("nginx"))
			t.Did("GetIndexers")
			t.Rule("all or nothing: the caller who got an error has added no index")
			require.Equal(t, []string{"image"}, sortedKeys(s.GetIndexers()))
			t.Did("ByIndex new=x")
			_, err := s.ByIndex("new", "x")
			require.Error(t, err)
		}
	})
}

func TestTask4_AddIndexers_that_fails_panics(t *testing.T) {
	guard.Test(t, "AddIndexers is as strict as Update: an index that lacks an entry is wrong, and nobody hears of "+
		"it", func(t *guard.T) {
		broken := deploy("default/broken", "nginx")
		failing := func(obj any) ([]string, error) {
			if obj == any(broken) {
				return nil, errors.New("cannot tell")
			}
			return images(obj)
		}
		s := newStore(t, byImage(), deploy("default/web", "nginx"), broken)
		t.Did("AddIndexers failing, which returns an error for default/broken")
		require.Panics(t, func() { s.Indexer.AddIndexers(cache.Indexers{"failing": failing}) })
		s.Add(deploy("default/db", "nginx")) // hangs if the panic kept the lock
		t.Rule("the other index goes on as before")
		require.Equal(t, []string{"default/broken", "default/db", "default/web"}, s.running("nginx"))
	})
}

func TestTask4_GetIndexers_names_them_all(t *testing.T) {
	guard.Test(t, "those from the start and those that were added", func(t *guard.T) {
		s := newStore(t, byImage())
		require.NoError(t, s.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
		t.Did("GetIndexers")
		indexers := s.GetIndexers()
		require.Equal(t, []string{"image", "namespace"}, sortedKeys(indexers))
		values, err := indexers["image"](deploy("default/web", "nginx"))
		require.NoError(t, err)
		t.Rule("each under its own name")
		require.Equal(t, []string{"nginx"}, values)
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
