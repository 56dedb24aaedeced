package deltafifo_test

// Task 5: Resync and Close. The tests of the whole chapter are in task5_whole_test.go.

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Resync_records_every_known_object(t *testing.T) {
	guard.Test(t, "Resync records a Sync for every known object without pending deltas, in any order. Objects of "+
		"the same name in two namespaces are two objects.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("blue/a@1", "blue/b@2", "green/a@3")})
		require.NoError(t, q.Update(deploy("blue/b@4")), "the error of Update")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.ElementsMatch(t,
			[]string{"blue/b: Updated @4", "blue/a: Sync @1", "green/a: Sync @3"}, q.drain(),
			"all popped deltas")

		known := storeOf()
		q = newQueue(t, options{KnownObjects: known})
		for i := range 1_001 {
			known.objs[fmt.Sprintf("default/%d", i)] = deploy(fmt.Sprintf("default/%d@1", i))
			require.NoError(t, q.Queue.Add(deploy(fmt.Sprintf("default/new-%d@2", i))), "the error of Add")
		}
		t.Did("1001 objects are known, and 1001 others pending")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t, 2*1_001, len(q.drain()), "keys popped after Resync")
	})
}

func TestTask5_Resync_wakes_as_many_Pops_as_there_are_keys(t *testing.T) {
	guard.Test(t, "Each new key wakes one Pop, and Close wakes all. Resync wakes one for each Sync that it "+
		"records.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2", "default/c@3")})
			left := 3
			for range 3 {
				t.Go(func() {
					_, _ = q.Pop(func(any, bool) error { left--; return nil })
				})
			}
			t.Did("three Pops wait")
			synctest.Wait()
			require.NoError(t, q.Resync(), "the error of Resync")
			synctest.Wait()
			require.Equal(t, 0, left, "Pops that still wait")
		})
}

func TestTask5_Resync_leaves_out_pending_objects(t *testing.T) {
	guard.Test(t, "No delta is popped after a newer one of its object. Resync leaves out an object with pending "+
		"deltas, because a Sync behind them could bring a deleted object back (#32125).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2", "default/c@3")})
		require.NoError(t, q.Update(deploy("default/a@5")), "the error of Update")
		require.NoError(t, q.Delete(deploy("default/b@6")), "the error of Delete")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t,
			[]string{"default/a: Updated @5", "default/b: Deleted @6", "default/c: Sync @3"}, q.drain(),
			"all popped deltas, in order")
	})
}

func TestTask5_Resync_before_the_first_list_means_nothing(t *testing.T) {
	guard.Test(t, "A Resync is not an event: HasSynced does not become true. A Resync does not come from the "+
		"server, and the Replace after it is the first list.", func(t *guard.T) {
		for before := range 3 { // keys that are popped before the list
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf("ns/a@1", "ns/b@1", "ns/c@1", "ns/d@1", "ns/e@1")})
			require.NoError(t, q.Resync(), "the error of Resync")
			for range before {
				q.pop()
			}
			t.Rule("A Resync is not an event: HasSynced does not become true.")
			require.False(t, q.HasSynced(), "the queue has synced after a Resync alone")
			require.NoError(t, q.Replace(deploys("ns/new@2"), "7"), "the error of Replace")
			for i := range 6 {
				t.Rule("HasSynced reports whether every key that was in the queue after the first Replace, deletions " +
					"included, has been popped and processed. A key that was pending before Replace counts too.")
				require.False(t, q.HasSynced(), "the queue has synced after %d of 6 keys were popped", i)
				q.pop()
			}
			require.True(t, q.HasSynced(), "the queue has synced after all 6 keys were popped")
		}
	})
}

func TestTask5_Resync_twice_is_once(t *testing.T) {
	guard.Test(t, "Resync records a Sync for every known object without pending deltas, in any order. A pending "+
		"Sync is a delta too. Otherwise a consumer that is slower than the resync period falls behind "+
		"forever.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1")})
		require.NoError(t, q.Resync(), "the error of the 1st Resync")
		require.NoError(t, q.Resync(), "the error of the 2nd Resync")
		require.Equal(t, []string{"default/a: Sync @1"}, q.drain(), "all popped deltas")
	})
}

func TestTask5_Resync_does_not_transform(t *testing.T) {
	guard.Test(t, "The Sync carries the known object itself, which does not go through the transformer again. "+
		"Other goroutines read it, so a transformer that writes to it is a data race "+
		"(#124337).", func(t *guard.T) {
		known := storeOf("default/a@1")
		q := newQueue(t, options{KnownObjects: known, Transformer: transformed})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t, "default/a: Sync @1", q.pop(), "the popped deltas")
		require.NoError(t, q.Resync(), "the error of the 2nd Resync")
		objects := q.pendingObjects()
		require.Len(t, objects, 1, "objects of all popped deltas")
		require.Same(t, known.objs["default/a"], objects[0], "the object of the Sync")
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

func TestTask5_Resync_leaves_out_objects_that_cannot_be_found(t *testing.T) {
	guard.Test(t, "A known object that cannot be found is left out, and Resync returns nil. If Resync fails, the "+
		"Reflector ends its watch.", func(t *guard.T) {
		known := storeOf("default/a@1", "default/broken@2", "default/c@3")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/c: Sync @3"}, q.drain(),
			"all popped deltas")
	})
}

func TestTask5_Close_wakes_every_Pop(t *testing.T) {
	guard.Test(t, "Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue "+
		"is empty. Otherwise the program hangs when it stops.", func(t *guard.T) {
		requireCloseWakes(t, func() recordedQueue { return newQueue(t, options{}) })
		q := newQueue(t, options{})
		q.Close()
		t.Did("Pop")
		_, err := q.Pop(func(any, bool) error { return nil })
		require.ErrorIs(t, err, cache.ErrFIFOClosed, "the error of a Pop after Close")
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
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		q.Close()
		require.Equal(t, "default/a: Added @1", q.pop(), "deltas of the 1st Pop after Close")
		t.Rule("Pop returns the error of process with the deltas, and does not put them back.")
		t.Did("Pop, with a process function that fails")
		popped, err := q.Pop(func(any, bool) error { return errLookup })
		require.ErrorIs(t, err, errLookup, "the error of the 2nd Pop after Close")
		require.Equal(t, "default/b: Added @2", showDeltas(popped), "deltas of the 2nd Pop after Close")
		t.Rule("If the queue is empty and closed, Pop returns cache.ErrFIFOClosed.")
		t.Did("Pop")
		_, err = q.Pop(func(any, bool) error { return nil })
		require.ErrorIs(t, err, cache.ErrFIFOClosed, "the error of Pop when the closed queue is empty")
	})
}

func TestTask5_Closed_queue_still_accepts_changes(t *testing.T) {
	guard.Test(t, "A closed queue still accepts changes. When a controller stops, its Reflector may be in the "+
		"middle of a call.", func(t *guard.T) {
		known := storeOf("default/a@1", "default/b@2", "default/c@3")
		q := newQueue(t, options{KnownObjects: known})
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
			"default/a: Sync @1, Updated @5, Replaced @7",
			"default/b: Sync @2, Deleted @6",
			"default/c: Sync @3, Deleted tombstone(@3)",
			"default/d: Added @4, Deleted tombstone(@4)",
			"default/e: Deleted @6",
			"default/f: Deleted tombstone(@1)",
		}, q.drain(), "all popped deltas")
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
	})
}

// Pop sees that the queue is open, and then it waits. There must be no gap between the two for Close. A gap is only
// nanoseconds wide, so the test runs Pop and Close together many times, and Close starts a little later each time. If
// Close waits for the lock, there is usually no gap, and fewer rounds are enough.
func TestTask5_No_Pop_sleeps_through_Close(t *testing.T) {
	guard.Test(t, "Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue "+
		"is empty. A Pop that has seen an open queue but does not wait yet must notice Close too "+
		"(#90581).", func(t *guard.T) {
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
			synctest.Wait() // now it has ended, or it never will
		}
		if ended.Load() < round {
			q.Close() // end it
			return false
		}
	}
	return true
}

func TestTask5_Calls_that_compare_wait_for_process(t *testing.T) {
	guard.Test(t, "The consumer works under the queue's lock, so no call sees the moment in which an object is "+
		"neither in the queue nor in the store. Delete, Replace and Resync wait for it.", func(t *guard.T) {
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
			require.Equal(t, []string{c.want}, q.drain(),
				"all deltas popped after the %s that waited", c.name)
		}
	})
}

func TestTask5_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine. Each takes the lock before it touches a "+
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
	guard.Race(t, "Every method may be called from any goroutine. Close writes the field that IsClosed reads, so "+
		"both take the lock.", func(t *guard.T) {
		t.Did("Close and IsClosed, from two goroutines")
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		guard.Storm(func(int) { q.Close() }, func(int) { q.IsClosed() })
		t.Rule("Every method may be called from any goroutine. The first list is noted once, so the race detector " +
			"needs a new queue each time.")
		for range 20 {
			t.Did("Replace with an empty list, and HasSynced from another goroutine")
			q := deltafifo.NewDeltaFIFOWithOptions(options{KnownObjects: storeOf()})
			var both sync.WaitGroup
			both.Go(func() { _ = q.Replace(nil, "7") })
			q.HasSynced()
			both.Wait()
		}
	})
}
