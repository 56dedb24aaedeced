package workqueue_test

// Task 3: the end of a delaying queue.

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_ShutDown_drops_delayed_items(t *testing.T) {
	guard.Test(t, "ShutDown drops the delayed items. Get still returns those in the queue.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("db")
		q.AddAfter("web", time.Second)
		q.ShutDown()
		q.pass(time.Minute)
		require.Equal(t, []string{"db"}, q.All(), "the items in the queue after ShutDown")
		t.Rule("Get still returns the queued items after ShutDown, and then every Get returns shutdown and the zero item.")
		require.Equal(t, shutdown, q.Get(), "Get after ShutDown")
	})
}

func TestTask3_AddAfter_after_ShutDown_does_nothing(t *testing.T) {
	guard.Test(t, "After ShutDown, AddAfter has no effect. It does not block either, because a worker may fail "+
		"at the very end.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.ShutDown()
		t.Did("AddAfter of 2000 items, 1s, and of 2000, 0s")
		late := start(t, func() string {
			for i := range 2_000 {
				q.delayed().AddAfter(fmt.Sprint("early ", i), time.Second)
				q.delayed().AddAfter(fmt.Sprint("now ", i), 0)
			}
			return returned
		})
		require.Equal(t, returned, late.result(), "4000 calls of AddAfter after ShutDown")
		q.pass(time.Minute)
		require.Equal(t, 0, q.Len(), "Len after ShutDown and AddAfter")
	})
}

// The calls begin before ShutDown and end after it, so one of them is between any two steps of the queue's goroutine.
func TestTask3_AddAfter_during_ShutDown_returns(t *testing.T) {
	guard.Test(t, "After ShutDown, AddAfter has no effect. It does not block either, because a worker may fail "+
		"at the very end.", func(t *guard.T) {
		t.Did("50 times: 4 goroutines call AddAfter, 1s, in a loop, and ShutDown in the middle")
		for range 50 {
			q := workqueue.NewTypedDelayingQueue[string]()
			var calls []*call
			var down atomic.Bool
			for worker := range 4 {
				calls = append(calls, start(t, func() string {
					for i, after := 0, 0; after < 20; i++ {
						if down.Load() {
							after++
						}
						q.AddAfter(fmt.Sprint(worker, i), time.Second)
					}
					return returned
				}))
			}
			runtime.Gosched()
			q.ShutDown()
			down.Store(true)
			require.Equal(t, []string{returned, returned, returned, returned}, results(calls...),
				"AddAfter of 4 goroutines, during ShutDown and 20 times after it")
		}
	})
}

func TestTask3_ShutDown_twice_is_fine(t *testing.T) {
	guard.Test(t, "ShutDown may be called any number of times. client-go's delaying queue once panicked at the "+
		"second (#77170).", func(t *guard.T) {
		q := workqueue.NewTypedDelayingQueue[string]()
		t.Did("ShutDown, ShutDown")
		twice := start(t, func() string {
			q.ShutDown()
			q.ShutDown()
			return returned
		})
		require.Equal(t, returned, twice.result(), "the 2nd ShutDown")
	})
}

func TestTask3_Two_ShutDowns_at_once(t *testing.T) {
	guard.Test(t, "Every method may be called from any goroutine: a second ShutDown may come during the first.",
		func(t *guard.T) {
			for _, method := range []string{"ShuttingDown", "ShutDown"} {
				below := &hooked{TypedInterface: workqueue.NewTyped[string]()}
				q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Queue: below})
				synctest.Wait()
				below.after = once(method, func() { during(t, "ShutDown", q.TypedInterface.ShutDown) })
				t.Did("ShutDown; a second one when %s of config.Queue has ended", method)
				first := start(t, func() string { q.TypedInterface.ShutDown(); return returned })
				require.Equal(t, returned, first.result(), "the first ShutDown")
			}
			const rounds = 5_000
			t.Did("two goroutines call ShutDown at once, %d times, each time of another queue", rounds)
			var queues [rounds]clientgo.TypedDelayingInterface[string]
			for i := range queues {
				queues[i] = workqueue.NewTypedDelayingQueue[string]()
			}
			guard.Meet(t, rounds, func(i int) { queues[i].ShutDown() })
		})
}

func TestTask3_ShutDown_leaves_no_goroutine(t *testing.T) {
	guard.Test(t, "ShutDown and ShutDownWithDrain leave no goroutine and no timer behind.", func(t *guard.T) {
		t.Did("NewTypedDelayingQueue, AddAfter web, 1h, and ShutDown")
		q := workqueue.NewTypedDelayingQueue[string]()
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		q.ShutDown() // guard sees what is left
	})
	guard.Test(t, "ShutDown and ShutDownWithDrain leave no goroutine and no timer behind, even if the layer below was "+
		"shut down before.", func(t *guard.T) {
		t.Did("NewTypedDelayingQueueWithConfig, AddAfter web, 1h; ShutDown of config.Queue, and ShutDown")
		below := workqueue.NewTyped[string]()
		q := workqueue.NewTypedDelayingQueueWithConfig(clientgo.TypedDelayingQueueConfig[string]{Queue: below})
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		below.ShutDown()
		q.ShutDown() // guard sees what is left
	})
}

func TestTask3_Drain_leaves_no_goroutine(t *testing.T) {
	guard.Test(t, "ShutDown and ShutDownWithDrain leave no goroutine and no timer behind.", func(t *guard.T) {
		t.Did("NewTypedDelayingQueue, AddAfter web, 1h, ShutDownWithDrain; 1m0s pass")
		q := workqueue.NewTypedDelayingQueue[string]()
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		q.ShutDownWithDrain()
		time.Sleep(time.Minute) // guard sees what is left then; client-go's takes up to 10s to notice
	})
	guard.Test(t, "ShutDown and ShutDownWithDrain leave no goroutine and no timer behind, even if the layer below was "+
		"shut down before.", func(t *guard.T) {
		t.Did("NewTypedDelayingQueueWithConfig, AddAfter web, 1h; ShutDown of config.Queue; ShutDownWithDrain; 1m0s pass")
		below := workqueue.NewTyped[string]()
		q := workqueue.NewTypedDelayingQueueWithConfig(clientgo.TypedDelayingQueueConfig[string]{Queue: below})
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		below.ShutDown()
		q.ShutDownWithDrain()
		time.Sleep(time.Minute)
	})
}

func TestTask3_Drain_ends_the_goroutine_at_once(t *testing.T) {
	guard.Test(t, "ShutDown and ShutDownWithDrain leave no goroutine and no timer behind: the queue's goroutine "+
		"ends at once.", func(t *guard.T) {
		t.Did("NewTypedDelayingQueue, AddAfter web, 1h, ShutDownWithDrain")
		q := workqueue.NewTypedDelayingQueue[string]()
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		q.ShutDownWithDrain() // guard sees what is left
	})
}

func TestTask3_ShutDown_ends_a_drain(t *testing.T) {
	guard.Test(t, "ShutDown calls ShutDown of the layer below, each time. There it ends a drain that "+
		"waits.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		require.Equal(t, "web", q.Get(), "Get")
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with web being processed")
		t.Rule("A later ShutDown ends the wait, and another ShutDownWithDrain does not. So it must not call ShutDown of the " +
			"layer below.")
		second := q.DrainLater()
		require.Equal(t, []string{waits, waits}, results(drain, second), "two calls of ShutDownWithDrain")
		t.Rule("ShutDown calls ShutDown of the layer below, each time. There it ends a drain that waits.")
		t.Did("ShutDown")
		end := start(t, func() string { q.TypedInterface.ShutDown(); return returned })
		require.Equal(t, returned, end.result(), "ShutDown")
		require.Equal(t, []string{returned, returned}, results(drain, second), "ShutDownWithDrain after ShutDown")
	})
}

func TestTask3_Second_ShutDown_ends_a_drain(t *testing.T) {
	guard.Test(t, "ShutDown calls ShutDown of the layer below, each time. The second call may be meant to end a "+
		"drain.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		t.Cleanup(func() { q.TypedInterface.Done("web") })
		require.Equal(t, "web", q.Get(), "Get")
		q.ShutDown()
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain after ShutDown, with web being processed")
		q.ShutDown()
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain after another ShutDown")
	})
	guard.Test(t, "NewTypedDelayingQueueWithConfig returns a queue on top of config.Queue; nil means a new Typed. It is "+
		"yours, whose drain also waits for queued items, and not client-go's.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		require.Equal(t, waits, q.DrainLater().result(), "ShutDownWithDrain with web queued")
	})
}

func TestTask3_Drain_drops_delayed_items(t *testing.T) {
	guard.Test(t, "ShutDownWithDrain drops the delayed items, and then drains the layer below.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		require.Equal(t, "web", q.Get(), "Get")
		q.AddAfter("db", time.Hour)
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with web being processed")
		t.Rule("ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.")
		require.True(t, isShuttingDown(q), "the queue is shutting down while ShutDownWithDrain waits")
		t.Rule("ShutDownWithDrain drops the delayed items, and then drains the layer below.")
		q.Done("web")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain when only db is left, and it is delayed")
		q.pass(2 * time.Hour)
		require.Equal(t, 0, q.Len(), "Len two hours later")
	})
}
