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
	guard.Test(t, "a key is popped once, with everything that has happened to it since, oldest first", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/web@1")))
		require.NoError(t, q.Update(deploy("default/web@2")))
		require.NoError(t, q.Update(deploy("default/web@3")))
		require.Equal(t, []string{"default/web: Added @1, Updated @2, Updated @3"}, q.drain())
	})
}

func TestTask2_Later_deltas_join_the_key_where_it_stands(t *testing.T) {
	guard.Test(t, "the first delta decides a key's place; an object that changes all the time would otherwise "+
		"never get its turn", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		require.NoError(t, q.Add(deploy("default/b@2")))
		require.NoError(t, q.Update(deploy("default/a@3")))
		require.Equal(t, []string{"default/a: Added @1, Updated @3", "default/b: Added @2"}, q.drain())
	})
}

func TestTask2_Equal_updates_are_both_told(t *testing.T) {
	guard.Test(t, "only deletions are merged; what else is the same, the consumer decides", func(t *guard.T) {
		web := deploy("default/web@1")
		q := newQueue(t, options{})
		require.NoError(t, q.Update(web))
		require.NoError(t, q.Update(web))
		require.Equal(t, []string{"default/web: Updated @1, Updated @1"}, q.drain())
	})
}

func TestTask2_Delete_joins_what_is_pending(t *testing.T) {
	guard.Test(t, "the consumer has not heard of it yet, and will hear all of it: that it came, and that it went", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Add(deploy("default/web@1")))
		require.NoError(t, q.Delete(deploy("default/web@2")))
		require.Equal(t, []string{"default/web: Added @1, Deleted @2"}, q.drain())
	})
}

func TestTask2_Delete_of_a_known_object_is_told(t *testing.T) {
	guard.Test(t, "nothing is pending, but the consumer has the object in its store", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")))
		require.Equal(t, []string{"default/web: Deleted @2"}, q.drain())
	})
}

func TestTask2_Delete_of_a_stranger_does_nothing(t *testing.T) {
	guard.Test(t, "neither pending nor known: the consumer has never had it, or has deleted it after the last "+
		"list already", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/other@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")))
		require.Empty(t, q.drain())
	})
}

func TestTask2_Delete_without_known_objects_asks_the_queue_alone(t *testing.T) {
	guard.Test(t, "KnownObjects is nil, and nothing is pending", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/web@1")))
		q.pop()
		require.NoError(t, q.Delete(deploy("default/web@2")))
		require.Empty(t, q.drain())
		require.NoError(t, q.Add(deploy("default/web@3")))
		require.NoError(t, q.Delete(deploy("default/web@4")))
		t.Rule("KnownObjects is nil, and something is pending")
		require.Equal(t, []string{"default/web: Added @3, Deleted @4"}, q.drain())
	})
}

func TestTask2_Delete_is_told_when_the_lookup_fails(t *testing.T) {
	guard.Test(t, "the deletion is recorded, so there is nothing to complain of", func(t *guard.T) {
		known := storeOf()
		known.broken["default/web"] = errLookup
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Delete(deploy("default/web@2")))
		t.Rule("a lookup that fails proves nothing, and a deletion too many does less harm than one that is " +
			"lost")
		require.Equal(t, []string{"default/web: Deleted @2"}, q.drain())
	})
}

func TestTask2_Delete_takes_a_tombstone(t *testing.T) {
	guard.Test(t, "a tombstone has a key of its own, and stays a tombstone", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(tombstone("default/web", "default/web@1")))
		require.Equal(t, []string{"default/web: Deleted tombstone(@1)"}, q.drain())
	})
}

func TestTask2_Delete_of_an_object_without_a_key_is_a_KeyError(t *testing.T) {
	guard.Test(t, "what Add refuses, Delete refuses in the same way", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		err := q.Delete("nameless")
		require.ErrorAs(t, err, &cache.KeyError{})
		t.Rule("the KeyError carries the object")
		require.Equal(t, any("nameless"), keyErrorOf(err).Obj)
	})
}

func TestTask2_Two_deletions_in_a_row_are_one(t *testing.T) {
	guard.Test(t, "a tombstone has a key of its own, also when nobody knows the object", func(t *guard.T) {
		known, seen := tombstone("default/web", "default/web@1"), deploy("default/web@2")
		for _, c := range []struct {
			first, second any
			want, why     string
		}{
			{known, seen, "default/web: Deleted @2", "the object's last state knows more than a tombstone, so it takes the tombstone's place"},
			{seen, known, "default/web: Deleted @2", "the object's last state knows more than a tombstone, so it stays"},
			{tombstone("default/web", ""), known, "default/web: Deleted tombstone(@1)", "a tombstone's place is taken by whatever comes later"},
			{seen, deploy("default/web@3"), "default/web: Deleted @2", "the deletion that came first is the one that happened; the second is an echo"},
		} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
			require.NoError(t, q.Delete(c.first))
			require.NoError(t, q.Delete(c.second))
			t.Rule("%s", c.why)
			require.Equal(t, []string{c.want}, q.drain())
		}
	})
}

func TestTask2_Only_neighbours_merge(t *testing.T) {
	guard.Test(t, "it went, came back, and went again: two deletions of two objects that have the same name", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1")})
		require.NoError(t, q.Delete(deploy("default/web@2")))
		require.NoError(t, q.Add(deploy("default/web@3")))
		require.NoError(t, q.Delete(deploy("default/web@4")))
		require.Equal(t, []string{"default/web: Deleted @2, Added @3, Deleted @4"}, q.drain())
	})
}

func TestTask2_Everything_that_comes_in_is_transformed(t *testing.T) {
	guard.Test(t, "a transformer sees an object once, before anyone else: what it takes out never uses memory (a "+
		"' stands for each time it was transformed)", func(t *guard.T) {
		web := deploy("default/web@1")
		q := newQueue(t, options{KnownObjects: storeOf(), Transformer: transformed})
		require.NoError(t, q.Add(web))
		require.NoError(t, q.Update(deploy("default/web@2")))
		require.NoError(t, q.Delete(deploy("default/web@3")))
		require.Equal(t, "default/web: Added @1', Updated @2', Deleted @3'", q.pop())
		t.Rule("the queue itself changes nothing: it stores what the transformer returned")
		require.Equal(t, "@1", show(web))
	})
}

func TestTask2_Tombstone_is_not_transformed(t *testing.T) {
	guard.Test(t, "the object in a tombstone has been through the transformer when it came; a tombstone itself is "+
		"not even an API object", func(t *guard.T) {
		// transformed panics if it gets anything but a Deployment.
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1"), Transformer: transformed})
		require.NoError(t, q.Delete(tombstone("default/web", "default/web@1")))
		require.Equal(t, "default/web: Deleted tombstone(@1)", q.pop())
	})
}

func TestTask2_Transformer_error_is_returned(t *testing.T) {
	guard.Test(t, "what could not be transformed does not go on untransformed", func(t *guard.T) {
		refused := errors.New("cannot transform this")
		q := newQueue(t, options{KnownObjects: storeOf("default/web@1"), Transformer: func(obj any) (any, error) {
			if obj.(interface{ GetName() string }).GetName() == "end" {
				return obj, nil
			}
			return nil, refused
		}})
		for name, call := range map[string]func(any) error{"Add": q.Add, "Update": q.Update, "Delete": q.Delete} {
			t.Rule("%s returns what the transformer says", name)
			require.ErrorIs(t, call(deploy("default/web@2")), refused)
		}
		t.Rule("what could not be transformed does not go on untransformed")
		require.Empty(t, q.drain())
	})
}
