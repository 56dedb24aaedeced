package workqueue_test

// Task 2: several shutdowns of one queue, and drains that wait.

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Shutdowns_in_any_order(t *testing.T) {
	const rule = "After ShutDown and after ShutDownWithDrain, Add has no effect. Get still returns the queued items."
	guard.Test(t, rule, func(t *guard.T) {
		for _, downs := range [][]string{
			{"S"}, {"D"}, {"S", "S"}, {"S", "D"}, {"D", "S"}, {"D", "D"}, {"D", "S", "S"}, {"D", "S", "D"}, {"S", "D", "S"},
		} {
			t.Story(20)
			t.Rule(rule)
			q := newQueue(t, "web", "cdn", "db")
			require.Equal(t, "web", q.Get(), "the 1st Get")
			require.Equal(t, "cdn", q.Get(), "the 2nd Get")
			q.Add("web")
			for _, down := range downs {
				if down == "S" {
					q.ShutDown()
				} else {
					q.DrainLater().result()
				}
				q.Add("cdn") // being processed
				q.Add("job")
			}
			require.Equal(t, 1, q.Len(), "Len with db queued before the shutdown")
			require.Equal(t, "db", q.Get(), "the 3rd Get")
			t.Rule("Get still returns the queued items after ShutDown, and then every Get returns shutdown and the zero item. " +
				"It does not wait for an item that is being processed, even if that comes once more.")
			require.Equal(t, shutdown, q.Get(), "Get on an empty queue")
			q.Done("web")
			q.Done("cdn")
			q.Done("db")
			t.Rule("If an item was added before ShutDown while it was being processed, Get still returns it after Done. An " +
				"item that was added later does not come.")
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Done of all")
			q.Done("web")
			t.Rule("ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.")
			require.True(t, isShuttingDown(q), "the queue is shutting down after the last Done")
			q.TypedInterface.ShutDown() // for drains that wait
		}
	})
}

func TestTask2_Refused_items_can_be_freed(t *testing.T) {
	guard.Test(t, "Each layer uses memory only for the items that it has. After ShutDown, Add has no effect: the queue "+
		"does not keep the item.", func(t *guard.T) {
		q := workqueue.NewTyped[*payload]()
		t.Did("ShutDown; Add of 100 pointers")
		q.ShutDown()
		var items []weak.Pointer[payload]
		start(t, func() string { // on a goroutine that ends, so that its stack holds none of them
			for range 100 {
				item := new(payload)
				items = append(items, weak.Make(item))
				q.Add(item)
				q.Add(item)
			}
			return returned
		}).result()
		require.Equal(t, "0 of 100 still in memory", stillHeld(items), "the items that were added after ShutDown")
		runtime.KeepAlive(q)
	})
}

func TestTask2_Drain_does_not_poll(t *testing.T) {
	guard.Test(t, "The queue does not poll: while ShutDownWithDrain waits, it sleeps.", func(t *guard.T) {
		below := &crowded{Queue: workqueue.DefaultQueue[string]()}
		q := loggedQueue{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
		t.Cleanup(q.TypedInterface.ShutDown)
		q.Add("web")
		q.DrainLater().result()
		before := below.calls
		q.pass(time.Hour)
		require.Equal(t, 0, below.calls-before, "calls of config.Queue in an hour, with web queued")
	})
}

func TestTask2_Another_drain_does_not_undo_ShutDown(t *testing.T) {
	guard.Test(t, "ShutDown ends every ShutDownWithDrain that waits. Another ShutDownWithDrain may begin before the "+
		"first one wakes up.", func(t *guard.T) {
		for range 100 { // the first drain rarely wakes up before the next one begins
			t.Story(8)
			q := newQueue(t, "web")
			require.Equal(t, "web", q.Get(), "Get")
			first := q.DrainLater()
			synctest.Wait()
			t.Did("ShutDown, and at once another ShutDownWithDrain")
			next := start(t, func() string {
				q.TypedInterface.ShutDown()
				q.TypedInterface.ShutDownWithDrain()
				return returned
			})
			answers := []string{first.result(), next.result()}
			q.TypedInterface.ShutDown()
			require.Equal(t, []string{returned, waits}, answers, "the results of the first and the next ShutDownWithDrain")
		}
	})
}

func TestTask2_ShutDown_does_not_end_a_later_drain(t *testing.T) {
	guard.Test(t, "A later ShutDown ends the wait, and another ShutDownWithDrain does not. An earlier ShutDown "+
		"does not end it either.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.ShutDown()
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain after ShutDown, with web being processed")
		for range 10 {
			q.ShutDown()
			t.Rule("ShutDown may be called any number of times. Each ends every ShutDownWithDrain that waits.")
			require.Equal(t, returned, drain.result(), "ShutDownWithDrain after another ShutDown")
			drain = q.DrainLater()
			t.Rule("A later ShutDown ends the wait of ShutDownWithDrain. An earlier ShutDown does not end it.")
			require.Equal(t, waits, drain.result(), "another ShutDownWithDrain, with web being processed")
		}
		q.Done("web")
		t.Rule("ShutDownWithDrain waits until workers have emptied the queue and called Done for every item.")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
	})
}

func TestTask2_Last_Done_ends_every_drain(t *testing.T) {
	guard.Test(t, "The last Done ends every ShutDownWithDrain that waits.", func(t *guard.T) {
		q := newQueue(t, "web")
		t.Cleanup(q.TypedInterface.ShutDown)
		require.Equal(t, "web", q.Get(), "the 1st Get")
		drains := []*call{q.DrainLater(), q.DrainLater()}
		synctest.Wait()
		q.Done("web")
		require.Equal(t, []string{returned, returned}, results(drains...), "the results of both ShutDownWithDrain")
	})
}

func TestTask2_Drain_waits_for_queued_items(t *testing.T) {
	guard.Test(t, "ShutDownWithDrain waits until workers have emptied the queue and called Done for every item. "+
		"Between two items a worker has none.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		t.Cleanup(q.TypedInterface.ShutDown)
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with 2 items in the queue")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Done("web")
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with 1 item in the queue")
		require.Equal(t, "db", q.Get(), "the 2nd Get")
		q.Done("db")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")

		t.Story(8)
		q = newQueue(t, "web")
		t.Cleanup(q.TypedInterface.ShutDown)
		require.Equal(t, "web", q.Get(), "Get")
		q.Add("web")
		drain = q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with web being processed, which comes once more")
		q.Done("web")
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with web in the queue once more")
		require.Equal(t, "web", q.Get(), "the 2nd Get")
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with web being processed once more")
		q.Done("web")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
	})
}
