package indexer_test

// Task 3: objects with several values, none, or the same one twice.

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Each_value_finds_the_object(t *testing.T) {
	guard.Test(t, "An object is found under each of its values.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "envoy"))
		s.requireRunning("nginx", "default/web")
		s.requireRunning("envoy", "default/web")
		s.Delete(deploy("default/web"))
		t.Rule("An object that is deleted leaves each of its values, and a value that no object has is forgotten.")
		s.requireValues("after Delete")
	})
}

func TestTask3_One_value_to_many_keeps_the_shared_one(t *testing.T) {
	guard.Test(t, "nginx is an old value and a new one, so it must stay: client-go removed it and did not put it "+
		"back (#109115).", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		s.Update(deploy("default/web", "nginx", "envoy"))
		s.requireRunning("nginx", "default/web")
		t.Rule("envoy is a new value, so it must come.")
		s.requireRunning("envoy", "default/web")
	})
}

func TestTask3_Many_values_to_one_keeps_the_shared_one(t *testing.T) {
	guard.Test(t, "envoy is an old value and a new one, so it must stay.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "envoy"))
		s.Update(deploy("default/web", "envoy"))
		s.requireRunning("envoy", "default/web")
		t.Rule("nginx is an old value only, so it must go.")
		s.requireRunning("nginx")
	})
}

func TestTask3_Values_may_change_in_part(t *testing.T) {
	guard.Test(t, "Old values go, new ones come and shared ones stay, in any "+
		"order that the index function returns.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "a", "b", "c"))
		s.Update(deploy("default/web", "c", "d", "b"))
		s.requireValues("after Update", "b", "c", "d")
	})
}

func TestTask3_No_value_at_all(t *testing.T) {
	guard.Test(t, "An object without values is in no set of the index.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/empty"))
		s.requireValues("after Add")
		t.Rule("An object without values is in the store like any other.")
		require.Equal(t, []string{"default/empty"}, s.ListKeys(), "ListKeys")
		t.Rule("Values can come with an update.")
		s.Update(deploy("default/empty", "nginx"))
		s.requireRunning("nginx", "default/empty")
		t.Rule("Values can go with an update.")
		s.Update(deploy("default/empty"))
		s.requireValues("after the 2nd Update")
		t.Rule("No object shares a value with an example that has none.")
		s.requireLike(deploy("example/none"))
	})
}

func TestTask3_Same_value_twice_counts_once(t *testing.T) {
	guard.Test(t, "An index holds sets of keys: an object that has a value "+
		"twice is found under it once.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "nginx"))
		s.requireRunning("nginx", "default/web")
		s.Update(deploy("default/web", "nginx"))
		t.Rule("An index names exactly the objects that have the value now: one container still runs nginx.")
		s.requireRunning("nginx", "default/web")
		s.Update(deploy("default/web", "caddy"))
		t.Rule("A value that no object has any more is forgotten: an index that counts containers keeps nginx here.")
		s.requireValues("after the 2nd Update", "caddy")
	})
}

func TestTask3_Index_returns_each_object_once(t *testing.T) {
	guard.Test(t, "Index returns the objects that share at least one indexed value with the example, each once: "+
		"default/both shares two and is still one object.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/both", "nginx", "envoy"),
			deploy("default/one", "envoy"), deploy("default/other", "postgres"))
		s.requireLike(deploy("example/x", "nginx", "envoy"), "default/both", "default/one")
		t.Rule("Only default/both runs nginx: an earlier call of Index leaves nothing in the answer.")
		s.requireLike(deploy("example/x", "nginx"), "default/both")
	})
}

func TestTask3_Index_leaves_the_tables_alone(t *testing.T) {
	guard.Test(t, "Index only reads: to join two sets, it joins them in a third.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"), deploy("default/proxy", "envoy"))
		s.like(deploy("example/x", "nginx", "envoy"))
		objs, _ := s.Index("image", deploy("example/x", "nginx"))
		clear(objs) // the slice is the caller's
		s.requireRunning("nginx", "default/web")
		s.requireRunning("envoy", "default/proxy")
		s.like(deploy("example/x", "redis", "mysql"))
		t.Rule("A lookup of a value does not create it.")
		s.requireValues("after the lookups", "envoy", "nginx")
	})
}

func TestTask3_Index_of_a_bad_example_is_an_error(t *testing.T) {
	guard.Test(t, "An unknown index is an error, in Index as in ByIndex.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		t.Did("Index imgae, then Index image with a string as the example")
		_, err := s.Index("imgae", deploy("default/web", "nginx"))
		require.Error(t, err, "the error of Index imgae")
		t.Rule("An index function that fails for the example is an error. It is no reason to panic, because nothing " +
			"is stored.")
		_, err = s.Index("image", "not a Deployment")
		require.Error(t, err, "the error of Index image, like a string")
		t.Rule("A lookup that fails releases the lock.")
		s.Add(deploy("default/db", "postgres")) // hangs if one of the calls above kept the lock
		s.requireRunning("postgres", "default/db")
	})
}

func TestTask3_Index_waits_or_sees_what_was_before(t *testing.T) {
	guard.Test(t, "No reader meets half a change: Index holds the lock over the tables and the map. A reader that "+
		"does not wait for the writer must see the state before the change.", func(t *guard.T) {
		one, two := &midway{}, &midway{}
		s := newStore(t, cache.Indexers{"one": one.index, "two": two.index}, deploy("default/a", "nginx", "@1"))
		example := deploy("example/x", "nginx", "envoy")
		read := func() string {
			return "one: " + both(s.Index("one", example)) + "; two: " + both(s.Index("two", example))
		}
		before := read()
		one.read, two.read = read, read
		t.Did("Index, like %s, in the middle of the next call", describe(example))
		s.Update(deploy("default/a", "caddy", "@2"))
		one.late.Wait()
		two.late.Wait()
		for _, saw := range append(one.saw, two.saw...) {
			require.Equal(t, before, saw, "Index in the middle of Update")
		}
	})
}

func TestTask3_Index_looks_everything_up_at_once(t *testing.T) {
	guard.Race(t, "Index looks up all values under one hold of the lock: default/a runs nginx or envoy at every "+
		"moment. If Index releases the lock between two values, it finds the "+
		"object under neither, or under both.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		versions := []any{deploy("default/a", "nginx"), deploy("default/a", "envoy")}
		s.Update("default/a", versions[0])
		example := deploy("example/x", "nginx", "envoy")
		t.Did("move default/a between nginx and envoy many times, and ask for both with Index")
		for range 20 {
			guard.Storm(func(i int) { s.Update("default/a", versions[i%2]) }, func(i int) {
				objs, _ := s.Index("image", example)
				require.Equal(t, []string{"default/a"}, keysOf(objs), "keys of Index, like "+describe(example))
			})
		}
	})
}

func TestTask3_Lock_covers_Index(t *testing.T) {
	guard.Race(t, "Index reads the tables and the map, so it holds the lock over both: at every moment that a reader "+
		"can see, each key in an index is a key of the store.", func(t *guard.T) {
		s := newThreadSafe(byImage())
		example := deploy("example/x", "nginx", "envoy")
		t.Did("Update and Delete, against Index, each in a goroutine of its own")
		guard.Storm(
			func(i int) { s.Update("default/a", deploy("default/a", "nginx", "envoy")) },
			func(i int) { s.Update("default/a", deploy("default/a", "envoy")) },
			func(i int) { s.Delete("default/a") },
			func(i int) {
				objs, _ := s.Index("image", example)
				require.NotContains(t, objs, nil, "objects that Index returns")
			},
		)
	})
}
