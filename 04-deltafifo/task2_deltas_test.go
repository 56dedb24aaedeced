package deltafifo_test

// Task 2: several deltas for one key, and when a deletion is one.

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Deltas_accumulate_oldest_first(t *testing.T) {
	guard.Test(t, "A key is in the queue once, and is popped with all of its deltas, oldest first.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update")
		require.NoError(t, q.Update(deploy("default/web@3")), "the error of Update")
		require.Equal(t, []string{"default/web: Added @1, Updated @2, Updated @3"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Later_deltas_join_the_key_where_it_stands(t *testing.T) {
	guard.Test(t, "A key is in the queue once, where its first pending delta put it. Otherwise an object that changes "+
		"all the time would never be popped.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		require.NoError(t, q.Update(deploy("default/a@3")), "the error of Update")
		require.Equal(t, []string{"default/a: Added @1, Updated @3", "default/b: Added @2"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask2_Equal_updates_are_both_told(t *testing.T) {
	guard.Test(t, "Only deletions are ever merged. Two equal updates are two deltas.", func(t *guard.T) {
		web := deploy("default/web@1")
		q := newQueue(t, options{})
		require.NoError(t, q.Update(web), "the error of the 1st Update")
		require.NoError(t, q.Update(web), "the error of the 2nd Update")
		require.Equal(t, []string{"default/web: Updated @1, Updated @1"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_joins_what_is_pending(t *testing.T) {
	guard.Test(t, "Delete records the deletion of a key with pending deltas: the consumer receives that the object "+
		"came, and that it went.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.Equal(t, []string{"default/web: Added @1, Deleted @2"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_of_a_known_object_is_told(t *testing.T) {
	guard.Test(t, "Delete records the deletion of a known object, even if nothing is pending: the consumer has it in "+
		"its store.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.Equal(t, []string{"default/web: Deleted @2"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_of_a_stranger_does_nothing(t *testing.T) {
	guard.Test(t, "If the key has no pending deltas, and the known objects do not have it either, nothing is recorded: "+
		"the consumer does not have the object.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/other@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.Empty(t, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_without_known_objects_asks_the_queue_alone(t *testing.T) {
	guard.Test(t, "Without known objects (nil) only pending deltas count: Delete records a deletion if there are some.",
		func(t *guard.T) {
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

func TestTask2_Delete_is_told_when_the_lookup_fails(t *testing.T) {
	guard.Test(t, "A lookup that fails proves nothing, so the deletion is recorded. One deletion too many does less "+
		"harm than a lost one.", func(t *guard.T) {
		known := storeOf()
		known.broken["default/web"] = errLookup
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of Delete")
		require.Equal(t, []string{"default/web: Deleted @2"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_takes_a_tombstone(t *testing.T) {
	guard.Test(t, "Delete accepts the object's last state, or a tombstone, which is recorded as it is.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(tombstone("default/web", "default/web@1")), "the error of Delete")
		require.Equal(t, []string{"default/web: Deleted tombstone(@1)"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Delete_of_an_object_without_a_key_is_a_KeyError(t *testing.T) {
	guard.Test(t, "An object without a key is a cache.KeyError that carries the object, from Delete as from Add.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf()})
			err := q.Delete("nameless")
			require.ErrorAs(t, err, &cache.KeyError{}, "the error of Delete")
			require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of Delete")
		})
}

func TestTask2_Two_deletions_in_a_row_are_one(t *testing.T) {
	guard.Test(t, "Two deletions in a row are one. If the earlier one is a tombstone the later one takes its place, "+
		"because it may know the object's last state; otherwise the earlier one stays.", func(t *guard.T) {
		known, seen := tombstone("default/web", "default/web@1"), deploy("default/web@2")
		for _, c := range []struct {
			first, second any
			want          string
		}{
			{known, seen, "default/web: Deleted @2"},
			{seen, known, "default/web: Deleted @2"},
			{tombstone("default/web", ""), known, "default/web: Deleted tombstone(@1)"},
			{seen, deploy("default/web@3"), "default/web: Deleted @2"},
		} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
			require.NoError(t, q.Delete(c.first), "the error of the 1st Delete")
			require.NoError(t, q.Delete(c.second), "the error of the 2nd Delete")
			require.Equal(t, []string{c.want}, q.drain(), "all popped deltas")
		}
	})
}

func TestTask2_Only_neighbours_merge(t *testing.T) {
	guard.Test(t, "Only deletions in a row are merged. An object that went, came back, and went again is two objects of "+
		"one name, and both are gone.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")), "the error of the 1st Delete")
		require.NoError(t, q.Add(deploy("default/web@3")), "the error of Add")
		require.NoError(t, q.Delete(deploy("default/web@4")), "the error of the 2nd Delete")
		require.Equal(t, []string{"default/web: Deleted @2, Added @3, Deleted @4"}, q.drain(), "all popped deltas")
	})
}

func TestTask2_Everything_that_comes_in_is_transformed(t *testing.T) {
	guard.Test(t, "The object goes through the transformer first, and once: after Add, Update and Delete alike. Here a "+
		"' stands for each time.", func(t *guard.T) {
		web := deploy("default/web@1")
		q := newQueue(t, options{KnownObjects: storeOf(), Transformer: transformed})
		require.NoError(t, q.Add(web), "the error of Add")
		require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update")
		require.NoError(t, q.Delete(deploy("default/web@3")), "the error of Delete")
		require.Equal(t, "default/web: Added @1', Updated @2', Deleted @3'", q.pop(), "the popped deltas")
		t.Rule("The queue never changes an object: it stores the one that the transformer returns.")
		require.Equal(t, "@1", show(web), "the object that was added")
	})
}

func TestTask2_Tombstone_is_not_transformed(t *testing.T) {
	guard.Test(t, "A tombstone does not go through the transformer: the object in it has been through it before.",
		func(t *guard.T) {
			// transformed panics if it gets anything but a Deployment.
			q := newQueue(t, options{KnownObjects: storeOf("default/web@1"), Transformer: transformed})
			require.NoError(t, q.Delete(tombstone("default/web", "default/web@1")), "the error of Delete")
			require.Equal(t, "default/web: Deleted tombstone(@1)", q.pop(), "the popped deltas")
		})
}

func TestTask2_Transformer_error_is_returned(t *testing.T) {
	guard.Test(t, "An error of the transformer is returned as it is, and nothing has gone into the queue.",
		func(t *guard.T) {
			refused := errors.New("cannot transform this")
			q := newQueue(t, options{KnownObjects: storeOf("default/web@1"), Transformer: func(obj any) (any, error) {
				if obj.(interface{ GetName() string }).GetName() == "end" {
					return obj, nil
				}
				return nil, refused
			}})
			for name, call := range map[string]func(any) error{"Add": q.Add, "Update": q.Update, "Delete": q.Delete} {
				require.ErrorIs(t, call(deploy("default/web@2")), refused, "the error of %s", name)
			}
			require.Empty(t, q.drain(), "all popped deltas")
		})
}
