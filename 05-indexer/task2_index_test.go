package indexer_test

// Task 2: one index, with one value per object.

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_ByIndex_finds_by_value(t *testing.T) {
	guard.Test(t, "two Deployments run nginx, in two namespaces", func(t *guard.T) {
		web := deploy("default/web", "nginx")
		s := newStore(t, byImage(), web, deploy("default/db", "postgres"), deploy("shop/web", "nginx"))
		require.Equal(t, []string{"default/web", "shop/web"}, s.running("nginx"))
		t.Rule("one Deployment runs postgres")
		require.Equal(t, []string{"default/db"}, s.running("postgres"))
		t.Rule("a value that no object has finds nothing, and is no error")
		require.Equal(t, []string{}, s.running("redis"))

		objs, _ := s.ByIndex("image", "nginx")
		t.Rule("ByIndex returns the stored objects themselves")
		require.Contains(t, objs, any(web))
	})
}

func TestTask2_Update_moves_the_entry(t *testing.T) {
	guard.Test(t, "an object is found under the value it has now", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		s.Update(deploy("default/web", "caddy"))
		require.Equal(t, []string{"default/web"}, s.running("caddy"))
		t.Rule("an object is not found under a value it used to have: Update must ask the index function about " +
			"the old object too")
		require.Equal(t, []string{}, s.running("nginx"))
	})
}

func TestTask2_Update_in_place_serves_the_new_object(t *testing.T) {
	guard.Test(t, "the entry did not move, the object is new all the same: an index that remembers objects "+
		"instead of keys serves old ones", func(t *guard.T) {
		newer := deploy("default/web", "nginx", "@2")
		s := newStore(t, byImage(), deploy("default/web", "nginx", "@1"))
		s.Update(newer)
		objs, err := s.ByIndex("image", "nginx")
		require.NoError(t, err)
		require.Equal(t, "@2", versions(objs))
	})
}

func TestTask2_Delete_takes_the_entry_out(t *testing.T) {
	guard.Test(t, "the entry to take out is that of the stored object; the one passed to Delete may have other "+
		"values", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"), deploy("shop/web", "nginx"))
		s.Delete(deploy("default/web")) // only the key is right: the event of a deletion need not look like the stored object
		require.Equal(t, []string{"shop/web"}, s.running("nginx"))
	})
}

func TestTask2_Value_that_nobody_has_is_forgotten(t *testing.T) {
	guard.Test(t, "one object, one value", func(t *guard.T) {
		rule := "a value that no object has any more goes, and its set with it: a cluster that makes namespaces by the thousand filled the memory of its controllers (#84959)"
		s := newStore(t, byImage(), deploy("default/web", "nginx:1"))
		require.Equal(t, []string{"nginx:1"}, s.ListIndexFuncValues("image"))
		s.Update(deploy("default/web", "nginx:2"))
		t.Rule("%s", rule)
		require.Equal(t, []string{"nginx:2"}, s.ListIndexFuncValues("image"))
		s.Delete(deploy("default/web"))
		require.Empty(t, s.ListIndexFuncValues("image"))
	})
}

func TestTask2_IndexKeys_is_sorted(t *testing.T) {
	guard.Test(t, "the store was made with this index", func(t *guard.T) {
		s := newStore(t, byImage())
		for _, name := range []string{"g", "c", "f", "a", "e", "b", "d"} {
			s.Add(deploy("default/"+name, "nginx"))
		}
		t.Did("IndexKeys image=nginx")
		keys, err := s.IndexKeys("image", "nginx")
		require.NoError(t, err)
		t.Rule("the order of a Go map changes from call to call, and IndexKeys promises a sorted result")
		require.Equal(t, []string{"default/a", "default/b", "default/c", "default/d", "default/e", "default/f", "default/g"}, keys)
	})
}

func TestTask2_Indexes_do_not_mix(t *testing.T) {
	guard.Test(t, "web runs nginx; the Deployment that is called nginx runs something else", func(t *guard.T) {
		byName := func(obj any) ([]string, error) { return []string{obj.(*appsv1.Deployment).Name}, nil }
		s := newStore(t, cache.Indexers{"image": images, "name": byName}, deploy("default/nginx", "caddy"), deploy("default/web", "nginx"))
		require.Equal(t, []string{"default/web"}, s.running("nginx"))
		t.Did("IndexKeys name=nginx")
		keys, err := s.IndexKeys("name", "nginx")
		t.Rule("the store was made with this index")
		require.NoError(t, err)
		t.Rule("each index has a table of its own")
		require.Equal(t, []string{"default/nginx"}, keys)
		require.ElementsMatch(t, []string{"nginx", "web"}, s.ListIndexFuncValues("name"))
	})
}

func TestTask2_Unknown_index_is_an_error(t *testing.T) {
	guard.Test(t, `an empty answer would read as "no object has this value", and a controller would believe it`, func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		t.Did("ask the index \"imgae\"")
		_, err := s.ByIndex("imgae", "nginx")
		require.Error(t, err)
		_, err = s.IndexKeys("imgae", "nginx")
		require.Error(t, err)
		t.Rule("ListIndexFuncValues has no error to return, so it lists nothing")
		require.Empty(t, s.ListIndexFuncValues("imgae"))

		s.Add(deploy("default/db", "postgres")) // hangs if one of the calls above kept the lock
		t.Rule("a question that went wrong must leave the lock free")
		require.Equal(t, []string{"default/db"}, s.running("postgres"))
	})
}

func TestTask2_Results_belong_to_the_caller(t *testing.T) {
	guard.Test(t, "a caller may sort, filter and overwrite the slice it got; the store must not notice", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/a", "nginx"), deploy("default/b", "nginx"))
		t.Did("ask for nginx in three ways, and overwrite what comes back")
		objs, _ := s.ByIndex("image", "nginx")
		clear(objs)
		keys, _ := s.IndexKeys("image", "nginx")
		clear(keys)
		clear(s.ListIndexFuncValues("image"))

		require.Equal(t, []string{"default/a", "default/b"}, s.running("nginx"))
		keys, _ = s.IndexKeys("image", "nginx")
		require.Equal(t, []string{"default/a", "default/b"}, keys)
		require.Equal(t, []string{"nginx"}, s.ListIndexFuncValues("image"))
	})
}

func TestTask2_Failing_index_function_leaves_no_ghost(t *testing.T) {
	guard.Test(t, `the index "image" is there`, func(t *guard.T) {
		broken := deploy("default/broken", "nginx")
		failing := func(obj any) ([]string, error) {
			if obj == any(broken) {
				return nil, errors.New("cannot tell")
			}
			return images(obj)
		}
		// Which of the two indexes comes first is a map's choice, one time in eight for some, so do it often enough.
		for range 200 {
			t.Story(8)
			t.Did("two indexes: image is a good one, failing returns an error for default/broken")
			s := newStore(t, cache.Indexers{"image": images, "failing": failing})
			noGhost := func(rule string) {
				t.Did("ByIndex image=nginx")
				objs, err := s.ByIndex("image", "nginx")
				require.NoError(t, err)
				t.Rule("%s", "a nil is what an index finds if it names a key that the store lacks, and every lister that met one crashed (#43605): "+rule)
				require.NotContains(t, objs, nil)
			}
			rule := "an index that goes on without an entry is wrong from then on and nobody hears of it; client-go panics, so that the bug is found where it is (#50555)"
			t.Did("Add default/broken running nginx, which panics")
			t.Rule("%s", rule)
			require.Panics(t, func() { s.Indexer.Add(broken) })
			noGhost("an object goes into the map before it goes into any index")
			t.Did("Delete default/broken, panicking or not")
			func() {
				defer func() { recover() }()
				s.Indexer.Delete(broken)
			}()
			noGhost("an object leaves every index before it leaves the map")
			s.Add(deploy("default/web", "caddy")) // hangs if the panic kept the lock
		}
	})
}

func TestTask2_Readers_wait_or_see_what_was_before(t *testing.T) {
	for name, read := range map[string]func(s cache.Indexer) string{
		"Get":      func(s cache.Indexer) string { obj, _, _ := s.GetByKey("default/a"); return describe(obj) },
		"List":     func(s cache.Indexer) string { return describe(s.List()...) },
		"ListKeys": func(s cache.Indexer) string { return strings.Join(s.ListKeys(), " ") },
		"ByIndex":  func(s cache.Indexer) string { return both(s.ByIndex("one", "nginx")) + both(s.ByIndex("two", "nginx")) },
		"IndexKeys": func(s cache.Indexer) string {
			return both(s.IndexKeys("one", "nginx")) + both(s.IndexKeys("two", "nginx"))
		},
		"ListIndexFuncValues": func(s cache.Indexer) string {
			return both(s.ListIndexFuncValues("one"), nil) + both(s.ListIndexFuncValues("two"), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "one hold of the lock covers the map and all indexes: who does not wait for the writer must see "+
				"nothing of what it has done so far", func(t *guard.T) {
				one, two := &midway{}, &midway{}
				s := newStore(t, cache.Indexers{"one": one.index, "two": two.index}, deploy("default/a", "nginx", "@1"))
				for _, write := range []func(){
					func() { s.Update(deploy("default/a", "nginx", "envoy", "@2")) },
					func() { s.Delete(deploy("default/a", "@3")) },
				} {
					before := read(s.Indexer)
					one.read, two.read = func() string { return read(s.Indexer) }, func() string { return read(s.Indexer) }
					t.Did("%s, in the middle of the next call", name)
					write()
					one.read, two.read = nil, nil
					one.late.Wait()
					two.late.Wait()
					for _, saw := range append(one.saw, two.saw...) {
						require.Equal(t, before, saw)
					}
					one.saw, two.saw = nil, nil
				}
			})
		})
	}
}

func TestTask2_Lock_covers_the_indexes(t *testing.T) {
	guard.Race(t, "an index is read under the same lock that writers hold; ListIndexFuncValues once forgot it (#25141)", func(t *guard.T) {
		s := newThreadSafe(byImage())
		one, two := deploy("default/a", "nginx"), deploy("default/a", "caddy")
		t.Did("Update and DeleteWithObject, against ByIndex, IndexKeys and ListIndexFuncValues, each in a goroutine of its own")
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
	guard.Race(t, "the object and its index entries change under one hold of the lock: who gives it back in between lets readers in", func(t *guard.T) {
		s := newThreadSafe(byImage())
		versions := []any{deploy("default/a", "nginx"), deploy("default/a", "caddy")}
		t.Did("move default/a between nginx and caddy many times, while others read it, and ask who runs nginx")
		ask := func(i int) {
			objs, _ := s.ByIndex("image", "nginx")
			for _, obj := range objs {
				t.Rule("what ByIndex finds under nginx must run nginx: the object and its entries change under one " +
					"hold of the lock")
				require.Equal(t, "default/a running nginx", describe(obj))
			}
		}
		for range 10 {
			guard.Storm(func(i int) { s.Update("default/a", versions[i%2]) }, func(i int) { s.Get("default/a") }, ask)
		}
	})
}

// both is for answers that come with an error: it makes one text of the two.
func both[V any](found []V, err error) string {
	return fmt.Sprintf("%s %v\n", describe(anys(found)...), err)
}

func anys[V any](in []V) (out []any) {
	for _, v := range in {
		out = append(out, v)
	}
	return out
}

func versions(objs []any) (all string) {
	for _, obj := range objs {
		d, there := obj.(*appsv1.Deployment)
		if !there { // an index has named a key that the store lacks
			all += fmt.Sprintf("@%v", obj)
			continue
		}
		all += "@" + d.ResourceVersion
	}
	return all
}
