package deltafifo_test

// Task 3: Replace, and the deletions that nobody has seen.

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Replace_tells_of_each_object_in_the_order_of_the_list(t *testing.T) {
	guard.Test(t, "Replace records a delta for each object of the list, in the order of the list. Its type is Replaced: "+
		"the object may be new, changed, or the same as before.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/c@1", "default/a@2", "default/b@3"), "3"), "the error of Replace")
		require.Equal(t, []string{"default/c: Replaced @1", "default/a: Replaced @2", "default/b: Replaced @3"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask3_Replace_deletes_what_vanished_while_disconnected(t *testing.T) {
	guard.Test(t, "Replace records a deletion for each key that is known and not in the list, after the list. The "+
		"server sends no event for it any more, so it is a tombstone with the known object.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2")})
		require.NoError(t, q.Replace(deploys("default/a@3"), "7"), "the error of Replace")
		require.Equal(t, []string{"default/a: Replaced @3", "default/b: Deleted tombstone(@2)"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask3_Replace_says_Sync_to_those_who_did_not_ask_for_Replaced(t *testing.T) {
	guard.Test(t, "The type is Sync if the options do not ask for EmitDeltaTypeReplaced. Either way the objects go "+
		"through the transformer, and deletions are Deleted.", func(t *guard.T) {
		silent := klog.New(nil)
		t.Did("known objects: [default/gone@1]")
		q := recordedQueue{deltafifo.NewDeltaFIFOWithOptions(options{
			Logger: &silent, KnownObjects: storeOf("default/gone@1"), Transformer: transformed,
		}), t}
		require.NoError(t, q.Replace(deploys("default/web@2"), "2"), "the error of Replace")
		require.Equal(t, []string{"default/web: Sync @2'", "default/gone: Deleted tombstone(@1)"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask3_Replace_deletes_what_is_only_in_the_queue(t *testing.T) {
	guard.Test(t, "Replace records a deletion for each key that is pending and not in the list, with its newest pending "+
		"object. Otherwise its Added is popped, and the object stays in the cache until the next list "+
		"(#115658).", func(t *guard.T) {
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
	guard.Test(t, "A tombstone carries the newest object: that of the last pending delta, or else the known one. A key "+
		"that is pending and known is deleted once.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/b@1")})
		require.NoError(t, q.Update(deploy("default/b@2")), "the error of Update")
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.Equal(t, []string{"default/b: Updated @2, Deleted tombstone(@2)"}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Tombstone_never_holds_a_tombstone(t *testing.T) {
	guard.Test(t, "A tombstone never holds a tombstone. If the last pending delta is one, the new tombstone carries its "+
		"object, and the two merge.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/b@1")})
		require.NoError(t, q.Replace(nil, "7"), "the error of the 1st Replace")
		require.NoError(t, q.Replace(nil, "8"), "the error of the 2nd Replace")
		require.Equal(t, []string{"default/b: Deleted tombstone(@1)"}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Replace_after_a_pending_deletion_brings_the_object_back(t *testing.T) {
	guard.Test(t, "Pending deletions do not hide the list: the object went and came back, and both are recorded. "+
		"Otherwise the cache lacks an object that exists (#83810).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.NoError(t, q.Replace(deploys("default/web@5"), "7"), "the error of Replace")
		require.Equal(t, []string{"default/web: Deleted @2, Replaced @5"}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Replace_joins_a_pending_key_where_it_stands(t *testing.T) {
	guard.Test(t, "A key is in the queue once, where its first pending delta put it. Replace adds to the deltas of a "+
		"pending key, and the key keeps its place.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@1")})
		require.NoError(t, q.Update(deploy("default/b@2")), "the error of Update")
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@3"), "7"), "the error of Replace")
		require.Equal(t, []string{"default/b: Updated @2, Replaced @3", "default/a: Replaced @1"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask3_Object_listed_twice_is_told_twice(t *testing.T) {
	guard.Test(t, "Replace records a delta for each object of the list, even for two objects of one key. A list in "+
		"pages can bring an object twice, and the later one is newer.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Replace(deploys("default/web@2", "default/web@3"), "7"), "the error of Replace")
		require.Equal(t, []string{"default/web: Replaced @2, Replaced @3"}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Known_object_that_cannot_be_found_gets_an_empty_tombstone(t *testing.T) {
	guard.Test(t, "A known key whose object cannot be found gets a tombstone that carries nil. The key is enough for "+
		"the consumer, so Replace does not fail.", func(t *guard.T) {
		known := storeOf("default/broken@1")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.ElementsMatch(t, []string{
			"default/broken: Deleted tombstone(nothing)",
			"default/ghost: Deleted tombstone(nothing)",
		}, q.drain(), "all popped deltas")
	})
}

func TestTask3_Replace_without_known_objects_asks_the_queue_alone(t *testing.T) {
	guard.Test(t, "Without known objects (nil) Replace compares the list with the pending keys alone.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		q.pop()
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.Equal(t, []string{"default/b: Added @2, Deleted tombstone(@2)"}, q.drain(), "all deltas popped after Replace")
	})
}

func TestTask3_Replace_transforms_objects_and_not_tombstones(t *testing.T) {
	guard.Test(t, "The objects of the list go through the transformer. A tombstone does not: the object in it has been "+
		"through it before.", func(t *guard.T) {
		list := deploys("default/web@2")
		q := newQueue(t, options{KnownObjects: storeOf("default/gone@1"), Transformer: transformed})
		require.NoError(t, q.Replace(list, "7"), "the error of Replace")
		require.Equal(t, "default/web: Replaced @2'", q.pop(), "deltas of the 1st Pop")
		require.Equal(t, "default/gone: Deleted tombstone(@1)", q.pop(), "deltas of the 2nd Pop")
		t.Rule("The list belongs to the caller: Replace does not change it.")
		require.Equal(t, "@2", show(list[0]), "the object in the caller's list")
	})
}

func TestTask3_Every_key_comes_from_the_key_function(t *testing.T) {
	guard.Test(t, "Every key comes from the key function. This one ignores namespaces, so web is one key in all of them.",
		func(t *guard.T) {
			known := storeOf()
			known.objs["web"], known.objs["gone"] = deploy("blue/web@1"), deploy("blue/gone@2")
			q := newQueue(t, options{KnownObjects: known, KeyFunction: func(obj any) (string, error) {
				return obj.(*appsv1.Deployment).Name, nil // whatever the namespace
			}})
			require.NoError(t, q.Replace(deploys("green/web@3"), "7"), "the error of Replace")
			require.NoError(t, q.Update(deploy("blue/web@4")), "the error of Update")
			require.NoError(t, q.Delete(deploy("green/web@5")), "the error of Delete")
			require.Equal(t, "green/web: Replaced @3, Updated @4, Deleted @5", q.pop(), "deltas of the 1st Pop")
			t.Rule("A tombstone carries the key under which the known objects list the object.")
			require.Equal(t, "gone: Deleted tombstone(@2)", q.pop(), "deltas of the 2nd Pop")
		})
}

func TestTask3_Replace_returns_errors(t *testing.T) {
	guard.Test(t, "An object without a key is a cache.KeyError that carries the object, from Replace as from Add.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf()})
			err := q.Replace([]any{"nameless"}, "7")
			require.ErrorAs(t, err, &cache.KeyError{}, "the error of Replace")
			require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of Replace")

			t.Rule("An error of the transformer is returned too.")
			q = newQueue(t, options{KnownObjects: storeOf(), Transformer: func(any) (any, error) {
				return nil, errors.New("cannot transform this")
			}})
			require.ErrorContains(t, q.Replace(deploys("default/web@1"), "7"), "cannot transform this",
				"the error of Replace with a transformer that fails")
			t.Rule("Replace releases the lock even if it returns an error.")
			// Add hangs if the lock is still held.
			require.Error(t, q.Add(deploy("default/web@2")), "the error of Add with the same transformer")
		})
}

func TestTask3_Replace_wakes_as_many_Pops_as_there_are_keys(t *testing.T) {
	guard.Test(t, "A new key is work for one Pop: Replace wakes one for each object and each deletion that it records. "+
		"A Pop that sleeps beside a full queue wakes with the next event.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/c@1")})
		left := 3
		for range 3 {
			t.Go(func() {
				_, _ = q.Pop(func(any, bool) error { left--; return nil })
			})
		}
		t.Did("three Pops wait")
		synctest.Wait()
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"), "the error of Replace")
		synctest.Wait()
		require.Equal(t, 0, left, "Pops that still wait")
	})
}
