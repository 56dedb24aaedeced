package indexer_test

// Task 3: objects with several values, none, or the same one twice.

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Each_value_finds_the_object(t *testing.T) {
	guard.Test(t, "an object stands under every one of its values", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "envoy"))
		require.Equal(t, []string{"default/web"}, s.running("nginx"))
		require.Equal(t, []string{"default/web"}, s.running("envoy"))
		s.Delete(deploy("default/web"))
		t.Rule("and leaves every one of them when it is deleted")
		require.Empty(t, s.ListIndexFuncValues("image"))
	})
}

func TestTask3_One_value_to_many_keeps_the_shared_one(t *testing.T) {
	guard.Test(t, "nginx is an old value and a new one, so it must stay; client-go took it out and did not put it "+
		"back (#109115)", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		s.Update(deploy("default/web", "nginx", "envoy"))
		require.Equal(t, []string{"default/web"}, s.running("nginx"))
		t.Rule("the sidecar is new")
		require.Equal(t, []string{"default/web"}, s.running("envoy"))
	})
}

func TestTask3_Many_values_to_one_keeps_the_shared_one(t *testing.T) {
	guard.Test(t, "envoy is an old value and a new one, so it must stay", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "envoy"))
		s.Update(deploy("default/web", "envoy"))
		require.Equal(t, []string{"default/web"}, s.running("envoy"))
		t.Rule("nginx is an old value only")
		require.Equal(t, []string{}, s.running("nginx"))
	})
}

func TestTask3_Values_may_change_in_part(t *testing.T) {
	guard.Test(t, "old values go, new ones come, shared ones stay, in whatever order the index function names them", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "a", "b", "c"))
		s.Update(deploy("default/web", "c", "d", "b"))
		require.ElementsMatch(t, []string{"b", "c", "d"}, s.ListIndexFuncValues("image"))
	})
}

func TestTask3_No_value_at_all(t *testing.T) {
	guard.Test(t, "an object without values stands nowhere in the index", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/empty"))
		require.Empty(t, s.ListIndexFuncValues("image"))
		t.Rule("and is in the store like any other")
		require.Equal(t, []string{"default/empty"}, s.ListKeys())
		s.Update(deploy("default/empty", "nginx"))
		t.Rule("values may come later")
		require.Equal(t, []string{"default/empty"}, s.running("nginx"))
		s.Update(deploy("default/empty"))
		t.Rule("and go again")
		require.Empty(t, s.ListIndexFuncValues("image"))
		t.Rule("nothing is shared with an example that has no value")
		require.Equal(t, []string{}, s.like(deploy("example/none")))
	})
}

func TestTask3_Same_value_twice_counts_once(t *testing.T) {
	guard.Test(t, "two containers run nginx, in one object", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "nginx"))
		require.Equal(t, []string{"default/web"}, s.running("nginx"))
		s.Update(deploy("default/web", "nginx"))
		t.Rule("one container still does")
		require.Equal(t, []string{"default/web"}, s.running("nginx"))
		s.Update(deploy("default/web", "caddy"))
		t.Rule("an index that counts containers is off by one from here on")
		require.Equal(t, []string{"caddy"}, s.ListIndexFuncValues("image"))
	})
}

func TestTask3_Index_returns_each_object_once(t *testing.T) {
	guard.Test(t, "Index finds all that share a value with the example; default/both shares two and is still one "+
		"object", func(t *guard.T) {
		s := newStore(t, byImage(),
			deploy("default/both", "nginx", "envoy"), deploy("default/one", "envoy"), deploy("default/other", "postgres"))
		require.Equal(t, []string{"default/both", "default/one"}, s.like(deploy("example/x", "nginx", "envoy")))
		t.Rule("only default/both runs nginx; what another question has found is no part of the answer")
		require.Equal(t, []string{"default/both"}, s.like(deploy("example/x", "nginx")))
	})
}

func TestTask3_Index_leaves_the_tables_alone(t *testing.T) {
	guard.Test(t, "a question changes nothing: to join two sets, join them in a third", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"), deploy("default/proxy", "envoy"))
		s.like(deploy("example/x", "nginx", "envoy"))
		objs, _ := s.Index("image", deploy("example/x", "nginx"))
		clear(objs) // the slice is the caller's
		require.Equal(t, []string{"default/web"}, s.running("nginx"))
		require.Equal(t, []string{"default/proxy"}, s.running("envoy"))
		s.like(deploy("example/x", "redis", "mysql"))
		t.Rule("asking for a value must not create it")
		require.ElementsMatch(t, []string{"nginx", "envoy"}, s.ListIndexFuncValues("image"))
	})
}

func TestTask3_Index_of_a_bad_example_is_an_error(t *testing.T) {
	guard.Test(t, "an unknown index is an error, in Index as in ByIndex", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		t.Did("Index imgae, then Index image with a string as the example")
		_, err := s.Index("imgae", deploy("default/web", "nginx"))
		require.Error(t, err)
		_, err = s.Index("image", "not a Deployment")
		t.Rule("the index function cannot say what to look for; here nothing is stored, so an error is enough " +
			"and a panic too much")
		require.Error(t, err)
		s.Add(deploy("default/db", "postgres")) // hangs if one of the calls above kept the lock
		t.Rule("a question that went wrong must leave the lock free")
		require.Equal(t, []string{"default/db"}, s.running("postgres"))
	})
}

func TestTask3_Index_waits_or_sees_what_was_before(t *testing.T) {
	guard.Test(t, "Index reads the tables and the map, so it holds the lock over both: who does not wait for the "+
		"writer must see nothing of what it has done so far", func(t *guard.T) {
		one, two := &midway{}, &midway{}
		s := newStore(t, cache.Indexers{"one": one.index, "two": two.index}, deploy("default/a", "nginx", "@1"))
		example := deploy("example/x", "nginx", "envoy")
		read := func() string { return both(s.Index("one", example)) + both(s.Index("two", example)) }
		before := read()
		one.read, two.read = read, read
		t.Did("Index, like %s, in the middle of the next call", describe(example))
		s.Update(deploy("default/a", "caddy", "@2"))
		one.late.Wait()
		two.late.Wait()
		for _, saw := range append(one.saw, two.saw...) {
			require.Equal(t, before, saw)
		}
	})
}

func TestTask3_Index_looks_everything_up_at_once(t *testing.T) {
	guard.Race(t, "Index looks up all values under one hold of the lock: an object that moves from one to the other meanwhile is in exactly one of them", func(t *guard.T) {
		s := newThreadSafe(byImage())
		versions := []any{deploy("default/a", "nginx"), deploy("default/a", "envoy")}
		s.Update("default/a", versions[0])
		example := deploy("example/x", "nginx", "envoy")
		t.Did("move default/a between nginx and envoy many times, and ask for both with Index")
		for range 20 {
			guard.Storm(func(i int) { s.Update("default/a", versions[i%2]) }, func(i int) {
				objs, _ := s.Index("image", example)
				t.Rule("default/a runs nginx or envoy at every moment; who gives the lock back between two values " +
					"finds it in none of them, or in both")
				require.Len(t, objs, 1)
			})
		}
	})
}

func TestTask3_Lock_covers_Index(t *testing.T) {
	guard.Race(t, "Index reads the tables and the map, so it holds the lock over both", func(t *guard.T) {
		s := newThreadSafe(byImage())
		example := deploy("example/x", "nginx", "envoy")
		t.Did("Update and Delete, against Index, each in a goroutine of its own")
		guard.Storm(
			func(i int) { s.Update("default/a", deploy("default/a", "nginx", "envoy")) },
			func(i int) { s.Update("default/a", deploy("default/a", "envoy")) },
			func(i int) { s.Delete("default/a") },
			func(i int) {
				objs, _ := s.Index("image", example)
				t.Rule("a key in the index is a key in the store, at every moment that a reader can see")
				require.NotContains(t, objs, nil)
			},
		)
	})
}
