package deltafifo_test

// Task 5: Close and IsClosed.

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Close_wakes_every_Pop(t *testing.T) {
	guard.Test(t, "Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue "+
		"is empty. Otherwise the program hangs when it stops.", func(t *guard.T) {
		requireCloseWakes(t, func() recordedQueue { return newQueue(t, options{}) })
		q := newQueue(t, options{})
		q.Close()
		t.Did("Pop")
		_, err := q.Pop(func(any, bool) error { return nil })
		require.Equal(t, cache.ErrFIFOClosed, err, "the error of a Pop after Close")
	})
}

// requireCloseWakes requires that Close wakes each of three waiting Pops, also if keys have come that none has yet.
func requireCloseWakes(t *guard.T, queue func() recordedQueue) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no Pop runs between Add and Close
	for keys := range 3 {
		for range 20 {
			t.Story(8)
			var errs [3]error
			q, closed := queue(), 0
			for i := range errs {
				errs[i] = errors.New("still waiting")
				t.Go(func() { _, errs[i] = q.Pop(func(any, bool) error { return nil }) })
			}
			t.Did("three Pops wait")
			synctest.Wait()
			for i := range keys {
				require.NoError(t, q.Add(deploy(fmt.Sprintf("default/%d@1", i))), "the error of Add")
			}
			q.Close()
			synctest.Wait()
			for _, err := range errs {
				if errors.Is(err, cache.ErrFIFOClosed) {
					closed++
				}
			}
			require.Equal(t, 3-keys, closed, "Pops that have returned cache.ErrFIFOClosed")
		}
	}
}

func TestTask5_Closed_queue_is_drained_first(t *testing.T) {
	guard.Test(t, "The keys in a closed queue can still be popped. Then Pop returns "+
		"cache.ErrFIFOClosed.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "2"), "the error of Replace")
		q.Close()
		first, initial := q.popInitial()
		require.Equal(t, "default/a: Replaced @1", first, "deltas of the 1st Pop after Close")
		t.Rule("Pop calls process with whether the key belongs to the first list. It does not matter whether the queue is " +
			"closed.")
		require.True(t, initial, "isInInitialList of the 1st Pop after Close")
		t.Rule("Pop returns the error of process with the deltas, and does not put them back.")
		t.Did("Pop, with a process function that fails")
		popped, err := q.Pop(func(any, bool) error { return errLookup })
		require.ErrorIs(t, err, errLookup, "the error of the 2nd Pop after Close")
		require.Equal(t, "default/b: Replaced @2", showDeltas(popped), "deltas of the 2nd Pop after Close")
		t.Rule("HasSynced reports whether every key that was in the queue after the first Replace, deletions included, " +
			"has been popped and processed. It does not matter whether the queue is closed.")
		require.True(t, q.HasSynced(), "the queue has synced after both keys of the list were popped")
		t.Rule("If the queue is empty and closed, Pop returns cache.ErrFIFOClosed.")
		t.Did("Pop")
		_, err = q.Pop(func(any, bool) error { return nil })
		require.Equal(t, cache.ErrFIFOClosed, err, "the error of Pop when the closed queue is empty")
		t.Rule("The keys in a closed queue can still be popped. So can one that comes after that Pop.")
		require.NoError(t, q.Add(deploy("default/c@3")), "the error of Add after the last Pop")
		require.Equal(t, "default/c: Added @3", q.pop(), "deltas of the key that came after the last Pop")
	})
}

func TestTask5_Closed_queue_still_accepts_changes(t *testing.T) {
	guard.Test(t, "A closed queue still accepts changes. When a controller stops, its Reflector may be in the "+
		"middle of a call.", func(t *guard.T) {
		known := storeOf("default/a@1", "default/b@2", "default/c@3")
		q := newQueue(t, options{KnownObjects: known, Transformer: transformed})
		q.Close()
		require.NoError(t, q.Resync(), "the error of Resync after Close")
		known.objs["default/e"], known.objs["default/f"] = deploy("default/e@1"), deploy("default/f@1")
		t.Rule("HasSynced reports whether every key that was in the queue after the first Replace, deletions " +
			"included, has been popped and processed. Close is no list.")
		require.False(t, q.HasSynced(), "the queue has synced after Close")
		t.Rule("A closed queue still accepts changes.")
		require.NoError(t, q.Add(deploy("default/d@4")), "the error of Add after Close")
		require.NoError(t, q.Update(deploy("default/a@5")), "the error of Update after Close")
		require.NoError(t, q.Delete(deploy("default/b@6")), "the error of Delete after Close")
		require.NoError(t, q.Delete(deploy("default/e@6")), "the error of Delete after Close")
		require.NoError(t, q.Replace(deploys("default/a@7"), "7"), "the error of Replace after Close")
		require.ElementsMatch(t, []string{
			"default/a: Sync @1, Updated @5', Replaced @7'",
			"default/b: Sync @2, Deleted @6'",
			"default/c: Sync @3, Deleted tombstone(@3)",
			"default/d: Added @4', Deleted tombstone(@4')",
			"default/e: Deleted @6'",
			"default/f: Deleted tombstone(@1)",
		}, q.drain(), "all popped deltas; a ' stands for each call of the transformer")

		t.Story(8)
		q = newQueue(t, options{})
		q.Close()
		require.NoError(t, q.Replace(nil, "7"), "the error of the first Replace, after Close")
		require.True(t, q.HasSynced(), "the queue has synced after an empty list")

		t.Story(8)
		q = newQueue(t, options{})
		q.Close()
		t.Did("Pop")
		_, err := q.Pop(func(any, bool) error { return nil })
		require.Equal(t, cache.ErrFIFOClosed, err, "the error of Pop when the closed queue is empty")
		t.Rule("If Add, Update or Delete is called before any Replace, HasSynced is true from then on. It does not matter " +
			"whether the queue is closed.")
		require.False(t, q.HasSynced(), "the queue has synced before any event or list")
		require.NoError(t, q.Update(deploy("default/a@1")), "the error of the first Update, after Close")
		require.True(t, q.HasSynced(), "the queue has synced after the first event")
	})
}

func TestTask5_Close_twice_is_fine(t *testing.T) {
	guard.Test(t, "IsClosed reports whether Close has been called. It is true even if the queue still has "+
		"keys.", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.False(t, q.IsClosed(), "the queue is closed before the 1st Close")
		t.Did("Add default/a@1, and Close")
		q.Close()
		require.True(t, q.IsClosed(), "the queue is closed after the 1st Close")
		t.Did("Close")
		t.Rule("Closing again does nothing.")
		q.Close()
		require.True(t, q.IsClosed(), "the queue is closed after the 2nd Close")
		closeTwiceAtOnce(t, func() cache.Queue { return deltafifo.NewDeltaFIFOWithOptions(options{}) })
	})
}

// closeTwiceAtOnce lets two goroutines close the same queue.
func closeTwiceAtOnce(t *guard.T, queue func() cache.Queue) {
	t.Rule("Closing again does nothing. Every method may be called from any goroutine.")
	const rounds = 5_000
	t.Did("two goroutines call Close at once, %d times, each time of another queue", rounds)
	var queues [rounds]cache.Queue
	for i := range queues {
		queues[i] = queue()
	}
	guard.Meet(t, rounds, func(i int) { queues[i].Close() })
}

// Pop sees that the queue is open, and then it waits. There must be no gap between the two for Close. A gap is only
// nanoseconds wide, so the test runs Pop and Close together many times, and Close starts a little later each time. If
// Close waits for the lock, there is usually no gap, and fewer rounds are enough.
func TestTask5_No_Pop_sleeps_through_Close(t *testing.T) {
	guard.Test(t, "Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue "+
		"is empty. A Pop that has seen an open queue but does not wait yet must notice Close too "+
		"(#90581).", func(t *guard.T) {
		checkCloseWhilePopping(t, func() cache.Queue { return deltafifo.NewDeltaFIFOWithOptions(options{}) })
	})
}

// checkCloseWhilePopping requires that a Pop returns if Close is called at the same time.
func checkCloseWhilePopping(t *guard.T, queue func() cache.Queue) {
	t.Helper()
	rounds := int64(400_000)
	if guard.RaceDetector {
		rounds /= 10 // the detector does not look for this
	}
	q := queue()
	require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
	_, err := q.Pop(func(any, bool) error {
		if !meanwhile(t, q.Close) {
			rounds = 1_000
		}
		return nil
	})
	require.NoError(t, err, "the error of Pop")
	t.Did("Pop and Close at the same time, again and again")
	require.True(t, closeWhilePopping(t, queue, rounds), "every Pop returns after Close")
}

// closeWhilePopping reports whether each Pop returned.
func closeWhilePopping(t *guard.T, queue func() cache.Queue, rounds int64) bool {
	queues := make(chan cache.Queue)
	defer close(queues)
	var begun, ended atomic.Int64
	t.Go(func() {
		for q := range queues {
			begun.Add(1)
			_, _ = q.Pop(func(any, bool) error { return nil })
			ended.Add(1)
		}
	})
	for round := int64(1); round <= rounds; round++ {
		q := queue()
		queues <- q
		for turns := 0; begun.Load() < round; turns++ {
			if turns > 1_000 {
				runtime.Gosched()
			}
		}
		for range round % 100 {
			begun.Load() // a nanosecond or so
		}
		q.Close()
		for turns := 0; ended.Load() < round && turns < 100; turns++ {
		}
		if ended.Load() < round {
			synctest.Wait() // now it has ended, or it never will
		}
		if ended.Load() < round {
			q.Close() // end it
			return false
		}
	}
	return true
}
