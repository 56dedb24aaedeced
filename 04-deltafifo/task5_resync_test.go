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
	guard.Test(t, "nothing has happened, and the consumer wants to look at everything again; Sync says that this "+
		"is all it is", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2")})
		require.NoError(t, q.Resync())
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/b: Sync @2"}, q.drain())
	})
}

func TestTask5_Resync_leaves_out_what_is_pending(t *testing.T) {
	guard.Test(t, "changes of a and b are on their way, and the known objects are older: a Sync behind them takes "+
		"the cache back in time, and brings a deleted object back to life (#32125)", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2", "default/c@3")})
		require.NoError(t, q.Update(deploy("default/a@5")))
		require.NoError(t, q.Delete(deploy("default/b@6")))
		require.NoError(t, q.Resync())
		require.Equal(t, []string{"default/a: Updated @5", "default/b: Deleted @6", "default/c: Sync @3"}, q.drain())
	})
}

func TestTask5_Resync_before_the_first_list_means_nothing(t *testing.T) {
	guard.Test(t, "a Resync brings nothing from the server", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1")})
		require.NoError(t, q.Resync())
		require.False(t, q.HasSynced())
		require.NoError(t, q.Replace(deploys("default/b@2"), "7"))
		q.pop()
		t.Rule("what the Resync put into the queue is part of what the first list found there, and a deletion " +
			"now")
		require.False(t, q.HasSynced())
		q.pop()
		t.Rule("both keys have been popped")
		require.True(t, q.HasSynced())
	})
}

func TestTask5_Resync_twice_is_once(t *testing.T) {
	guard.Test(t, "the first Sync is still pending; a consumer that is slower than the resync period would "+
		"otherwise fall behind for ever", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1")})
		require.NoError(t, q.Resync())
		require.NoError(t, q.Resync())
		require.Equal(t, []string{"default/a: Sync @1"}, q.drain())
	})
}

func TestTask5_Resync_does_not_transform(t *testing.T) {
	guard.Test(t, "the known object has been through the transformer, and everybody reads it: a transformer that "+
		"changes it in place would race with them all (#124337)", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1"), Transformer: transformed})
		require.NoError(t, q.Resync())
		require.Equal(t, "default/a: Sync @1", q.pop())
	})
}

func TestTask5_Resync_without_known_objects_does_nothing(t *testing.T) {
	guard.Test(t, "KnownObjects is nil: nobody remembers anything", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		q.pop()
		require.NoError(t, q.Resync())
		require.Empty(t, q.drain())
	})
}

func TestTask5_Resync_leaves_out_what_cannot_be_found(t *testing.T) {
	guard.Test(t, "one object that cannot be found is no reason to end the watch, which is what the Reflector "+
		"does if Resync fails", func(t *guard.T) {
		known := storeOf("default/a@1", "default/broken@2", "default/c@3")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Resync())
		t.Rule("the others are told all the same")
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/c: Sync @3"}, q.drain())
	})
}

func TestTask5_Close_wakes_every_Pop(t *testing.T) {
	guard.Test(t, "everyone who waits has to hear of it, not just one: Broadcast, not Signal", func(t *guard.T) {
		q := newQueue(t, options{})
		var errs [3]error
		for i := range errs {
			t.Go(func() { _, errs[i] = q.Pop(func(any, bool) error { return nil }) })
		}
		t.Did("three Pops wait")
		synctest.Wait()
		q.Close()
		synctest.Wait()
		for _, err := range errs {
			require.ErrorIs(t, err, cache.ErrFIFOClosed)
		}
		t.Did("Pop")
		_, err := q.Pop(func(any, bool) error { return nil })
		t.Rule("a Pop that comes later does not wait either")
		require.ErrorIs(t, err, cache.ErrFIFOClosed)
	})
}

func TestTask5_Closed_queue_is_drained_first(t *testing.T) {
	guard.Test(t, "what is in the queue when it is closed can still be popped", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		require.NoError(t, q.Add(deploy("default/b@2")))
		q.Close()
		require.Equal(t, "default/a: Added @1", q.pop())
		require.Equal(t, "default/b: Added @2", q.pop())
		t.Did("Pop")
		_, err := q.Pop(func(any, bool) error { return nil })
		t.Rule("closed, and empty")
		require.ErrorIs(t, err, cache.ErrFIFOClosed)
	})
}

func TestTask5_Close_twice_is_fine(t *testing.T) {
	guard.Test(t, "it is open", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		t.Did("Close, and Close")
		require.False(t, q.IsClosed())
		q.Close()
		t.Rule("it is closed")
		require.True(t, q.IsClosed())
		q.Close()
		t.Rule("it is closed, still")
		require.True(t, q.IsClosed())
	})
}

// Between the moment when Pop has seen that the queue is open and the moment when it sleeps, Close must find no gap. A
// gap is some nanoseconds wide, so Pop and Close are let loose on each other very often, Close a little later each time.
// A Close that waits for the lock leaves no gap, as a rule; then fewer rounds will do.
func TestTask5_No_Pop_sleeps_through_Close(t *testing.T) {
	guard.Test(t, "a Pop sleeps in a closed queue: Close came after Pop had seen that the queue is open, and "+
		"before it slept, so it woke nobody. The flag must be set under the lock that Pop holds all "+
		"that time (#90581)", func(t *guard.T) {
		rounds := int64(400_000)
		if guard.RaceDetector {
			rounds /= 10 // the detector does not look for this
		}
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		_, err := q.Pop(func(any, bool) error {
			if !meanwhile(t, q.Close) {
				rounds = 1_000
			}
			return nil
		})
		require.NoError(t, err)
		t.Did("Pop and Close at the same time, again and again")
		require.True(t, closeWhilePopping(t, rounds))
	})
}

// closeWhilePopping says whether each Pop came back.
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
	guard.Test(t, "a is in the queue no more, and in the known objects not yet: who compares in that moment, and "+
		"does not wait for the lock, thinks that there is no a", func(t *guard.T) {
		for _, c := range []struct {
			call func(q told) error
			want string
		}{
			{func(q told) error { return q.Delete(deploy("default/a@2")) }, "default/a: Deleted @2"},
			{func(q told) error { return q.Replace(nil, "7") }, "default/a: Deleted tombstone(@1)"},
			{func(q told) error { return q.Resync() }, "default/a: Sync @1"},
		} {
			t.Story(8)
			known := storeOf()
			q := newQueue(t, options{KnownObjects: known})
			require.NoError(t, q.Add(deploy("default/a@1")))
			t.Did("Pop; before process has put a into the store, call from another goroutine")
			_, err := q.Pop(func(popped any, _ bool) error {
				meanwhile(t, func() { _ = c.call(q) })
				known.take(popped)
				return nil
			})
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, []string{c.want}, q.drain())
		}
	})
}

func TestTask5_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "every method may be called from any goroutine: each takes the lock before it touches a field", func(t *guard.T) {
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
				_ = q.Add(deploy("default/c@3")) // so that nobody waits for ever
				_, _ = q.Pop(func(obj any, _ bool) error { known.take(obj); return nil })
			},
		)
		q.Close()
	})
}

func TestTask5_IsClosed_takes_the_lock(t *testing.T) {
	guard.Race(t, "Close changes a field that IsClosed reads, so both take the lock", func(t *guard.T) {
		t.Did("Close and IsClosed, from two goroutines")
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		guard.Storm(func(int) { q.Close() }, func(int) { q.IsClosed() })
	})
}
