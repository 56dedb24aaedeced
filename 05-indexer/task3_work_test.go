package indexer_test

// Task 3: the table after changes of other objects, and lookups of several values at once.

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

func TestTask3_Other_objects_keep_their_values(t *testing.T) {
	guard.Test(t, "Under each value, an index names exactly the objects that have it now: a change of one object "+
		"leaves the others under their values.", func(t *guard.T) {
		lists := [][]string{{}, {"nginx"}, {"nginx", "nginx"}, {"nginx", "envoy", "nginx"}, {"envoy", "nginx", "nginx"},
			{"a", "b"}, {"a\x00b"}}
		for _, before := range lists {
			for _, after := range lists {
				t.Story(5)
				s := newStore(t, byImage(), deploy("default/other", "nginx"), deploy("default/web", before...))
				s.Update(deploy("default/web", after...))
				keys := []string{"default/other"}
				if slices.Contains(after, "nginx") {
					keys = append(keys, "default/web")
				}
				s.requireRunning("nginx", keys...)
				s.requireValues("after Update", slices.Compact(sorted(append([]string{"nginx"}, after...)))...)
				s.Delete(deploy("default/web"))
				s.requireRunning("nginx", "default/other")
				s.requireValues("after Delete", "nginx")
			}
		}
	})
}

func TestTask3_Table_may_shrink(t *testing.T) {
	guard.Test(t, "Under each value, an index names exactly the objects that have it now, also if the table and the "+
		"store had 2000 more entries before.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		t.Did("Update default/web running nginx, nothing with nil, and 2000 keys of an image each; Delete the 2000 keys")
		s.Update("default/web", deploy("default/web", "nginx"))
		s.Update("nothing", nil)
		for i := range 2_000 {
			s.Update(fmt.Sprintf("default/web-%d", i), deploy("default/web", fmt.Sprintf("image-%d", i)))
		}
		for i := range 2_000 {
			s.Delete(fmt.Sprintf("default/web-%d", i))
		}
		require.Equal(t, []string{"nginx"}, s.ListIndexFuncValues("image"), "values of the index")
		require.Equal(t, "default/web", both(s.IndexKeys("image", "nginx")), "keys under nginx")
		require.Equal(t, []string{"default/web", "nothing"}, sorted(s.ListKeys()), "ListKeys, sorted")
	})
}

func TestTask3_Objects_may_be_of_any_type(t *testing.T) {
	guard.Test(t, "Under each value, an index names exactly the objects that have it now, of whatever type they are, "+
		"even if they cannot be compared.", func(t *guard.T) {
		s := newThreadSafe(cache.Indexers{"value": func(obj any) ([]string, error) { return obj.([]string), nil }})
		for _, values := range [][]string{{"a"}, {"a"}, {"b", "c"}, {"b", "c"}} {
			t.Did("Update plain with a slice of the values %v", values)
			s.Update("plain", values)
			require.Equal(t, values, sorted(s.ListIndexFuncValues("value")), "values of the index")
		}
	})
}

func TestTask3_Index_leaves_nothing_behind(t *testing.T) {
	guard.Test(t, "A value that no object has takes no memory, even if Index has looked for it.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		var values []weak.Pointer[byte]
		var objs []weak.Pointer[appsv1.Deployment]
		t.Did("Index, like 100 examples whose values no object has")
		elsewhere(func() {
			for i := range 100 {
				image, watched := text(fmt.Sprintf("nginx:%d", i))
				example := deploy("example/x", image)
				s.Index("image", example)
				s.Index("image", deploy("example/x", image, "none"))
				values, objs = append(values, watched), append(objs, weak.Make(example))
			}
		})
		require.Equal(t, "0 of 100 still in memory", stillHeld(values), "values of the examples")
		require.Equal(t, "0 of 100 still in memory", stillHeld(objs), "examples")

		t.Rule("An object that has left the store can be freed, even if Index has found it.")
		objs = nil
		t.Did("Update 100 keys of objects that run caddy; Index; Delete all keys")
		elsewhere(func() {
			for i := range 100 {
				obj := deploy("default/web", "caddy")
				s.Update(fmt.Sprintf("default/web-%d", i), obj)
				objs = append(objs, weak.Make(obj))
			}
			for range 3 {
				s.Index("image", deploy("example/x", "caddy"))
				s.Index("image", deploy("example/x", "caddy", "envoy"))
			}
			for _, key := range s.ListKeys() {
				s.Delete(key)
			}
		})
		require.Equal(t, "0 of 100 still in memory", stillHeld(objs), "objects that left the store")
		runtime.KeepAlive(s)
	})
}

func TestTask3_Readers_only_read(t *testing.T) {
	guard.Race(t, "Any goroutine may call any method: readers share the lock, so none of them writes to a map, and each "+
		"collects its keys in a set of its own.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		for _, image := range []string{"nginx", "envoy", "caddy", "redis"} {
			s.Update("default/"+image, deploy("default/"+image, image))
		}
		t.Did("Index, in several goroutines: like examples whose values some objects have, and like others")
		find := func(images ...string) func(int) {
			example := deploy("example/x", images...)
			var wanted []string
			for _, image := range images {
				if image != "missing" {
					wanted = append(wanted, "default/"+image+" running "+image)
				}
			}
			slices.Sort(wanted)
			return func(i int) {
				for range 10 {
					s.Index("image", deploy("example/x", "missing"))
					s.Index("image", deploy("example/x", "missing", "nothing"))
				}
				objs, _ := s.Index("image", example)
				found := []string{}
				for _, obj := range objs {
					found = append(found, describe(obj))
				}
				require.Equal(t, wanted, sorted(found), "objects of Index, like "+describe(example))
			}
		}
		guard.Storm(find("nginx", "envoy"), find("caddy", "redis"), find("nginx", "missing"), find("envoy"),
			find("caddy", "nginx"), find("redis", "missing"))
	})
}
