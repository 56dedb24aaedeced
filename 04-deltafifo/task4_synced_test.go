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
	guard.Test(t, "nothing has been listed yet", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.False(t, q.HasSynced())
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"))
		t.Rule("the list is in the queue, and the consumer has not seen any of it")
		require.False(t, q.HasSynced())
		q.pop()
		t.Rule("one of two has been popped: a controller that starts now finds half a cluster")
		require.False(t, q.HasSynced())
		q.pop()
		t.Rule("both have been popped and processed")
		require.True(t, q.HasSynced())
	})
}

func TestTask4_Empty_list_is_synced_at_once(t *testing.T) {
	guard.Test(t, "there is nothing, and that is known now; nobody will ever pop in an empty cluster", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(nil, "7"))
		require.True(t, q.HasSynced())
	})
}

func TestTask4_Object_listed_twice_counts_once(t *testing.T) {
	guard.Test(t, "two objects of one key are popped at once: count keys. Who counts the list waits for ever "+
		"(#96797)", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/web@1", "default/web@2"), "7"))
		q.pop()
		require.True(t, q.HasSynced())
	})
}

func TestTask4_Deletions_of_the_first_list_count(t *testing.T) {
	guard.Test(t, "the deletion that the list brought about is still in the queue: until it is popped, the "+
		"consumer's store has an object that does not exist", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/gone@1")})
		require.NoError(t, q.Replace(deploys("default/web@2"), "7"))
		q.pop()
		require.False(t, q.HasSynced())
		q.pop()
		t.Rule("the object and the deletion have been popped")
		require.True(t, q.HasSynced())
	})
}

func TestTask4_Event_before_the_first_list_means_synced(t *testing.T) {
	guard.Test(t, "whoever starts with an event has no first list to wait for", func(t *guard.T) {
		for _, call := range []func(q told) error{
			func(q told) error { return q.Add(deploy("default/web@1")) },
			func(q told) error { return q.Update(deploy("default/web@1")) },
			func(q told) error { return q.Delete(deploy("default/known@2")) },
		} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf("default/known@1")})
			require.NoError(t, call(q))
			require.True(t, q.HasSynced())
			require.NoError(t, q.Replace(deploys("default/a@2"), "7"))
			t.Rule("and the list that comes later is not the first thing")
			require.True(t, q.HasSynced())
		}
	})
}

func TestTask4_Event_that_leaves_nothing_to_tell_is_an_event(t *testing.T) {
	guard.Test(t, "a deletion of something that nobody knows is not recorded, but it has come before any list", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Delete(deploy("default/web@1")))
		require.True(t, q.HasSynced())
	})
}

func TestTask4_Later_lists_change_nothing(t *testing.T) {
	guard.Test(t, "the first list had one key, and it has been popped; b is of the second list", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"))
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "8"))
		q.pop()
		require.True(t, q.HasSynced())
		require.NoError(t, q.Replace(deploys("default/c@3"), "9"))
		t.Rule("once synced, always synced")
		require.True(t, q.HasSynced())
	})
}

func TestTask4_Failed_list_is_not_the_first_list(t *testing.T) {
	guard.Test(t, "it has no key", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.Error(t, q.Replace([]any{"nameless"}, "7"))
		t.Rule("the list has not come through, so nothing is known of the cluster")
		require.False(t, q.HasSynced())
		require.NoError(t, q.Replace(deploys("default/a@1"), "8"))
		t.Rule("now it has come, and is still in the queue")
		require.False(t, q.HasSynced())
		q.pop()
		t.Rule("now it has been popped")
		require.True(t, q.HasSynced())
	})
}

func TestTask4_Key_that_could_not_be_processed_counts(t *testing.T) {
	guard.Test(t, "what process returns, Pop returns", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"))
		t.Did("Pop, with a process function that fails")
		_, err := q.Pop(func(any, bool) error { return errors.New("the consumer failed") })
		require.Error(t, err)
		t.Did("Pop, with a process function that panics")
		func() {
			defer func() { _ = recover() }()
			_, _ = q.Pop(func(any, bool) error { panic("a handler's bug") })
		}()
		t.Rule("both keys have been popped, and none comes again: one object that the consumer cannot take " +
			"must not keep a controller from ever starting")
		require.True(t, q.HasSynced())
	})
}

func TestTask4_Process_is_told_what_belongs_to_the_first_list(t *testing.T) {
	guard.Test(t, "first in, first out", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "7"))
		require.NoError(t, q.Update(deploy("default/b@3")))
		require.NoError(t, q.Add(deploy("default/c@4")))
		for _, want := range []struct {
			popped  string
			initial bool
			why     string
		}{
			{"default/a: Replaced @1", true, "a came with the first list: a handler is told so in OnAdd, and need not announce it as news"},
			{"default/b: Replaced @2, Updated @3", true, "b is the last one of the first list, and belongs to it although it has changed since"},
			{"default/c: Added @4", false, "c came after the list"},
		} {
			popped, initial := q.popInitial()
			require.Equal(t, want.popped, popped)
			t.Rule("%s", want.why)
			require.Equal(t, want.initial, initial)
		}

		q = newQueue(t, options{KnownObjects: storeOf()})
		require.NoError(t, q.Add(deploy("default/a@1")))
		_, initial := q.popInitial()
		t.Rule("without a first list nothing belongs to it")
		require.False(t, initial)
	})
}

func TestTask4_Done_closes_when_synced(t *testing.T) {
	guard.Test(t, "who waits for several queues wants to know which one is late", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf(), Name: "deployments"})
		checker := q.HasSyncedChecker()
		require.Equal(t, "deployments", checker.Name())
		synced := false
		t.Go(func() { <-checker.Done(); synced = true })
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"))
		synctest.Wait()
		t.Rule("a has not been popped yet")
		require.False(t, synced)
		q.pop()
		synctest.Wait()
		t.Rule("Done is closed at the moment when HasSynced becomes true: whoever waits need not ask again and " +
			"again")
		require.True(t, synced)
		require.NoError(t, q.Replace(nil, "8")) // panics if it is closed twice
		t.Rule("client-go's own WaitFor can wait for the queue")
		require.True(t, cache.WaitFor(t.Context(), "", checker))
	})
}

func TestTask4_Done_closes_without_a_Pop(t *testing.T) {
	guard.Test(t, "there is no first list to pop, so Done closes at once", func(t *guard.T) {
		for _, call := range []func(q told) error{
			func(q told) error { return q.Replace(nil, "7") },
			func(q told) error { return q.Add(deploy("default/web@1")) },
		} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf()})
			synced := false
			t.Go(func() { <-q.HasSyncedChecker().Done(); synced = true })
			require.NoError(t, call(q))
			synctest.Wait()
			require.True(t, synced)
		}
	})
}

func TestTask4_Replace_happens_at_once(t *testing.T) {
	guard.Test(t, "Replace is one step: a Pop in the middle of it takes a key that has not been counted yet, and "+
		"the count is wrong for ever after", func(t *guard.T) {
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
		require.NoError(t, q.Replace(deploys("default/web@2"), "7"))
		synctest.Wait()
		require.Empty(t, early)
		t.Rule("one of two has been popped")
		require.False(t, q.HasSynced())
		q.pop()
		t.Rule("both have been popped")
		require.True(t, q.HasSynced())
	})
}
