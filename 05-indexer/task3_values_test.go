package indexer_test

// Task 3: objects with several values, none, or the same one twice.

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/guardpage"
)

func TestTask3_Each_value_finds_the_object(t *testing.T) {
	guard.Test(t, "An object is found under each of its values.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "envoy"))
		s.requireRunning("nginx", "default/web")
		s.requireRunning("envoy", "default/web")
		s.Delete(deploy("default/web"))
		t.Rule("An object that is deleted leaves each of its values, and a value that no object has leaves the index.")
		s.requireValues("after Delete")
	})
}

func TestTask3_One_value_to_many_keeps_the_shared_one(t *testing.T) {
	guard.Test(t, "nginx is an old value and a new one, so it must stay: client-go removed it and did not put it "+
		"back (#109115).", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		s.Update(deploy("default/web", "nginx", "envoy"))
		s.requireRunning("nginx", "default/web")
		t.Rule("envoy is a new value, so it must be added.")
		s.requireRunning("envoy", "default/web")
	})
}

func TestTask3_Many_values_to_one_keeps_the_shared_one(t *testing.T) {
	guard.Test(t, "envoy is an old value and a new one, so it must stay.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "envoy"))
		s.Update(deploy("default/web", "envoy"))
		s.requireRunning("envoy", "default/web")
		t.Rule("nginx is only an old value, so it must go.")
		s.requireRunning("nginx")
	})
}

func TestTask3_Values_may_change_in_part(t *testing.T) {
	guard.Test(t, "Old values go, new ones are added and shared ones stay, in "+
		"whatever order the index function returns them.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "a", "b", "c"))
		s.Update(deploy("default/web", "c", "d", "b"))
		s.requireValues("after Update", "b", "c", "d")
		s.Update(deploy("default/web", "c", "a", "b")) // the first and the last stay
		s.requireValues("after the 2nd Update", "a", "b", "c")
		many := make([]string, 1_001)
		for i := range many {
			many[i] = fmt.Sprintf("%04d", i)
		}
		for range 2 {
			t.Did("Update default/web running 1001 images")
			s.Indexer.Update(deploy("default/web", many...))
			require.Len(t, s.ListIndexFuncValues("image"), 1_001, "values of the index")
			slices.Reverse(many)
		}
	})
}

func TestTask3_Replaced_object_may_change(t *testing.T) {
	guard.Test(t, "Under each value, an index names exactly the objects that have it now. An object that an Update has "+
		"replaced is not in the store, so its owner may change it, and values that are a part of it.", func(t *guard.T) {
		finalizers := func(obj any) ([]string, error) { return obj.(*appsv1.Deployment).Finalizers, nil }
		old, same, other := deploy("default/web"), deploy("default/web"), deploy("default/web")
		old.Finalizers, same.Finalizers, other.Finalizers = []string{"a", "b"}, []string{"a", "b"}, []string{"c"}
		s := newStore(t, cache.Indexers{"finalizer": finalizers}, old)
		s.Update(same)
		t.Did("change the finalizers of the first object from a and b to x and y")
		copy(old.Finalizers, []string{"x", "y"})
		s.Update(other)
		require.Equal(t, []string{"c"}, sorted(s.ListIndexFuncValues("finalizer")), "values of the index")
	})
}

func TestTask3_Any_two_lists_of_values(t *testing.T) {
	guard.Test(t, "Under each value, an index names exactly the objects that have it now, whatever values the object "+
		"had before.", func(t *guard.T) {
		lists := [][]string{{}}
		for i := 0; len(lists[i]) < 3; i++ { // all lists of up to three of these values
			for _, value := range []string{"a", "b", ""} {
				lists = append(lists, append(slices.Clone(lists[i]), value))
			}
		}
		lists = append(lists, []string{"a,b"}, []string{"a b"}, []string{"a/b"}, []string{"A"}, []string{" a "})
		none := func(any) ([]string, error) { return nil, nil }
		for _, before := range lists {
			for _, after := range lists {
				t.Story(5)
				t.Did("three indexes: image, and two whose values do not change")
				indexers := cache.Indexers{"image": images, "none": none, "namespace": cache.MetaNamespaceIndexFunc}
				s := newStore(t, indexers, deploy("default/web", before...))
				s.Update(deploy("default/web", after...))
				s.requireValues("after Update", slices.Compact(sorted(after))...)
				for _, value := range after {
					s.requireRunning(value, "default/web")
				}
				s.Delete(deploy("default/web"))
				s.requireValues("after Delete")
			}
		}
	})
}

func TestTask3_No_value_at_all(t *testing.T) {
	guard.Test(t, "An object without values is in no set of the index.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/empty"))
		s.requireValues("after Add")
		t.Rule("An object without values is in the store like any other.")
		require.Equal(t, []string{"default/empty"}, s.ListKeys(), "ListKeys")
		t.Rule("The empty string is a value like any other.")
		s.Add(deploy("default/blank", ""))
		s.requireRunning("", "default/blank")
		s.requireLike(deploy("example/x", "nginx", ""), "default/blank")
		s.requireValues("after Add of an object with the value \"\"", "")
		t.Rule("No object shares a value with an example that has none.")
		s.requireLike(deploy("example/none"))
		s.Delete(deploy("default/blank"))
		t.Rule("Values can come with an update.")
		s.Update(deploy("default/empty", "nginx"))
		s.requireRunning("nginx", "default/empty")
		t.Rule("Values can go with an update.")
		s.Update(deploy("default/empty"))
		s.requireValues("after the 2nd Update")
	})
}

func TestTask3_Same_value_twice_counts_once(t *testing.T) {
	guard.Test(t, "An object that has a value twice is found "+
		"under it once.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx", "nginx"))
		s.requireRunning("nginx", "default/web")
		s.Update(deploy("default/web", "nginx"))
		t.Rule("Under each value, an index names exactly the objects that have it now: one container still runs nginx.")
		s.requireRunning("nginx", "default/web")
		s.Update(deploy("default/web", "caddy"))
		t.Rule("A value that no object has leaves the index: an index that counts containers keeps nginx here.")
		s.requireValues("after the 2nd Update", "caddy")
	})
}

func TestTask3_Index_returns_each_object_once(t *testing.T) {
	guard.Test(t, "Index returns the objects that share at least one indexed value with the example, each once: "+
		"default/both shares two and is still one object.", func(t *guard.T) {
		two := deploy("default/both", "nginx", "envoy")
		s := newStore(t, byImage(), two,
			deploy("default/one", "envoy"), deploy("default/other", "postgres"))
		s.requireLike(deploy("example/x", "nginx", "envoy"), "default/both", "default/one")
		s.requireLike(deploy("example/x", "nginx", "envoy", "nginx"), "default/both", "default/one")
		s.requireLike(deploy("example/x", "envoy", "envoy"), "default/both", "default/one")
		s.requireLike(deploy("example/x", "nginx", "postgres", "envoy"), "default/both", "default/one", "default/other")
		t.Rule("Only default/both runs nginx: the answer has nothing from an earlier call of Index.")
		s.requireLike(deploy("example/x", "nginx"), "default/both")
		t.Rule("Index returns the objects that share at least one indexed value with the example, however many it has.")
		s.requireLike(deploy("example/x", "a", "b", "postgres", "c", "envoy"),
			"default/both", "default/one", "default/other")
		t.Rule("Index returns the objects that share at least one indexed value with the example, and no other one.")
		single := newStore(t, byImage(), deploy("default/one", "envoy"))
		single.requireLike(deploy("example/x", "nginx"))
		single.requireLike(deploy("example/x", "nginx", "caddy"))
		single.requireLike(deploy("example/x", "nginx", "envoy"), "default/one")
		t.Rule("Index returns the objects that share at least one indexed value with the example. It looks at the " +
			"example's values and not at its key.")
		s.requireLike(deploy("default/one", "nginx"), "default/both")
		s.requireLike(deploy("default/both", "postgres"), "default/other")
		t.Rule("Index returns the objects that share at least one indexed value with the example. If the example is in " +
			"the store, it is one of them.")
		s.requireLike(two, "default/both", "default/one")
		t.Rule("Index returns the objects that share at least one indexed value with the example, each once, of whatever " +
			"type they are.")
		plain := newThreadSafe(cache.Indexers{"value": func(obj any) ([]string, error) { return obj.([]string), nil }})
		t.Did("Update plain with a slice of the values b, b and a; Index, like this slice")
		slice := []string{"b", "b", "a"}
		plain.Update("plain", slice)
		found, _ := plain.Index("value", slice)
		require.Len(t, found, 1, "objects of Index")
		found, _ = plain.Index("value", append(slices.Repeat([]string{"none"}, 1_000), "a"))
		require.Len(t, found, 1, "objects of Index")
		t.Rule("Objects are shared: the values that an index function returns may be a part of one, so the store only " +
			"reads them.")
		require.Equal(t, []string{"b", "b", "a"}, slice, "the stored slice after Update and Index")
		t.Rule("Objects are shared: a lookup returns the pointer that was stored, and so does Index.")
		objs, _ := s.Index("image", deploy("example/x", "nginx"))
		require.True(t, slices.Contains(objs, any(two)), "Index returns the object that was stored, not a copy")
		t.Rule("Index only reads: it never adds the keys of one set to another set in the table.")
		s.requireLike(deploy("example/x", "envoy", "nginx", "postgres"), "default/both", "default/one", "default/other")
		s.requireRunning("envoy", "default/both", "default/one")
	})
}

func TestTask3_Index_asks_the_index_it_names(t *testing.T) {
	guard.Test(t, "Index asks the index that it names, and no other.", func(t *guard.T) {
		byName := func(obj any) ([]string, error) { return []string{obj.(*appsv1.Deployment).Name}, nil }
		s := newStore(t, cache.Indexers{"image": images, "name": byName, "another": images},
			deploy("default/nginx", "caddy"), deploy("default/web", "nginx"), deploy("shop/web", "envoy"))
		s.requireLike(deploy("example/nginx", "envoy"), "shop/web")
		t.Did("Index name, like example/web running caddy")
		objs, err := s.Index("name", deploy("example/web", "caddy"))
		require.NoError(t, err, "the error of Index name")
		require.Equal(t, []string{"default/web", "shop/web"}, keysOf(objs), "keys of Index name, like example/web")
	})
}

func TestTask3_Index_calls_the_index_function_once(t *testing.T) {
	guard.Test(t, "Index calls the index function for the example, and for no stored object.", func(t *guard.T) {
		images, calls := countedIndex()
		s := newThreadSafe(cache.Indexers{"image": images})
		t.Did("Update 1000 keys, of objects that run nginx")
		for i := range 1000 {
			s.Update(fmt.Sprintf("default/web-%d", i), deploy("default/web", "nginx"))
		}
		var found []any
		requireCalls(t, calls, 1, "Index", func() { found, _ = s.Index("image", deploy("example/x", "nginx", "envoy")) })
		t.Rule("Index returns the objects that share at least one indexed value with the example, however many there are.")
		require.Len(t, found, 1000, "objects of Index")

		t.Rule("The work of a lookup does not grow with the number of stored objects: Index looks at the sets of the " +
			"example's values, and at no other.")
		several := func(obj any) ([]string, error) {
			if values, ok := obj.([]string); ok {
				return values, nil
			}
			return []string{obj.(string)}, nil
		}
		for _, others := range []int{1, 1_000} {
			t.Did("Index, like an example with %d values, in %d stores with up to 1000 objects", others+1, guardpage.Stores)
			example := slices.Repeat([]string{"none"}, others)
			reads := guardpage.Reads(t, func(keys []string, own string) func() {
				s := filled(keys, cache.Indexers{"value": several})
				return func() { s.Index("value", append(example, own)) }
			})
			require.LessOrEqual(t, reads, guardpage.Most, "calls of Index that read other keys or values")
		}
	})
}

func TestTask3_Index_leaves_the_tables_alone(t *testing.T) {
	guard.Test(t, "Index only reads: it never adds the keys of one set to another set in the table.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"), deploy("default/proxy", "envoy"))
		s.like(deploy("example/x", "nginx", "envoy"))
		objs, _ := s.Index("image", deploy("example/x", "nginx"))
		clear(objs) // the slice is the caller's
		s.requireRunning("nginx", "default/web")
		s.requireRunning("envoy", "default/proxy")
		s.like(deploy("example/x", "redis", "mysql"))
		s.like(deploy("example/x", "valkey"))
		t.Rule("A lookup does not add its value to the index.")
		s.requireValues("after the lookups", "envoy", "nginx")
		t.Rule("The slices that a lookup returns belong to the caller, even if nothing was found.")
		for _, example := range []any{deploy("example/x"), deploy("example/x", "none"), deploy("example/x", "a", "b")} {
			requireOwned(t, "Index image, like "+describe(example), func() []any {
				found, _ := s.Indexer.Index("image", example)
				return found
			})
		}
	})
}

func TestTask3_Index_of_a_bad_example_is_an_error(t *testing.T) {
	// In a process of its own, because to unlock twice is an error that ends the process.
	guard.Race(t, "An unknown index is an error, in Index as in ByIndex.", func(t *guard.T) {
		s := newStore(t, byImage(), deploy("default/web", "nginx"))
		t.Did("Index imgae, then Index image with a string and with nil as the example")
		_, err := s.Index("imgae", deploy("default/web", "nginx"))
		require.Error(t, err, "the error of Index imgae")
		t.Rule("An index function that fails for the example is an error. Index does not panic, because it stores " +
			"nothing.")
		for _, example := range []any{"not a Deployment", nil} {
			_, err = s.Index("image", example)
			require.Error(t, err, "the error of Index image, like a "+describe(example))
		}
		cause := errors.New("cannot tell")
		failing := newThreadSafe(cache.Indexers{"image": func(any) ([]string, error) { return []string{"nginx"}, cause }})
		t.Did("Index, with an index function that returns a value and an error")
		_, err = failing.Index("image", deploy("example/x"))
		t.Rule("Index returns an error that wraps that of the index function.")
		require.ErrorIs(t, err, cause, "the error of Index")
		t.Rule("A lookup that fails releases the lock.")
		s.Add(deploy("default/db", "postgres")) // hangs if one of the calls above kept the lock
		s.requireRunning("postgres", "default/db")

		t.Rule("A call that panics releases the lock, even if the index function itself panics.")
		fails := false
		more := newThreadSafe(cache.Indexers{"image": func(any) ([]string, error) {
			if fails {
				panic("cannot tell")
			}
			return nil, nil
		}})
		more.Update("default/web", "an object")
		fails = true
		for name, call := range guard.InOrder(map[string]func(){
			"Index":            func() { more.Index("image", deploy("example/x")) },
			"Update":           func() { more.Update("default/db", "another") },
			"DeleteWithObject": func() { more.DeleteWithObject("default/web", nil) },
		}) {
			t.Did("%s, with an index function that panics; then Update of an object without values", name)
			if name == "DeleteWithObject" { // a store that has recorded the values calls no index function
				panicked(call)
			} else {
				require.Panics(t, call, name)
			}
			more.Update("nothing", nil) // hangs if the panic kept the lock; a nil has no values
		}
	})
}

func TestTask3_Index_waits_or_sees_what_was_before(t *testing.T) {
	guard.Test(t, "No reader sees half of a change: Index reads the table and the map in one hold of the lock. A "+
		"reader that does not wait for the writer must see the state before the change.", func(t *guard.T) {
		m := &midway{}
		s := newStore(t, cache.Indexers{"one": m.index, "two": m.index}, deploy("default/a", "nginx", "@1"))
		example := deploy("example/x", "nginx", "envoy")
		read := func() string {
			return "one: " + both(s.Index("one", example)) + "; two: " + both(s.Index("two", example))
		}
		before := read()
		t.Did("Index, like %s, in the middle of the next call", describe(example))
		inside, _ := m.during(func() { s.Update(deploy("default/a", "caddy", "@2")) }, read)
		for _, saw := range inside {
			require.Equal(t, before, saw, "Index in the middle of Update")
		}
	})
}

func TestTask3_Readers_do_not_wait_for_each_other(t *testing.T) {
	guard.Test(t, "Readers do not wait for each other: they share the lock. If only one goroutine can hold the lock, "+
		"one slow lookup delays every lister of the process.", func(t *guard.T) {
		for _, second := range slices.Concat(lookups1, lookups2, lookups3) {
			requireShared(t, second)
		}
	})
}

// requireShared requires that a lookup returns while Index waits for its index function.
func requireShared(t *guard.T, second call) {
	t.Helper()
	t.Story(8)
	m := &midway{once: true}
	s := overlapping(m.index)
	t.Did("start Index, like %s", describe(deploy("example/y", "envoy")))
	t.Did("%s, while the store waits for the answer of the index function", second.name)
	inside, _ := m.during(func() { s.Index("image", deploy("example/y", "envoy")) },
		func() string { return second.do(s) })
	require.Len(t, inside, 1, "answers of "+second.name+" in the middle of Index")
}

func TestTask3_Calls_that_overlap_come_one_after_the_other(t *testing.T) {
	guard.Test(t, "Concurrent calls have the same effect as if one came after the other: Index answers with the "+
		"objects before the other call, or with those after it.", func(t *guard.T) {
		for _, index := range lookups3 {
			for _, second := range writes2 {
				requireOneAfterTheOther(t, always(index), second)
			}
			requireOneAfterTheOther(t, always(firstUpdate), index)
			requireOneAfterTheOther(t, always(firstDelete), index)
		}
	})
}

func TestTask3_Index_looks_everything_up_at_once(t *testing.T) {
	guard.Race(t, "Index looks up all values in one hold of the lock: default/a runs nginx or envoy at every "+
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
		t.Rule("Index reads the table and the map in one hold of the lock: whenever it is free, each key in an index " +
			"is a key of the store.")
		t.Did("update and delete default/a many times, and ask for both images with Index")
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
