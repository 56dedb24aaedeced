package deltafifo_test

// Task 2: several deltas for one key, and which deletions are recorded.

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Deltas_accumulate_oldest_first(t *testing.T) {
	guard.Test(t, "Pop removes the first key and calls process with its cache.Deltas, oldest first, and with "+
		"whether the key belongs to the first list. All pending deltas of the key come at "+
		"once.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		require.NoError(t, q.Update(deploy("default/web@3")), "the error of Update")
		require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update") // versions are not compared
		require.Equal(t, []string{"default/web: Added @1, Updated @3, Updated " +
			"@2"}, q.drain(), "all popped deltas")
		var kept cache.Deltas
		for _, version := range []string{"4", "5"} {
			t.Did("Update default/web to @%s 6000 times, Pop, and keep the Deltas", version)
			web := deploy("default/web@" + version)
			bytes := bytesPerCall(6_000, func(int) {
				require.NoError(t, q.Queue.Update(web), "the error of Update")
			})
			t.Rule("A key with many pending deltas takes no more work than one with few. An Update does not copy the " +
				"earlier deltas.")
			require.Less(t, bytes, 2_000, "bytes allocated for each of 6000 Updates, on average")
			t.Rule("All pending deltas of the key come at once.")
			popped, err := q.Pop(func(any, bool) error { return nil })
			require.NoError(t, err, "the error of Pop")
			require.Equal(t, 6_000, len(popped.(cache.Deltas)), "deltas of the key after 6000 Updates")
			if kept == nil {
				kept = popped.(cache.Deltas)
			}
		}
		t.Rule("The Deltas belong to the caller. The queue does not write to them again.")
		require.Equal(t, "default/web: Updated @4", showDeltas(kept[:1]), "the first of the kept Deltas")
	})
}

func TestTask2_Update_does_not_look_through_the_deltas(t *testing.T) {
	// A process of its own has no other test beside it, whose work would count.
	guard.Race(t, "A key with many pending deltas takes no more work than one with few.", func(t *guard.T) {
		quickest := func(pending int) time.Duration {
			q, best := deltafifo.NewDeltaFIFOWithOptions(options{KeyFunction: ownKey}), time.Hour
			for range pending {
				_ = q.Update("web")
			}
			for range 20 {
				best = min(best, guard.ProcessorTime(func() {
					for range 100 {
						_ = q.Update("web")
					}
				}))
			}
			return best
		}
		t.Did("Update a key 100 times, with 10 deltas and with 20,000; keep the quickest of 20 rounds")
		few, many := quickest(10), quickest(20_000)
		require.Less(t, many, 20*few, "processor time of 100 Updates of a key with 20,000 deltas, with 10 it is %v", few)
	})
}

func TestTask2_Later_deltas_do_not_move_the_key(t *testing.T) {
	guard.Test(t, "Later deltas do not move the key. Otherwise an object that changes all the time would never "+
		"be popped.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		require.NoError(t, q.Update(deploy("default/a@3")), "the error of Update")
		require.Equal(t, []string{"default/a: Added @1, Updated @3", "default/b: Added @2"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask2_Equal_updates_are_both_recorded(t *testing.T) {
	guard.Test(t, "Only deletions in a row are merged. Two equal updates are two deltas.", func(t *guard.T) {
		for _, known := range []*store{storeOf(), storeOf("default/web@1")} { // known or not, and unchanged
			t.Story(8)
			web, again := deploy("default/web@1"), deploy("default/web@1")
			q := newQueue(t, options{KnownObjects: known})
			require.NoError(t, q.Update(web), "the error of the 1st Update")
			require.NoError(t, q.Update(web), "the error of the 2nd Update")
			require.Equal(t, []string{"default/web: Updated @1, Updated @1"}, q.drain(), "all popped deltas")
			require.NoError(t, q.Update(web), "the error of the 3rd Update")
			require.NoError(t, q.Update(again), "the error of the 4th Update, with another object")
			objects := q.pendingObjects()
			require.Len(t, objects, 2, "objects of all popped deltas")
			t.Rule("Update is like Add, but records an Updated. It records obj itself, not an equal object.")
			require.Same(t, any(again), objects[1], "the object of the 2nd delta")
			t.Rule("Only deletions in a row are merged. Two equal updates are two deltas.")
		}
	})
}

func TestTask2_Delete_joins_pending_deltas(t *testing.T) {
	guard.Test(t, "Each object that the consumer has or will have, and that is no longer on the server, is "+
		"reported as deleted. The consumer will have each pending object.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.Equal(t, []string{"default/web: Added @1, Deleted @2"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_of_a_known_object_is_recorded(t *testing.T) {
	guard.Test(t, "Delete is like Add, but records a Deleted. It records the deletion of a known object even if "+
		"nothing is pending, because the consumer's store has the object.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		last := deploy("default/web@2")
		require.NoError(t, q.Delete(last), "the error of Delete")
		objects := q.pendingObjects()
		require.Len(t, objects, 1, "objects of all popped deltas")
		require.Same(t, any(last), objects[0], "the object in the Deleted")
	})
}

func TestTask2_Delete_wakes_a_Pop(t *testing.T) {
	guard.Test(t, "Delete is like Add, but records a Deleted. It wakes a waiting Pop.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		popped := ""
		t.Go(func() { popped = q.popWaiting() })
		synctest.Wait()
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		synctest.Wait()
		require.Equal(t, "default/web: Deleted @2", popped, "deltas of the Pop that waited")
	})
}

func TestTask2_Delete_does_the_same_work_with_many_known_objects(t *testing.T) {
	guard.Test(t, "Add, Update, Delete and Pop do the same amount of work, however many keys are pending or "+
		"known. Delete looks up one key and does not list all of them.", func(t *guard.T) {
		for _, n := range []int{10, 1_000} {
			known, keys := storeOf(), 0
			q := newQueue(t, options{KnownObjects: known, KeyFunction: func(obj any) (string, error) {
				keys++
				return cache.MetaNamespaceKeyFunc(obj)
			}})
			for i := range n {
				web := fmt.Sprintf("default/web-%d", i)
				known.objs[web] = deploy(web + "@1")
				require.NoError(t, q.Queue.Add(deploy(fmt.Sprintf("default/new-%d@2", i))),
					"the error of Add")
			}
			gone := []any{deploy("default/web-7@3"), deploy("default/new-7@3"), deploy("default/other@3")}
			t.Did("with %d keys in the queue and %d known objects: Delete one of each, and an unknown "+
				"object", n, n)
			keys = 0
			bytes := bytesPerCall(len(gone), func(i int) { _ = q.Queue.Delete(gone[i]) })
			require.LessOrEqual(t, known.asked, 2*len(gone),
				"keys that Delete asks the known objects for, with %d", n)
			require.LessOrEqual(t, keys, 2*len(gone),
				"calls of the key function, with %d keys in the queue", n)
			require.Less(t, bytes, 4_000, "bytes allocated for each Delete, with %d keys in the queue", n)
		}
	})
}

func TestTask2_Delete_does_not_look_for_a_key(t *testing.T) {
	guard.Test(t, "Add, Update, Delete and Pop do the same amount of work, however many keys are pending or "+
		"known. Delete compares its key with only a few others.", func(t *guard.T) {
		del := func(q *deltafifo.DeltaFIFO, key string) { _ = q.Delete(key) }
		requireNoSearch(t, "Delete of a pending key", pendingInTheMiddle, del)
		requireNoSearch(t, "Delete of an unknown key", notPending, del)
	})
}

func TestTask2_Delete_of_an_unknown_object_does_nothing(t *testing.T) {
	guard.Test(t, "If the key has no pending deltas and the object is not known, Delete records nothing and "+
		"returns nil. The consumer does not have the object.", func(t *guard.T) {
		known := storeOf("default/other@1", "other/web@1")
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known, Transformer: refuseSour})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.NoError(t, q.Delete(deploy("default/ghost@2")), "the error of Delete")
		require.NoError(t, q.Delete(tombstone("default/web", "default/web@1")), "the error of Delete")
		t.Rule("If the key has no pending deltas and the object is not known, Delete does not call the transformer.")
		require.NoError(t, q.Delete(deploy("default/sour@2")),
			"the error of Delete, with a transformer that fails for the unknown object")
		require.Empty(t, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_of_unknown_objects_keeps_nothing(t *testing.T) {
	guard.Test(t, "If the key has no pending deltas and the object is not known, Delete records nothing and "+
		"returns nil. The queue does not keep the key either.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		before := heapInUse()
		t.Did("Delete 40000 objects that are neither known nor pending")
		for i := range 40_000 {
			require.NoError(t, q.Queue.Delete(deploy(fmt.Sprintf("default/web-%d@1", i))),
				"the error of Delete")
		}
		require.Less(t, (heapInUse()-before)/40_000, 40, "bytes in use for each Delete")
		runtime.KeepAlive(q)
	})
}

func TestTask2_Delete_without_known_objects_asks_the_queue_alone(t *testing.T) {
	guard.Test(t, "Without known objects (nil) only pending deltas count. Delete records a deletion if there are "+
		"some.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		q.pop()
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.Empty(t, q.drain(), "all deltas popped after Delete of a key that was popped")
		require.NoError(t, q.Add(deploy("default/web@3")), "the error of Add")
		require.NoError(t, q.Delete(deploy("default/web@4")), "the error of Delete")
		require.Equal(t, []string{"default/web: Added @3, Deleted @4"}, q.drain(),
			"all deltas popped after Delete of a pending key")
	})
}

func TestTask2_Delete_is_recorded_when_the_lookup_fails(t *testing.T) {
	guard.Test(t, "If the lookup of the known object fails, Delete records the deletion. One deletion too many "+
		"does less harm than a missing one.", func(t *guard.T) {
		known := storeOf()
		known.broken["default/web"] = errLookup
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.Equal(t, []string{"default/web: Deleted @2"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_takes_a_tombstone(t *testing.T) {
	guard.Test(t, "Instead of the object's last state, obj may be a tombstone. Delete records the tombstone "+
		"itself.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(tombstone("default/web", "default/web@1")), "the error of Delete")
		require.Equal(t, []string{"default/web: Deleted tombstone(@1)"}, q.drain(), "all popped deltas")
		require.NoError(t, q.Delete(tombstone("default/web", "")), "the error of Delete")
		require.Equal(t, []string{"default/web: Deleted tombstone(nothing)"}, q.drain(),
			"all deltas popped after Delete of a tombstone without an object")
	})
}

func TestTask2_Delete_of_an_object_without_a_key_is_a_KeyError(t *testing.T) {
	guard.Test(t, "If an object has no key, the error is a cache.KeyError that carries the object and wraps the "+
		"key function's error. That is true for Delete too.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf()})
			err := q.Delete("nameless")
			require.ErrorAs(t, err, &cache.KeyError{}, "the error of Delete")
			require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of Delete")
			requireKeyErrors(t, func(keys cache.KeyFunc) map[string]func(any) error {
				return map[string]func(any) error{"Delete": newQueue(t, options{KeyFunction: keys}).Delete}
			})
		})
}

func TestTask2_Two_deletions_in_a_row_are_one(t *testing.T) {
	guard.Test(t, "Two deletions in a row become one. If the earlier deletion is a tombstone, the later one "+
		"replaces it; otherwise the earlier one stays. So the more exact one stays.", func(t *guard.T) {
		known, seen := tombstone("default/web", "default/web@1"), deploy("default/web@2")
		for i, c := range []struct {
			first, second any
			want          string
		}{
			{known, seen, "default/web: Deleted @2"},
			{seen, known, "default/web: Deleted @2"},
			{tombstone("default/web", ""), known, "default/web: Deleted tombstone(@1)"},
			{known, tombstone("default/web", ""), "default/web: Deleted tombstone(nothing)"},
			{seen, deploy("default/web@3"), "default/web: Deleted @2"},
		} {
			t.Story(8)
			if i > 0 {
				t.Rule("If the earlier deletion is a tombstone, the later one replaces it; otherwise " +
					"the earlier one stays.")
			}
			q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
			require.NoError(t, q.Delete(c.first), "the error of the 1st Delete")
			require.NoError(t, q.Delete(c.second), "the error of the 2nd Delete")
			require.Equal(t, []string{c.want}, q.drain(), "all popped deltas")
		}
	})
}

func TestTask2_Only_neighbours_merge(t *testing.T) {
	guard.Test(t, "Only deletions in a row are merged. Deleted, Added, Deleted are two objects of one name, and "+
		"both are gone.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of the 1st Delete")
		require.NoError(t, q.Add(deploy("default/web@3")), "the error of Add")
		require.NoError(t, q.Delete(deploy("default/web@4")), "the error of the 2nd Delete")
		require.Equal(t, []string{"default/web: Deleted @2, Added @3, Deleted " +
			"@4"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Each_recorded_object_is_transformed(t *testing.T) {
	guard.Test(t, "The object goes through the transformer first, if there is one. Add, Update and Delete each "+
		"call it once. Here a ' stands for each call.", func(t *guard.T) {
		web, calls := deploy("default/web@1"), 0
		q := newQueue(t, options{KnownObjects: storeOf(), Transformer: func(obj any) (any, error) {
			calls++
			return transformed(obj)
		}})
		require.NoError(t, q.Add(web), "the error of Add")
		require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update")
		require.NoError(t, q.Delete(deploy("default/web@3")), "the error of Delete")
		require.Equal(t, "default/web: Added @1', Updated @2', Deleted @3'", q.pop(), "the popped deltas")
		require.Equal(t, 3, calls, "calls of the transformer")
		t.Rule("The queue never changes an object. It stores the one that the transformer returns.")
		require.Equal(t, "@1", show(web), "the object that was added")
		var seen any
		q = newQueue(t, options{Transformer: func(obj any) (any, error) { seen = obj; return obj, nil }})
		require.NoError(t, q.Add(web), "the error of Add, with a transformer that returns its argument")
		t.Rule("The object goes through the transformer first, if there is one. It is obj itself, not a copy.")
		require.Same(t, any(web), seen, "the object that the transformer receives")
	})
}

func TestTask2_Result_of_the_transformer_is_recorded(t *testing.T) {
	guard.Test(t, "The object goes through the transformer first, if there is one. The queue records the result, of "+
		"whatever type.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1"), Transformer: otherResult})
		t.Did("the transformer's result for web is of another type")
		require.NoError(t, q.Add(deploy("default/web@2")), "the error of Add")
		require.NoError(t, q.Update(deploy("default/web@3")), "the error of Update")
		require.NoError(t, q.Delete(deploy("default/web@4")), "the error of Delete")
		want := cache.Deltas{}
		for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Deleted} {
			obj, _ := otherResult(deploy("default/web@2"))
			want = append(want, cache.Delta{Type: change, Object: obj})
		}
		require.Equal(t, []string{showDeltas(want)}, q.drain(), "all popped deltas")
	})
}

// otherResult is a transformer whose result for web is of another type. It is not nil: a queue may look for the key
// after the transformer.
func otherResult(obj any) (any, error) {
	if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "web" {
		return &metav1.PartialObjectMetadata{ObjectMeta: deploy("default/web@7").ObjectMeta}, nil
	}
	return obj, nil
}

func TestTask2_Tombstone_is_not_transformed(t *testing.T) {
	guard.Test(t, "A tombstone does not go through the transformer. Its object has been transformed before.",
		func(t *guard.T) {
			// transformed panics if it gets anything but a Deployment.
			q := newQueue(t, options{KnownObjects: storeOf("default/web@1"), Transformer: transformed})
			require.NoError(t, q.Delete(tombstone("default/web", "default/web@1")), "the error of Delete")
			require.Equal(t, "default/web: Deleted tombstone(@1)", q.pop(), "the popped deltas")
		})
}

var errSour = errors.New("cannot transform this")

// refuseSour is a transformer that fails for objects with the name sour, and panics for those with the name panic. It
// accepts what is not an object: a queue may look for the key before or after the transformer.
func refuseSour(obj any) (any, error) {
	if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "sour" {
		return obj, errSour // an object that comes with an error must not be used
	} else if ok && d.Name == "panic" {
		panic(errSour)
	}
	return obj, nil
}

func TestTask2_Transformer_error_is_returned(t *testing.T) {
	guard.Test(t, "An error of the transformer is returned unchanged. A change that fails leaves nothing in the queue.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf("default/sour@1"), Transformer: refuseSour})
			calls := map[string]func(q recordedQueue, obj any) error{
				"Add": recordedQueue.Add, "Update": recordedQueue.Update, "Delete": recordedQueue.Delete,
			}
			for name, call := range guard.InOrder(calls) {
				require.Equal(t, errSour, call(q, deploy("default/sour@2")), "the error of %s", name)
				transformed := 0
				q := newQueue(t, options{KnownObjects: storeOf("default/web@1"), Transformer: func(obj any) (any, error) {
					if transformed++; transformed == 3 {
						return nil, errSour
					}
					return obj, nil
				}})
				t.Did("the transformer fails at its 3rd call")
				_, _ = q.Update(deploy("default/web@1")), q.Update(deploy("default/web@1"))
				require.Equal(t, errSour, call(q, deploy("default/web@2")), "the error of %s", name)
				require.Equal(t, []string{"default/web: Updated @1, Updated @1"}, q.drain(), "all deltas popped after %s", name)
			}
			t.Rule("A change that fails leaves nothing in the queue.")
			require.Empty(t, q.drain(), "all popped deltas")
		})
}
