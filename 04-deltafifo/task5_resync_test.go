package deltafifo_test

// Task 5: Resync and Close. What is checked over the whole chapter is in task5_whole_test.go.

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Resync_tells_of_every_known_object(t *testing.T) {
	guard.Test(t, "Resync records a Sync of every known object that has no pending deltas: the consumer wants to look "+
		"at everything again.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2")})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/b: Sync @2"}, q.drain(), "all popped deltas")
	})
}

func TestTask5_Resync_leaves_out_what_is_pending(t *testing.T) {
	guard.Test(t, "Nothing goes back in time: Resync leaves out an object with pending deltas, because they are newer "+
		"than the known object. A Sync behind them would bring a deleted object back to life (#32125).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2", "default/c@3")})
		require.NoError(t, q.Update(deploy("default/a@5")), "the error of Update")
		require.NoError(t, q.Delete(deploy("default/b@6")), "the error of Delete")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t, []string{"default/a: Updated @5", "default/b: Deleted @6", "default/c: Sync @3"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask5_Resync_before_the_first_list_means_nothing(t *testing.T) {
	guard.Test(t, "A Resync brings nothing from the server, so it is not an event, and the Replace after it is the "+
		"first list.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1")})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.False(t, q.HasSynced(), "the queue has synced after a Resync alone")
		require.NoError(t, q.Replace(deploys("default/b@2"), "7"), "the error of Replace")
		q.pop()
		t.Rule("HasSynced counts a key that was pending when the first Replace came, too: that Replace records its deletion.")
		require.False(t, q.HasSynced(), "the queue has synced after 1 of 2 keys was popped")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after both keys were popped")
	})
}

func TestTask5_Resync_twice_is_once(t *testing.T) {
	guard.Test(t, "Resync leaves out an object with pending deltas, even if that is a Sync. Otherwise a consumer that "+
		"is slower than the resync period falls behind forever.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1")})
		require.NoError(t, q.Resync(), "the error of the 1st Resync")
		require.NoError(t, q.Resync(), "the error of the 2nd Resync")
		require.Equal(t, []string{"default/a: Sync @1"}, q.drain(), "all popped deltas")
	})
}

func TestTask5_Resync_does_not_transform(t *testing.T) {
	guard.Test(t, "The objects of a Resync do not go through the transformer, because they have already. Others read "+
		"them, so a transformer that writes to them is a data race (#124337).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1"), Transformer: transformed})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t, "default/a: Sync @1", q.pop(), "the popped deltas")
	})
}

func TestTask5_Resync_without_known_objects_does_nothing(t *testing.T) {
	guard.Test(t, "Without known objects (nil) Resync does nothing.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		q.pop()
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Empty(t, q.drain(), "all deltas popped after Resync")
	})
}

func TestTask5_Resync_leaves_out_what_cannot_be_found(t *testing.T) {
	guard.Test(t, "A known object that cannot be found is left out, and Resync returns nil. The Reflector ends its "+
		"watch if Resync fails.", func(t *guard.T) {
		known := storeOf("default/a@1", "default/broken@2", "default/c@3")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/c: Sync @3"}, q.drain(), "all popped deltas")
	})
}

func TestTask5_Close_wakes_every_Pop(t *testing.T) {
	guard.Test(t, "Close lets every Pop that waits, and every later one, return cache.ErrFIFOClosed. Use Broadcast, "+
		"because Signal wakes one.", func(t *guard.T) {
		q := newQueue(t, options{})
		var errs [3]error
		for i := range errs {
			t.Go(func() { _, errs[i] = q.Pop(func(any, bool) error { return nil }) })
		}
		t.Did("three Pops wait")
		synctest.Wait()
		q.Close()
		synctest.Wait()
		for i, err := range errs {
			require.ErrorIs(t, err, cache.ErrFIFOClosed, "the error of waiting Pop %d of 3", i+1)
		}
		t.Did("Pop")
		_, err := q.Pop(func(any, bool) error { return nil })
		require.ErrorIs(t, err, cache.ErrFIFOClosed, "the error of a Pop after Close")
	})
}

func TestTask5_Closed_queue_is_drained_first(t *testing.T) {
	guard.Test(t, "The keys in a closed queue can still be popped. When it is empty Pop returns "+
		"cache.ErrFIFOClosed.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		q.Close()
		require.Equal(t, "default/a: Added @1", q.pop(), "deltas of the 1st Pop after Close")
		require.Equal(t, "default/b: Added @2", q.pop(), "deltas of the 2nd Pop after Close")
		t.Did("Pop")
		_, err := q.Pop(func(any, bool) error { return nil })
		require.ErrorIs(t, err, cache.ErrFIFOClosed, "the error of Pop when the closed queue is empty")
	})
}

func TestTask5_Close_twice_is_fine(t *testing.T) {
	guard.Test(t, "IsClosed reports whether Close has been called. Closing again does nothing.", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		t.Did("Close, and Close")
		require.False(t, q.IsClosed(), "the queue is closed before the 1st Close")
		q.Close()
		require.True(t, q.IsClosed(), "the queue is closed after the 1st Close")
		q.Close()
		require.True(t, q.IsClosed(), "the queue is closed after the 2nd Close")
	})
}

// Pop looks whether the queue is open, and then it sleeps. Close must not find a gap between the two. A gap is some
// nanoseconds wide, so the test runs Pop and Close together very often, and Close comes a little later each time. A
// Close that waits for the lock leaves no gap, as a rule; then fewer rounds are enough.
func TestTask5_No_Pop_sleeps_through_Close(t *testing.T) {
	guard.Test(t, "Close sets the flag under the lock. Otherwise it can come after Pop has seen an open queue and "+
		"before Pop sleeps: then it wakes nobody, and the Pop sleeps forever (#90581).", func(t *guard.T) {
		rounds := int64(400_000)
		if guard.RaceDetector {
			rounds /= 10 // the detector does not look for this
		}
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		_, err := q.Pop(func(any, bool) error {
			if !meanwhile(t, q.Close) {
				rounds = 1_000
			}
			return nil
		})
		require.NoError(t, err, "the error of Pop")
		t.Did("Pop and Close at the same time, again and again")
		require.True(t, closeWhilePopping(t, rounds), "every Pop returns after Close")
	})
}

// closeWhilePopping reports whether each Pop returned.
func closeWhilePopping(t *guard.T, rounds int64) bool {
	queues := make(chan *deltafifo.DeltaFIFO)
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
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
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
			synctest.Wait() // now it has ended, or never will
		}
		if ended.Load() < round {
			q.Close() // set it free
			return false
		}
	}
	return true
}

func TestTask5_What_compares_waits_for_process(t *testing.T) {
	guard.Test(t, "Delete, Replace and Resync compare under the lock, so they wait for process. Before it ends, the "+
		"popped key is neither in the queue nor in the known objects.", func(t *guard.T) {
		for _, c := range []struct {
			name string
			call func(q recordedQueue) error
			want string
		}{
			{
				"Delete", func(q recordedQueue) error { return q.Delete(deploy("default/a@2")) },
				"default/a: Deleted @2",
			},
			{
				"Replace", func(q recordedQueue) error { return q.Replace(nil, "7") },
				"default/a: Deleted tombstone(@1)",
			},
			{
				"Resync", func(q recordedQueue) error { return q.Resync() },
				"default/a: Sync @1",
			},
		} {
			t.Story(8)
			known := storeOf()
			q := newQueue(t, options{KnownObjects: known})
			require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
			t.Did("Pop; before process has put a into the store, call %s from another goroutine", c.name)
			_, err := q.Pop(func(popped any, _ bool) error {
				meanwhile(t, func() { _ = c.call(q) })
				known.take(popped)
				return nil
			})
			require.NoError(t, err, "the error of Pop")
			synctest.Wait()
			require.Equal(t, []string{c.want}, q.drain(), "all deltas popped after the %s that waited", c.name)
		}
	})
}

func TestTask5_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine: each takes the lock before it touches a "+
		"field.", func(t *guard.T) {
		known := storeOf("default/d@1", "default/e@1")
		q := deltafifo.NewDeltaFIFOWithOptions(options{KnownObjects: known, EmitDeltaTypeReplaced: true})
		t.Did("every method, from eight goroutines")
		guard.Storm(
			func(i int) { _ = q.Add(deploy("default/a@1")) },
			func(i int) { _ = q.Update(deploy("default/b@2")) },
			func(i int) { _ = q.Delete(deploy("default/d@2")) },
			func(i int) { _ = q.Replace(deploys("default/a@3", "default/d@3"), "3") },
			func(i int) { _ = q.Resync() },
			func(i int) { q.HasSynced() },
			func(i int) { q.IsClosed() },
			func(i int) {
				_ = q.Add(deploy("default/c@3")) // so that no Pop waits forever
				_, _ = q.Pop(func(obj any, _ bool) error { known.take(obj); return nil })
			},
		)
		q.Close()
	})
}

func TestTask5_IsClosed_takes_the_lock(t *testing.T) {
	guard.Race(t, "Close writes the field that IsClosed reads, so both take the lock.", func(t *guard.T) {
		t.Did("Close and IsClosed, from two goroutines")
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		guard.Storm(func(int) { q.Close() }, func(int) { q.IsClosed() })
	})
}
