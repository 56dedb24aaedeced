package deltafifo_test

// Task 1, Pop: the lock while process runs, waiting, and the time that a Pop takes.

import (
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Process_runs_under_the_lock(t *testing.T) {
	guard.Test(t, "process runs under the queue's lock. Otherwise Replace can run while the object is neither in "+
		"the queue nor in the store, and miss its deletion (#27004).", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		t.Did("Pop; while process runs, Add default/b on another goroutine")
		early := false
		_, err := q.Pop(func(any, bool) error {
			early = meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@2")) })
			return nil
		})
		require.NoError(t, err, "the error of Pop")
		synctest.Wait()
		require.False(t, early, "Add returned while process was running")
		t.Rule("A call that waits for the lock takes effect after process has returned.")
		require.Equal(t, []string{"default/b: Added @2"}, q.drain(),
			"all deltas popped after the Add that waited")
	})
}

func TestTask1_Process_may_call_KeyOf(t *testing.T) {
	guard.Test(t, "KeyOf does not take the lock, so process may call it.", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		t.Did("Add default/a@1, and Pop; process calls KeyOf with the Deltas")
		key, returned := "", false
		_, err := q.Pop(func(popped any, _ bool) error {
			returned = meanwhile(t, func() { key, _ = q.KeyOf(popped) })
			return nil
		})
		require.NoError(t, err, "the error of Pop")
		require.True(t, returned, "KeyOf returns while process is running")
		require.Equal(t, "default/a", key, "the key of the Deltas that process receives")
	})
}

func TestTask1_Pop_waits_for_a_key(t *testing.T) {
	guard.Test(t, "Pop blocks while the queue is empty. Add wakes a waiting Pop, and so does "+
		"Update.", func(t *guard.T) {
		q := newQueue(t, options{})
		for name, call := range guard.InOrder(map[string]func(any) error{"Add": q.Add, "Update": q.Update}) {
			popped := ""
			t.Go(func() { popped = q.popWaiting() })
			synctest.Wait()
			require.Empty(t, popped, "deltas popped from the empty queue")
			require.NoError(t, call(deploy("default/web@1")), "the error of %s", name)
			synctest.Wait()
			require.NotEmpty(t, popped, "deltas of the Pop that waited for %s", name)
		}
	})
}

func TestTask1_One_key_is_for_one_Pop(t *testing.T) {
	guard.Test(t, "Several Pops may wait at the same time, and each key goes to one of them. The others go on "+
		"waiting.", func(t *guard.T) {
		q := newQueue(t, options{})
		var popped []string // written under the queue's lock
		for range 3 {
			t.Go(func() {
				_, _ = q.Pop(func(obj any, _ bool) error {
					popped = append(popped, showDeltas(obj))
					return nil
				})
			})
		}
		t.Did("three Pops wait")
		for i, key := range []string{"default/a@1", "default/b@2", "default/c@3"} {
			synctest.Wait()
			require.Len(t, popped, i, "keys popped after %d of 3 Adds", i)
			require.NoError(t, q.Add(deploy(key)), "the error of Add")
		}
		synctest.Wait()
		require.ElementsMatch(t,
			[]string{"default/a: Added @1", "default/b: Added @2", "default/c: Added @3"}, popped,
			"deltas of the three Pops")
	})
}

func TestTask1_Woken_Pop_looks_again(t *testing.T) {
	guard.Test(t, "Pop blocks while the queue is empty. Another Pop can take the key before a woken Pop has the "+
		"lock. Then the woken Pop waits for the next key.", func(t *guard.T) {
		// With one processor, the goroutine that unlocks nearly always locks again before the woken one runs.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		for range 20 {
			t.Story(8)
			q := newQueue(t, options{})
			var popped []string // written under the queue's lock
			note := func(obj any, _ bool) error { popped = append(popped, showDeltas(obj)); return nil }
			t.Did("a Pop waits")
			t.Go(func() { _, _ = q.Pop(note) })
			synctest.Wait()
			t.Go(func() {
				time.Sleep(time.Second)
				_ = q.Add(deploy("default/b@2"))
			})
			require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
			t.Did("Pop, before the waiting Pop is awake")
			_, _ = q.Pop(note)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"default/a: Added @1", "default/b: Added @2"}, popped,
				"deltas of the two Pops")
		}
	})
}

func TestTask1_Keys_in_a_row_wake_as_many_Pops(t *testing.T) {
	guard.Test(t, "Each new key wakes one Pop, and Close wakes all. Otherwise a Pop sleeps beside a full queue "+
		"until the next event, perhaps for hours.", func(t *guard.T) {
		for range 500 { // the test needs two keys before the first Pop is awake, so it tries often
			q := newQueue(t, options{})
			left := 3
			for range 3 {
				t.Go(func() {
					_, _ = q.Pop(func(any, bool) error { left--; return nil })
				})
			}
			synctest.Wait()
			for _, key := range []string{"default/a@1", "default/b@2", "default/c@3"} {
				require.NoError(t, q.Queue.Add(deploy(key)), "the error of Add")
			}
			synctest.Wait()
			t.Did("three Pops wait; Add three keys in a row")
			require.Equal(t, 0, left, "Pops that still wait")
		}
	})
}

func TestTask1_Every_call_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine. Add, Update and Pop take the lock before they "+
		"touch a field.", func(t *guard.T) {
		q := newQueue(t, options{})
		t.Did("Add, Update and Pop, from three goroutines")
		guard.Storm(
			func(i int) { _ = q.Queue.Add(deploy("default/a@1")) },
			func(i int) { _ = q.Queue.Update(deploy("default/b@2")) },
			func(i int) {
				_ = q.Queue.Add(deploy("default/c@3")) // so that no Pop waits forever
				_, _ = q.Pop(func(any, bool) error { return nil })
			},
		)
	})
}

func TestTask1_Pop_does_not_move_the_queue(t *testing.T) {
	// A process of its own has no other test beside it, whose work would count.
	guard.Race(t, "Add, Update, Delete and Pop do the same amount of work, however many keys are pending or "+
		"known. A Pop that moves the keys behind its own gets slower with each of them.", func(t *guard.T) {
		requireQuickPops(t, func() cache.Queue {
			return newQueue(t, options{KeyFunction: func(obj any) (string, error) { return obj.(string), nil }}).Queue
		})
	})
}

// requireQuickPops requires that a Pop takes about as much processor time with 200,000 keys in the queue as with a few.
// It compares the quickest of several rounds, with a bound that is far from both sides.
func requireQuickPops(t *guard.T, queue func() cache.Queue) {
	t.Helper()
	quickest := func(pending int) time.Duration {
		q, best := queue(), time.Hour
		for i := range pending {
			_ = q.Add(strconv.Itoa(i))
		}
		for range 5 {
			best = min(best, guard.ProcessorTime(func() {
				for range 100 {
					_, _ = q.Pop(func(any, bool) error { return nil })
				}
			}))
		}
		return best
	}
	t.Did("Pop 100 times, with a few keys in the queue and with 200,000; keep the quickest of 5 rounds")
	few, many := quickest(501), quickest(200_000)
	require.Less(t, many, 20*few+5*time.Millisecond, "processor time of 100 Pops with 200,000 keys, with a few it is %v", few)
}
