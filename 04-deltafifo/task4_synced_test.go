package deltafifo_test

// Task 4: when is the first list through?

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Synced_when_the_first_list_has_been_popped(t *testing.T) {
	guard.Test(t, "HasSynced reports whether everything that the first Replace put into the queue has been popped and "+
		"processed. A controller that starts earlier finds half a cluster.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.False(t, q.HasSynced(), "the queue has synced before the first list")
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"), "the error of Replace")
		require.False(t, q.HasSynced(), "the queue has synced before any of its 2 keys was popped")
		q.pop()
		require.False(t, q.HasSynced(), "the queue has synced after 1 of 2 keys was popped")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after both keys were popped")
	})
}

func TestTask4_Empty_list_is_synced_at_once(t *testing.T) {
	guard.Test(t, "An empty list is synced at once: there is nothing to pop in an empty cluster.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.True(t, q.HasSynced(), "the queue has synced after an empty list")
	})
}

func TestTask4_Object_listed_twice_counts_once(t *testing.T) {
	guard.Test(t, "HasSynced counts keys: two objects of one key are popped together. A queue that counts objects waits "+
		"forever (#96797).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/web@1", "default/web@2"), "7"), "the error of Replace")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after its only key was popped")
	})
}

func TestTask4_Deletions_of_the_first_list_count(t *testing.T) {
	guard.Test(t, "HasSynced counts everything that the first Replace put into the queue, deletions included. Until "+
		"they are popped, the store holds objects that do not exist.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/gone@1")})
		require.NoError(t, q.Replace(deploys("default/web@2"), "7"), "the error of Replace")
		q.pop()
		require.False(t, q.HasSynced(), "the queue has synced before the deletion was popped")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after the object and the deletion were popped")
	})
}

func TestTask4_Event_before_the_first_list_means_synced(t *testing.T) {
	guard.Test(t, "If Add, Update or Delete were called before, there is no first list to wait for: HasSynced is true, "+
		"and stays true when a list comes.", func(t *guard.T) {
		for _, call := range []func(q recordedQueue) error{
			func(q recordedQueue) error { return q.Add(deploy("default/web@1")) },
			func(q recordedQueue) error { return q.Update(deploy("default/web@1")) },
			func(q recordedQueue) error { return q.Delete(deploy("default/known@2")) },
		} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf("default/known@1")})
			require.NoError(t, call(q), "the error of the first call")
			require.True(t, q.HasSynced(), "the queue has synced after the first event")
			require.NoError(t, q.Replace(deploys("default/a@2"), "7"), "the error of Replace")
			require.True(t, q.HasSynced(), "the queue has still synced after the list that follows the event")
		}
	})
}

func TestTask4_Event_that_leaves_nothing_to_tell_is_an_event(t *testing.T) {
	guard.Test(t, "A Delete that has nothing to record is an event all the same: it came before any list, so HasSynced "+
		"is true.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Delete(deploy("default/web@1")), "the error of Delete")
		require.True(t, q.HasSynced(), "the queue has synced after the first event")
	})
}

func TestTask4_Later_lists_change_nothing(t *testing.T) {
	guard.Test(t, "HasSynced counts only keys of the first list. Once true it stays true.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of the 1st Replace")
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "8"), "the error of the 2nd Replace")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after the only key of the 1st list was popped")
		require.NoError(t, q.Replace(deploys("default/c@3"), "9"), "the error of the 3rd Replace")
		require.True(t, q.HasSynced(), "the queue has still synced after the 3rd list")
	})
}

func TestTask4_Failed_list_is_not_the_first_list(t *testing.T) {
	guard.Test(t, "A Replace that failed was not the first list: the next one is.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.Error(t, q.Replace([]any{"nameless"}, "7"), "the error of Replace with an object without a key")
		require.False(t, q.HasSynced(), "the queue has synced after a Replace that failed")
		require.NoError(t, q.Replace(deploys("default/a@1"), "8"), "the error of the 2nd Replace")
		require.False(t, q.HasSynced(), "the queue has synced before the key of the 2nd Replace was popped")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after the key of the 2nd Replace was popped")
	})
}

func TestTask4_Key_that_could_not_be_processed_counts(t *testing.T) {
	guard.Test(t, "A popped key counts even if process fails or panics, because it is not put back. Otherwise one bad "+
		"object keeps a controller from ever starting.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"), "the error of Replace")
		t.Did("Pop, with a process function that fails")
		_, err := q.Pop(func(any, bool) error { return errors.New("the consumer failed") })
		require.Error(t, err, "the error of Pop with a process function that fails")
		t.Did("Pop, with a process function that panics")
		func() {
			defer func() { _ = recover() }()
			_, _ = q.Pop(func(any, bool) error { panic("a handler's bug") })
		}()
		require.True(t, q.HasSynced(), "the queue has synced after both keys were popped")
	})
}

func TestTask4_Process_is_told_what_belongs_to_the_first_list(t *testing.T) {
	guard.Test(t, "Pop calls process with the deltas, and with whether they belong to the first list. A key of the "+
		"first list belongs to it even if it has changed since.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"), "the error of Replace")
		require.NoError(t, q.Update(deploy("default/b@3")), "the error of Update")
		require.NoError(t, q.Add(deploy("default/c@4")), "the error of Add")
		for i, want := range []struct {
			popped  string
			initial bool
		}{
			{"default/a: Replaced @1", true},
			{"default/b: Replaced @2, Updated @3", true},
			{"default/c: Added @4", false},
		} {
			popped, initial := q.popInitial()
			require.Equal(t, want.popped, popped, "deltas of Pop %d", i+1)
			require.Equal(t, want.initial, initial, "isInInitialList of %s", popped)
		}

		q = newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		popped, initial := q.popInitial()
		t.Rule("After an event before any list there is no first list, so no key belongs to it.")
		require.Equal(t, false, initial, "isInInitialList of %s", popped)
	})
}

func TestTask4_Done_closes_when_synced(t *testing.T) {
	guard.Test(t, "Done returns a channel that is closed when HasSynced becomes true.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf(), Name: "deployments"})
		checker := q.HasSyncedChecker()
		require.Equal(t, "deployments", checker.Name(), "the Name of the HasSyncedChecker")
		synced := false
		t.Go(func() { <-checker.Done(); synced = true })
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
		synctest.Wait()
		require.False(t, synced, "Done is closed before the key of the first list was popped")
		q.pop()
		synctest.Wait()
		require.True(t, synced, "Done is closed after the key of the first list was popped")
		require.NoError(t, q.Replace(nil, "8"), "the error of a later Replace") // panics if it closes Done twice
		t.Rule("client-go's cache.WaitFor can wait for the queue.")
		require.True(t, cache.WaitFor(t.Context(), "", checker), "cache.WaitFor returns true for the synced queue")
	})
}

func TestTask4_Done_closes_without_a_Pop(t *testing.T) {
	guard.Test(t, "Done returns a channel that is closed when HasSynced becomes true: at once, if there is nothing to "+
		"pop.", func(t *guard.T) {
		for _, first := range []struct {
			name string
			call func(q recordedQueue) error
		}{
			{"an empty list", func(q recordedQueue) error { return q.Replace(nil, "7") }},
			{"an event before any list", func(q recordedQueue) error { return q.Add(deploy("default/web@1")) }},
		} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf()})
			synced := false
			t.Go(func() { <-q.HasSyncedChecker().Done(); synced = true })
			require.NoError(t, first.call(q), "the error of the first call")
			synctest.Wait()
			require.True(t, synced, "Done is closed after %s", first.name)
		}
	})
}

func TestTask4_Replace_happens_at_once(t *testing.T) {
	guard.Test(t, "All of Replace happens under one hold of the lock. A Pop in the middle of it takes a key that is not "+
		"counted yet, and the count stays wrong.", func(t *guard.T) {
		known := storeOf("default/gone@1")
		q := newQueue(t, options{KnownObjects: known})
		early := ""
		known.during = func() {
			known.during = nil
			t.Did("Pop, in the middle of the next call")
			popped := ""
			if meanwhile(t, func() {
				_, _ = q.Pop(func(obj any, _ bool) error { popped = showDeltas(obj); return nil })
			}) {
				early = popped
			}
		}
		require.NoError(t, q.Replace(deploys("default/web@2"), "7"), "the error of Replace")
		synctest.Wait()
		require.Empty(t, early, "deltas popped in the middle of Replace")
		require.False(t, q.HasSynced(), "the queue has synced after 1 of 2 keys was popped")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after both keys were popped")
	})
}
