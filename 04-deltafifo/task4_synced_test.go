package deltafifo_test

// Task 4: HasSynced, Done and the first list.

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/guardpage"
)

func TestTask4_Synced_when_the_first_list_has_been_popped(t *testing.T) {
	guard.Test(t, "HasSynced reports whether every key that was in the queue after the first Replace, deletions "+
		"included, has been popped and processed. A controller that starts earlier sees half a "+
		"cluster.", func(t *guard.T) {
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
	guard.Test(t, "An empty list is synced at once. There is nothing to pop.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.True(t, q.HasSynced(), "the queue has synced after an empty list")
	})
}

func TestTask4_Object_listed_twice_counts_once(t *testing.T) {
	guard.Test(t, "A key counts once, even if the list had two objects of it. They are popped together, so a "+
		"queue that counts objects waits forever (#96797).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/web@1", "default/web@2"), "7"), "the error of Replace")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after its only key was popped")
	})
}

func TestTask4_Deletions_of_the_first_list_count(t *testing.T) {
	guard.Test(t, "HasSynced reports whether every key that was in the queue after the first Replace, deletions "+
		"included, has been popped and processed. Until then the store holds objects that do not "+
		"exist.", func(t *guard.T) {
		for _, list := range [][]any{deploys("default/web@2"), nil} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf("default/gone@1")})
			require.NoError(t, q.Replace(list, "7"), "the error of Replace")
			for range list {
				q.pop()
			}
			require.False(t, q.HasSynced(), "the queue has synced before the deletion was popped")
			q.pop()
			require.True(t, q.HasSynced(), "the queue has synced after its last key was popped")
		}
	})
}

func TestTask4_Event_before_the_first_list_means_synced(t *testing.T) {
	guard.Test(t, "If Add, Update or Delete is called before any Replace, HasSynced is true from then on. There "+
		"is no first list to wait for.", func(t *guard.T) {
		for _, call := range []func(q recordedQueue) error{
			func(q recordedQueue) error { return q.Add(deploy("default/web@1")) },
			func(q recordedQueue) error { return q.Update(deploy("default/web@1")) },
			func(q recordedQueue) error { return q.Delete(deploy("default/known@2")) },
		} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf("default/known@1")})
			require.NoError(t, call(q), "the error of the first call")
			require.True(t, q.HasSynced(), "the queue has synced after the first event")
			t.Rule("Once true, HasSynced stays true. Pop counts only the keys of the first list.")
			q.pop()
			require.True(t, q.HasSynced(),
				"the queue has still synced after the key of the first event was popped")
			require.NoError(t, q.Replace(deploys("default/a@2"), "7"), "the error of Replace")
			require.True(t, q.HasSynced(),
				"the queue has still synced after the list that follows the event")
			t.Rule("If Add, Update or Delete is called before any Replace, no key belongs to the first list.")
			_, initial := q.popInitial()
			require.False(t, initial, "a key of the list that follows the event belongs to the first list")
			t.Rule("If Add, Update or Delete is called before any Replace, HasSynced is true from then on.")
		}
	})
}

func TestTask4_Delete_that_records_nothing_is_an_event(t *testing.T) {
	guard.Test(t, "A Delete before any Replace makes HasSynced true, even if it records "+
		"nothing.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Delete(deploy("default/web@1")), "the error of Delete")
		require.True(t, q.HasSynced(), "the queue has synced after the first event")
	})
}

func TestTask4_Later_lists_change_nothing(t *testing.T) {
	guard.Test(t, "Once true, HasSynced stays true. HasSynced counts only keys of the first "+
		"list.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of the 1st Replace")
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "8"),
			"the error of the 2nd Replace")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after the only key of the 1st list was popped")
		require.NoError(t, q.Replace(deploys("default/c@3"), "9"), "the error of the 3rd Replace")
		require.True(t, q.HasSynced(), "the queue has still synced after the 3rd list")
		t.Did("Pop; while process runs, HasSynced on another goroutine")
		synced := true
		_, err := q.Pop(func(any, bool) error { // HasSynced may wait for process
			meanwhile(t, func() { synced = q.HasSynced() })
			return nil
		})
		require.NoError(t, err, "the error of Pop")
		synctest.Wait()
		require.True(t, synced, "the queue has still synced while process is running")
	})
}

func TestTask4_Failed_list_is_not_the_first_list(t *testing.T) {
	guard.Test(t, "A Replace that fails is not the first list. The next one is.", func(t *guard.T) {
		fails := false
		q := newQueue(t, options{KnownObjects: storeOf(), Transformer: func(obj any) (any, error) {
			if fails {
				return nil, errors.New("cannot transform this")
			}
			return obj, nil
		}})
		require.Error(t, q.Replace([]any{"nameless"}, "7"), "the error of Replace with an object without a key")
		require.False(t, q.HasSynced(), "the queue has synced after a Replace that failed")
		fails = true
		require.Error(t, q.Replace(deploys("default/a@1"), "8"),
			"the error of Replace when the transformer fails")
		require.False(t, q.HasSynced(), "the queue has synced after a Replace that failed")
		fails = false
		require.NoError(t, q.Replace(deploys("default/a@1"), "8"), "the error of the 2nd Replace")
		require.False(t, q.HasSynced(), "the queue has synced before the key of the 2nd Replace was popped")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after the key of the 2nd Replace was popped")
	})
}

func TestTask4_Key_that_could_not_be_processed_counts(t *testing.T) {
	guard.Test(t, "A key counts even if process returned an error or panicked. It is not put back, so one bad "+
		"object would keep a controller from starting.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
		t.Did("Pop, with a process function that fails")
		_, err := q.Pop(func(any, bool) error { return errors.New("the consumer failed") })
		require.Error(t, err, "the error of Pop with a process function that fails")
		require.True(t, q.HasSynced(), "the queue has synced after its only key was popped")

		q = newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
		t.Did("Pop, with a process function that panics")
		panicOf(q)
		t.Rule("If process panics, Pop releases the lock, counts the key as processed, and panics too.")
		require.True(t, q.HasSynced(), "the queue has synced after its only key was popped")

		for _, panics := range []bool{false, true} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf()})
			require.NoError(t, q.Replace(deploys("ns/a@1", "ns/b@1", "ns/c@1"), "7"), "the error of Replace")
			t.Rule("A key counts even if process returned an error or panicked. It counts once.")
			requireFailuresCountOnce(t, q, 3, panics)
		}
	})
}

// requireFailuresCountOnce requires that the queue has synced after n Pops whose process function fails.
func requireFailuresCountOnce(t *guard.T, q recordedQueue, n int, panics bool) {
	t.Helper()
	for i := range n {
		require.False(t, q.HasSynced(), "the queue has synced after %d of %d Pops", i, n)
		if t.Did("Pop, with a process function that fails; it panics: %t", panics); panics {
			panicOf(q)
			continue
		}
		_, err := q.Pop(func(any, bool) error { return errLookup })
		require.Error(t, err, "the error of Pop with a process function that fails")
	}
	require.True(t, q.HasSynced(), "the queue has synced after %d of %[1]d Pops", n)
	t.Rule("Pop returns the error of process with the deltas, and does not put them back.")
	require.Empty(t, q.drain(), "what is left after the Pops")
}

func TestTask4_Process_learns_which_keys_belong_to_the_first_list(t *testing.T) {
	guard.Test(t, "Pop removes the first key and calls process with its cache.Deltas, oldest first, and with "+
		"whether the key belongs to the first list. A key of the first list may have changed "+
		"since.", func(t *guard.T) {
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

		for _, waits := range []bool{false, true} { // Pop may wait while it is decided whether there is a first list
			q := newQueue(t, options{KnownObjects: storeOf()})
			initial := true
			pop := func() { _, _ = q.Pop(func(_ any, first bool) error { initial = first; return nil }) }
			if waits {
				t.Did("a Pop waits")
				t.Go(pop)
				synctest.Wait()
			}
			require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
			if !waits {
				t.Did("Pop")
				pop()
			}
			synctest.Wait()
			t.Rule("After an event before any list there is no first list, so no key belongs to it.")
			require.Equal(t, false, initial, "isInInitialList of default/a")
		}
	})
}

func TestTask4_Pop_does_not_look_for_its_key_in_the_first_list(t *testing.T) {
	guard.Test(t, "Add, Update, Delete and Pop do the same amount of work, however many keys are pending or known. "+
		"Pop compares its key with only a few keys of the first list.", func(t *guard.T) {
		t.Did("Replace in %d queues with up to 1000 keys, and Pop all of them", guardpage.Stores)
		reads := guardpage.Reads(t, func(keys []string, own string) func() {
			q := deltafifo.NewDeltaFIFOWithOptions(options{
				KeyFunction: func(obj any) (string, error) { return obj.(string), nil },
			})
			var list []any
			for _, key := range append(notPending(keys, own), own) {
				list = append(list, key)
			}
			_ = q.Replace(list, "7")
			pop := func() { _, _ = q.Pop(func(any, bool) error { return nil }) }
			for range list[1:] {
				pop()
			}
			return pop
		})
		require.LessOrEqual(t, reads, guardpage.Most, "last Pops that read other keys")
	})
}

func TestTask4_Keys_that_come_back_are_not_counted_again(t *testing.T) {
	guard.Test(t, "HasSynced reports whether every key that was in the queue after the first Replace, deletions "+
		"included, has been popped and processed. The task's table shows this case.", func(t *guard.T) {
		known := storeOf("default/c@0")
		q := newQueue(t, options{KnownObjects: known})
		require.False(t, q.HasSynced(), "the queue has synced before the first list")
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"),
			"the error of the 1st Replace")
		require.False(t, q.HasSynced(), "the queue has synced before any of its 3 keys was popped")
		for i, row := range []struct {
			popped          string
			initial, synced bool
		}{
			{"default/a: Replaced @1", true, false},
			{"default/b: Replaced @2, Replaced @4", true, false},
			{"default/c: Deleted tombstone(@0)", true, true},
			{"default/a: Replaced @3", false, true},
		} {
			popped, initial := q.popInitial()
			delete(known.objs, "default/c")
			require.Equal(t, row.popped, popped, "deltas of Pop %d", i+1)
			require.Equal(t, row.initial, initial, "isInInitialList of %s", popped)
			require.Equal(t, row.synced, q.HasSynced(), "HasSynced after Pop %d", i+1)
			if i == 0 {
				require.NoError(t, q.Replace(deploys("default/a@3", "default/b@4"), "8"),
					"the error of the 2nd Replace")
			}
		}
	})
}

func TestTask4_Done_closes_when_synced(t *testing.T) {
	guard.Test(t, "Done returns a channel that is closed when HasSynced becomes true.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf(), Name: "deployments"})
		checker := q.HasSyncedChecker()
		require.Equal(t, "deployments", checker.Name(), "the Name of the HasSyncedChecker")
		synced, done := false, checker.Done() // long before the first list
		other := q.HasSyncedChecker().Done()
		t.Go(func() { <-done; <-other; synced = true })
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
		synctest.Wait()
		require.False(t, synced, "Done is closed before the key of the first list was popped")
		q.pop()
		synctest.Wait()
		require.True(t, synced, "both results of Done are closed after the key of the first list was popped")
		select {
		case <-checker.Done():
			done = nil
		default:
		}
		require.Nil(t, done, "Done when HasSynced is true, if it is not closed yet")
		require.NoError(t, q.Replace(nil, "8"),
			"the error of a later Replace") // a second close would panic
		t.Rule("client-go's cache.WaitFor can wait for the queue.")
		require.True(t, cache.WaitFor(t.Context(), "", checker),
			"cache.WaitFor returns true for the synced queue")

		t.Story(8)
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no other goroutine runs between Pop and the select
		q = newQueue(t, options{KnownObjects: storeOf()})
		done = q.HasSyncedChecker().Done()
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
		t.Did("Pop")
		_, _ = q.Pop(func(any, bool) error { return nil })
		t.Rule("Done returns a channel that is closed when HasSynced becomes true. That is before Pop returns.")
		select {
		case <-done:
			done = nil
		default:
		}
		require.Nil(t, done, "Done after Pop, if it is not closed yet")
	})
}

func TestTask4_Done_closes_without_a_Pop(t *testing.T) {
	guard.Test(t, "Done returns a channel that is closed when HasSynced becomes true. If there is nothing to "+
		"pop, that is at once.", func(t *guard.T) {
		for _, first := range []struct {
			name string
			call func(q recordedQueue) error
		}{
			{"an empty list", func(q recordedQueue) error { return q.Replace(nil, "7") }},
			{"an event before any list", func(q recordedQueue) error {
				return q.Add(deploy("default/web@1"))
			}},
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

func TestTask4_Waiting_for_Done_wakes_no_Pop_less(t *testing.T) {
	guard.Test(t, "Each new key wakes one Pop, and Close wakes all. A goroutine that waits for Done is not a Pop.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf()})
			t.Did("wait for Done")
			synced, popped := false, ""
			t.Go(func() { <-q.HasSyncedChecker().Done(); synced = true })
			synctest.Wait()
			t.Go(func() { popped = q.popWaiting() })
			synctest.Wait()
			require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
			synctest.Wait()
			require.Equal(t, "default/a: Replaced @1", popped, "the deltas of the Pop that waited")
			require.True(t, synced, "Done is closed after the Pop")
		})
}

func TestTask4_Replace_is_one_step(t *testing.T) {
	guard.Test(t, "Replace is one step: no other call takes effect in the middle of it. Otherwise a Pop can take "+
		"a key before Replace counts it, and the count stays wrong.", func(t *guard.T) {
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
