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
	guard.Test(t, "each object of the list is told, as Replaced: it may be new, changed, or the same as before", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/c@1", "default/a@2", "default/b@3"), "3"))
		require.Equal(t, []string{"default/c: Replaced @1", "default/a: Replaced @2", "default/b: Replaced @3"}, q.drain())
	})
}

func TestTask3_Replace_deletes_what_vanished_while_disconnected(t *testing.T) {
	guard.Test(t, "b is known and absent from the list: nobody will ever send its DELETED event, so Replace has "+
		"to find out. Its last state is unknown, so it comes as a tombstone with what the consumer has", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2")})
		require.NoError(t, q.Replace(deploys("default/a@3"), "7"))
		require.Equal(t, []string{"default/a: Replaced @3", "default/b: Deleted tombstone(@2)"}, q.drain())
	})
}

func TestTask3_Replace_says_Sync_to_those_who_did_not_ask_for_Replaced(t *testing.T) {
	guard.Test(t, "without EmitDeltaTypeReplaced it is called Sync, for consumers older than Replaced; but it is "+
		"new from the server, and goes through the transformer. Deletions are the same either way", func(t *guard.T) {
		silent := klog.New(nil)
		q := told{deltafifo.NewDeltaFIFOWithOptions(options{Logger: &silent, KnownObjects: storeOf("default/gone@1"), Transformer: transformed}), t}
		require.NoError(t, q.Replace(deploys("default/web@2"), "2"))
		require.Equal(t, []string{"default/web: Sync @2'", "default/gone: Deleted tombstone(@1)"}, q.drain())
	})
}

func TestTask3_Replace_deletes_what_is_only_in_the_queue(t *testing.T) {
	guard.Test(t, "b is not known yet, but will be as soon as its Added is popped. If Replace looks at the known "+
		"objects alone, it stays there until the next list (#115658). What is known of b is its newest "+
		"pending object", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Add(deploy("default/b@1")))
		require.NoError(t, q.Update(deploy("default/b@2")))
		require.NoError(t, q.Replace(deploys("default/a@3"), "7"))
		require.ElementsMatch(t, []string{"default/a: Replaced @3", "default/b: Added @1, Updated @2, Deleted tombstone(@2)"}, q.drain())
	})
}

func TestTask3_Pending_object_is_newer_than_the_known_one(t *testing.T) {
	guard.Test(t, "b is pending and known: it is deleted once, and the tombstone has the newest object, which is "+
		"the one in the queue", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/b@1")})
		require.NoError(t, q.Update(deploy("default/b@2")))
		require.NoError(t, q.Replace(nil, "7"))
		require.Equal(t, []string{"default/b: Updated @2, Deleted tombstone(@2)"}, q.drain())
	})
}

func TestTask3_Tombstone_never_holds_a_tombstone(t *testing.T) {
	guard.Test(t, "the second list finds the first one's tombstone pending. It deletes b again, which merges, and "+
		"the object to carry is the one in the pending tombstone", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/b@1")})
		require.NoError(t, q.Replace(nil, "7"))
		require.NoError(t, q.Replace(nil, "8"))
		require.Equal(t, []string{"default/b: Deleted tombstone(@1)"}, q.drain())
	})
}

func TestTask3_Replace_after_a_pending_deletion_brings_the_object_back(t *testing.T) {
	guard.Test(t, "it went and came back before anyone looked. Who drops a Replaced because a deletion is pending "+
		"leaves the cache without an object that exists (#83810)", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")))
		require.NoError(t, q.Replace(deploys("default/web@5"), "7"))
		require.Equal(t, []string{"default/web: Deleted @2, Replaced @5"}, q.drain())
	})
}

func TestTask3_Replace_joins_a_pending_key_where_it_stands(t *testing.T) {
	guard.Test(t, "what is pending stays pending, and keeps its place", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@1")})
		require.NoError(t, q.Update(deploy("default/b@2")))
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@3"), "7"))
		require.Equal(t, []string{"default/b: Updated @2, Replaced @3", "default/a: Replaced @1"}, q.drain())
	})
}

func TestTask3_Object_listed_twice_is_told_twice(t *testing.T) {
	guard.Test(t, "a list in pages can bring an object twice; the later one is the newer one", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Replace(deploys("default/web@2", "default/web@3"), "7"))
		require.Equal(t, []string{"default/web: Replaced @2, Replaced @3"}, q.drain())
	})
}

func TestTask3_Known_object_that_cannot_be_found_gets_an_empty_tombstone(t *testing.T) {
	guard.Test(t, "that is no reason to fail", func(t *guard.T) {
		known := storeOf("default/broken@1")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Replace(nil, "7"))
		t.Rule("the key is known, so the consumer has to be told; a tombstone need not have an object")
		require.ElementsMatch(t, []string{"default/broken: Deleted tombstone(nothing)", "default/ghost: Deleted tombstone(nothing)"}, q.drain())
	})
}

func TestTask3_Replace_without_known_objects_asks_the_queue_alone(t *testing.T) {
	guard.Test(t, "KnownObjects is nil, so nobody remembers a; b is pending", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		q.pop()
		require.NoError(t, q.Add(deploy("default/b@2")))
		require.NoError(t, q.Replace(nil, "7"))
		require.Equal(t, []string{"default/b: Added @2, Deleted tombstone(@2)"}, q.drain())
	})
}

func TestTask3_Replace_transforms_objects_and_not_tombstones(t *testing.T) {
	guard.Test(t, "what is listed is new from the server, and goes through the transformer", func(t *guard.T) {
		list := deploys("default/web@2")
		q := newQueue(t, options{KnownObjects: storeOf("default/gone@1"), Transformer: transformed})
		require.NoError(t, q.Replace(list, "7"))
		require.Equal(t, "default/web: Replaced @2'", q.pop())
		t.Rule("what the tombstone carries has been through it when it came")
		require.Equal(t, "default/gone: Deleted tombstone(@1)", q.pop())
		t.Rule("the list belongs to the caller, who finds it as it was")
		require.Equal(t, "@2", show(list[0]))
	})
}

func TestTask3_Every_key_comes_from_the_key_function(t *testing.T) {
	guard.Test(t, "for this key function, web is web in any namespace: one key", func(t *guard.T) {
		known := storeOf()
		known.objs["web"], known.objs["gone"] = deploy("blue/web@1"), deploy("blue/gone@2")
		q := newQueue(t, options{KnownObjects: known, KeyFunction: func(obj any) (string, error) {
			return obj.(*appsv1.Deployment).Name, nil // whatever the namespace
		}})
		require.NoError(t, q.Replace(deploys("green/web@3"), "7"))
		require.NoError(t, q.Update(deploy("blue/web@4")))
		require.NoError(t, q.Delete(deploy("green/web@5")))
		require.Equal(t, "green/web: Replaced @3, Updated @4, Deleted @5", q.pop())
		t.Rule("a tombstone has the key that the known objects gave")
		require.Equal(t, "gone: Deleted tombstone(@2)", q.pop())
	})
}

func TestTask3_Replace_returns_errors(t *testing.T) {
	guard.Test(t, "an object without a key is a KeyError, here too", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		err := q.Replace([]any{"nameless"}, "7")
		require.ErrorAs(t, err, &cache.KeyError{})
		t.Rule("the KeyError carries the object")
		require.Equal(t, any("nameless"), keyErrorOf(err).Obj)

		q = newQueue(t, options{KnownObjects: storeOf(), Transformer: func(any) (any, error) { return nil, errors.New("cannot transform this") }})
		t.Rule("and the transformer's error says why it failed")
		require.ErrorContains(t, q.Replace(deploys("default/web@1"), "7"), "cannot transform this")
		t.Rule("still the same transformer")
		require.Error(t, q.Add(deploy("default/web@2"))) // hangs if the lock is still held
	})
}

func TestTask3_Replace_wakes_as_many_Pops_as_there_are_keys(t *testing.T) {
	guard.Test(t, "two objects and a deletion: a Pop that sleeps beside a full queue will not wake before the "+
		"next event", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/c@1")})
		left := 3
		for range 3 {
			t.Go(func() {
				_, _ = q.Pop(func(any, bool) error { left--; return nil })
			})
		}
		t.Did("three Pops wait")
		synctest.Wait()
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"))
		synctest.Wait()
		require.Zero(t, left)
	})
}
