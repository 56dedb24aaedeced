package deltafifo_test

// Task 3: Replace, and deletions without an event.

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Replace_records_the_list_in_its_order(t *testing.T) {
	guard.Test(t, "Replace first records a delta for each object, in the order of the list, even for two objects "+
		"of one key. The type is Replaced: an object may be new, changed or unchanged.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/c@1", "default/a@2", "default/b@3"), "3"),
			"the error of Replace")
		require.Equal(t,
			[]string{"default/c: Replaced @1", "default/a: Replaced @2", "default/b: Replaced @3"},
			q.drain(), "all popped deltas, in order")
	})
}

func TestTask3_Replace_deletes_known_objects_that_are_not_listed(t *testing.T) {
	guard.Test(t, "Replace then records a deletion for each key that is pending or known but not in the list, in "+
		"any order. The server sends no event for it, so the delta carries a tombstone.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2")})
		require.NoError(t, q.Replace(deploys("default/a@3"), "7"), "the error of Replace")
		require.Equal(t, []string{"default/a: Replaced @3", "default/b: Deleted tombstone(@2)"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask3_Replace_uses_Sync_without_EmitDeltaTypeReplaced(t *testing.T) {
	guard.Test(t, "The deltas of listed objects have the type Replaced, or Sync if the options do not ask for "+
		"EmitDeltaTypeReplaced. Deletions have the type Deleted.", func(t *guard.T) {
		silent := klog.New(nil)
		t.Did("known objects: [default/gone@1]")
		q := recordedQueue{deltafifo.NewDeltaFIFOWithOptions(options{
			Logger: &silent, KnownObjects: storeOf("default/gone@1"), Transformer: transformed,
		}), t}
		require.NoError(t, q.Replace(deploys("default/web@2"), "2"), "the error of Replace")
		popped := q.drain()
		if len(popped) > 0 && popped[0] == "default/web: Sync @2" {
			t.Rule("With either type the objects go through the transformer.")
		}
		require.Equal(t, []string{"default/web: Sync @2'", "default/gone: Deleted tombstone(@1)"}, popped,
			"all popped deltas, in order")
	})
}

func TestTask3_Replace_deletes_objects_that_are_only_in_the_queue(t *testing.T) {
	guard.Test(t, "Replace then records a deletion for each key that is pending or known but not in the list, in "+
		"any order. Otherwise a pending Added is popped, and the object stays in the cache until the next "+
		"list (#115658).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Add(deploy("default/b@1")), "the error of Add")
		require.NoError(t, q.Update(deploy("default/b@2")), "the error of Update")
		require.NoError(t, q.Replace(deploys("default/a@3"), "7"), "the error of Replace")
		require.ElementsMatch(t, []string{
			"default/a: Replaced @3",
			"default/b: Added @1, Updated @2, Deleted tombstone(@2)",
		}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Pending_object_is_newer_than_the_known_one(t *testing.T) {
	guard.Test(t, "The object of a deletion is a cache.DeletedFinalStateUnknown with the key and the newest "+
		"object: that of the last pending delta, or otherwise the known one. A key that is both pending and "+
		"known is deleted once.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/b@1")})
		require.NoError(t, q.Update(deploy("default/b@2")), "the error of Update")
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.Equal(t, []string{"default/b: Updated @2, Deleted tombstone(@2)"}, q.drain(),
			"all popped deltas")
	})
}

func TestTask3_Tombstone_never_holds_a_tombstone(t *testing.T) {
	guard.Test(t, "A tombstone never holds a tombstone. If the last pending delta has one, the new tombstone "+
		"carries the object in it, and the two deletions merge.", func(t *guard.T) {
		known := storeOf("default/b@1")
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Add(deploy("default/a@2")), "the error of Add")
		require.NoError(t, q.Delete(tombstone("default/a", "")), "the error of Delete")
		require.NoError(t, q.Replace(nil, "7"), "the error of the 1st Replace")
		require.NoError(t, q.Replace(nil, "8"), "the error of the 2nd Replace")
		require.ElementsMatch(t, []string{
			"default/a: Added @2, Deleted tombstone(nothing)",
			"default/b: Deleted tombstone(@1)",
			"default/ghost: Deleted tombstone(nothing)",
		}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Deletion_from_the_watch_is_not_replaced_by_a_tombstone(t *testing.T) {
	guard.Test(t, "Two deletions in a row become one. The deletion from the watch carries the last state, and "+
		"the tombstone from Replace may carry an old one.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.Equal(t, []string{"default/web: Deleted @2"}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Equal_names_in_two_namespaces(t *testing.T) {
	guard.Test(t, "Replace then records a deletion for each key that is pending or known but not in the list, in "+
		"any order. Objects of the same name in two namespaces have two keys.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("blue/known@1", "green/known@1")})
		require.NoError(t, q.Add(deploy("blue/pending@2")), "the error of Add")
		require.NoError(t, q.Add(deploy("green/pending@3")), "the error of Add")
		require.NoError(t, q.Replace(deploys("blue/known@4", "blue/pending@5"), "7"), "the error of Replace")
		require.ElementsMatch(t, []string{
			"blue/pending: Added @2, Replaced @5",
			"green/pending: Added @3, Deleted tombstone(@3)",
			"blue/known: Replaced @4",
			"green/known: Deleted tombstone(@1)",
		}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Replace_after_a_pending_deletion_brings_the_object_back(t *testing.T) {
	guard.Test(t, "A pending deletion does not hide an object of the list. The object was deleted and created "+
		"again, and both are recorded. Otherwise the cache lacks an object that exists "+
		"(#83810).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.NoError(t, q.Replace(deploys("default/web@5"), "7"), "the error of Replace")
		require.Equal(t, []string{"default/web: Deleted @2, Replaced @5"}, q.drain(), "all popped deltas")

		t.Story(8)
		q = newQueue(t, options{}) // without known objects
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.NoError(t, q.Replace(deploys("default/web@5"), "7"), "the error of Replace")
		require.Equal(t, []string{"default/web: Added @1, Deleted @2, Replaced @5"}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Replace_does_not_move_a_pending_key(t *testing.T) {
	guard.Test(t, "A key is in the queue once, at the place of its first pending delta, and is popped with all "+
		"of its deltas. Replace does not move a pending key.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@1")})
		require.NoError(t, q.Update(deploy("default/b@2")), "the error of Update")
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@3"), "7"), "the error of Replace")
		require.Equal(t, []string{"default/b: Updated @2, Replaced @3", "default/a: Replaced @1"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask3_Object_listed_twice_is_recorded_twice(t *testing.T) {
	guard.Test(t, "Replace first records a delta for each object, in the order of the list, even for two objects "+
		"of one key. A list in pages can contain an object twice, and the later one is "+
		"newer.", func(t *guard.T) {
		for _, change := range []cache.DeltaType{cache.Replaced, cache.Sync} {
			t.Story(8)
			t.Did("EmitDeltaTypeReplaced is %t", change == cache.Replaced)
			q := recordedQueue{deltafifo.NewDeltaFIFOWithOptions(options{
				KnownObjects: storeOf("default/web@1"), EmitDeltaTypeReplaced: change == cache.Replaced,
			}), t}
			list := deploys("default/web@2", "default/web@3")
			require.NoError(t, q.Replace(list, "7"), "the error of Replace")
			require.NoError(t, q.Replace(list[1:], "8"), "the error of the 2nd Replace")
			require.Equal(t, []string{fmt.Sprintf("default/web: %s @2, %[1]s @3, %[1]s @3", change)}, q.drain(),
				"all popped deltas")
		}
	})
}

func TestTask3_Known_object_that_cannot_be_found_gets_an_empty_tombstone(t *testing.T) {
	guard.Test(t, "If the known object cannot be found, the tombstone carries nil. The consumer needs only the "+
		"key, so Replace does not fail.", func(t *guard.T) {
		known := storeOf("default/broken@1", "default/later@2")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.ElementsMatch(t, []string{
			"default/broken: Deleted tombstone(nothing)",
			"default/ghost: Deleted tombstone(nothing)",
			"default/later: Deleted tombstone(@2)",
		}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Replace_without_known_objects_asks_the_queue_alone(t *testing.T) {
	guard.Test(t, "Without known objects (nil) only pending keys are compared with the list.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		q.pop()
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.Equal(t, []string{"default/b: Added @2, Deleted tombstone(@2)"}, q.drain(),
			"all deltas popped after Replace")
	})
}

func TestTask3_Replace_transforms_objects_and_not_tombstones(t *testing.T) {
	guard.Test(t, "With either type the objects go through the transformer. A tombstone does not: its object has "+
		"been transformed before.", func(t *guard.T) {
		list, calls := deploys("default/web@2", "default/db@3", "default/web@4"), 0
		q := newQueue(t, options{
			KnownObjects: storeOf("default/gone@1"),
			Transformer:  func(obj any) (any, error) { calls++; return transformed(obj) },
		})
		require.NoError(t, q.Replace(list, "7"), "the error of Replace")
		require.Equal(t, "default/web: Replaced @2', Replaced @4'", q.pop(), "deltas of the 1st Pop")
		require.Equal(t, "default/db: Replaced @3'", q.pop(), "deltas of the 2nd Pop")
		require.Equal(t, "default/gone: Deleted tombstone(@1)", q.pop(), "deltas of the 3rd Pop")
		require.Equal(t, 3, calls, "calls of the transformer")
		t.Rule("Replace changes neither the list nor its objects. They belong to the caller.")
		require.Equal(t, "@2", show(list[0]), "the object in the caller's list")
		t.Rule("With either type the objects go through the transformer. The queue records the result, of whatever type.")
		q = newQueue(t, options{KnownObjects: storeOf("default/web@1"), Transformer: otherResult})
		t.Did("the transformer's result for web is of another type")
		require.NoError(t, q.Replace(deploys("default/web@2"), "7"), "the error of Replace")
		obj, _ := otherResult(deploy("default/web@2"))
		require.Equal(t, []string{showDeltas(cache.Deltas{{Type: cache.Replaced, Object: obj}})}, q.drain(),
			"all popped deltas")
	})
}

func TestTask3_Every_key_comes_from_the_key_function(t *testing.T) {
	guard.Test(t, "Every key comes from the key function. This one ignores namespaces, so web has one key in all "+
		"of them.",
		func(t *guard.T) {
			known := storeOf()
			known.objs["web"], known.objs["gone"] = deploy("blue/web@1"), deploy("blue/renamed@2")
			q := newQueue(t, options{KnownObjects: known, KeyFunction: func(obj any) (string, error) {
				return obj.(*appsv1.Deployment).Name, nil // whatever the namespace
			}})
			require.NoError(t, q.Replace(deploys("green/web@3"), "7"), "the error of Replace")
			require.NoError(t, q.Update(deploy("blue/web@4")), "the error of Update")
			require.NoError(t, q.Delete(deploy("green/web@5")), "the error of Delete")
			require.Equal(t,
				"green/web: Replaced @3, Updated @4, Deleted @5", q.pop(), "deltas of the 1st Pop")
			t.Rule("A tombstone carries the key under which the known objects list the object.")
			require.Equal(t, "gone: Deleted tombstone(@2)", q.pop(), "deltas of the 2nd Pop")
		})
}

func TestTask3_Replace_returns_errors(t *testing.T) {
	guard.Test(t, "If an object of the list has no key, the error is a cache.KeyError that carries the object and "+
		"wraps the key function's error.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf()})
			err := q.Replace([]any{"nameless"}, "7")
			require.ErrorAs(t, err, &cache.KeyError{}, "the error of Replace")
			require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of Replace")
			requireKeyErrors(t, func(keys cache.KeyFunc) map[string]func(any) error {
				q := newQueue(t, options{KeyFunction: keys})
				return map[string]func(any) error{
					"Replace": func(obj any) error { return q.Replace([]any{obj}, "7") },
				}
			})

			t.Rule("Replace returns an error of the transformer.")
			q = newQueue(t, options{KnownObjects: storeOf(), Transformer: refuseSour})
			require.ErrorContains(t, q.Replace(deploys("default/sour@1"), "7"), errSour.Error(),
				"the error of Replace with a transformer that fails")
			t.Rule("Replace releases the lock even if it returns an error.")
			// Add hangs if the lock is still held.
			require.Error(t, q.Add(deploy("default/sour@2")), "the error of Add with the same transformer")
		})
}

func TestTask3_Replace_that_fails_leaves_nothing_in_the_queue(t *testing.T) {
	guard.Test(t, "A Replace that fails leaves nothing in the queue, and is not the first list. The consumer would "+
		"take half of a list for all of it.", func(t *guard.T) {
		for i := range 3 {
			for _, bad := range []any{"nameless", deploy("default/sour@1"), deploy("default/panic@1")} {
				t.Story(8)
				list := deploys("default/a@1", "default/b@1", "default/c@1")
				list[i] = bad
				q := newQueue(t, options{KnownObjects: storeOf("default/gone@1"), Transformer: refuseSour})
				require.Error(t, replaceOrPanic(q, list), "the error or panic of Replace")
				require.Empty(t, q.drain(), "all popped deltas")
				for _, obj := range []string{"default/b@0", "default/other@0"} {
					require.NoError(t, q.Update(deploy(obj)), "the error of Update")
				}
				require.Error(t, replaceOrPanic(q, list), "the error or panic of the 2nd Replace")
				require.Equal(t, []string{"default/b: Updated @0", "default/other: Updated @0"}, q.drain(),
					"all deltas popped after the Updates and the 2nd Replace")
			}
		}
	})
}

// replaceOrPanic calls Replace. It returns the error, or the one with which the transformer panicked.
func replaceOrPanic(q recordedQueue, list []any) (err error) {
	defer func() {
		if v := recover(); v == any(errSour) {
			err = errSour
		} else if v != nil {
			panic(v)
		}
	}()
	return q.Replace(list, "7")
}

func TestTask3_Replace_records_the_objects_themselves(t *testing.T) {
	guard.Test(t, "Replace changes neither the list nor its objects. Without a transformer it records the "+
		"objects themselves, not copies.", func(t *guard.T) {
		known, list := storeOf("default/gone@1"), deploys("default/pending@2", "default/known@3")
		known.objs["default/known"] = list[1] // unchanged, and recorded all the same
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Update(list[0]), "the error of Update")
		require.NoError(t, q.Replace(list, "7"), "the error of Replace")
		objects := q.pendingObjects()
		require.Len(t, objects, 4, "objects of all popped deltas")
		require.Same(t, list[0], objects[1], "the object of the 2nd delta")
		require.Same(t, list[1], objects[2], "the object of the 3rd delta")
		stone, ok := objects[3].(cache.DeletedFinalStateUnknown)
		require.True(t, ok, "the object of the 4th delta is a cache.DeletedFinalStateUnknown")
		require.Same(t, known.objs["default/gone"], stone.Obj, "the object in the tombstone")
	})
}

func TestTask3_Replace_wakes_as_many_Pops_as_there_are_keys(t *testing.T) {
	guard.Test(t, "Each new key wakes one Pop, and Close wakes all. Replace wakes one for each object and each "+
		"deletion that it records.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/c@1", "default/d@1")})
		left := 4
		for range 4 {
			t.Go(func() {
				_, _ = q.Pop(func(any, bool) error { left--; return nil })
			})
		}
		t.Did("four Pops wait")
		synctest.Wait()
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"), "the error of Replace")
		synctest.Wait()
		require.Equal(t, 0, left, "Pops that still wait")
	})
}
