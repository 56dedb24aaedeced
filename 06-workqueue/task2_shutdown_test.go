package workqueue_test

// Task 2: shutdown and drain.

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/modeltest"
)

func TestTask2_ShutDown_refuses_new_items(t *testing.T) {
	guard.Test(t, "After ShutDown, Add has no effect.", func(t *guard.T) {
		q := newQueue(t)
		q.ShutDown()
		q.Add("web")
		require.Equal(t, 0, q.Len(), "Len after ShutDown and Add")
		t.Rule("Get still returns the queued items after ShutDown, and then every Get returns shutdown and the zero item.")
		require.Equal(t, shutdown, q.Get(), "Get after ShutDown")
	})
}

func TestTask2_ShutDown_hands_out_queued_items(t *testing.T) {
	guard.Test(t, "Get still returns the queued items after ShutDown, and then every Get returns shutdown and "+
		"the zero item.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		q.ShutDown()
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Done("web")
		require.Equal(t, "db", q.Get(), "the 2nd Get")
		q.Done("db")
		require.Equal(t, shutdown, q.Get(), "the 3rd Get")
	})
}

func TestTask2_ShutDown_keeps_the_second_round(t *testing.T) {
	guard.Test(t, "If an item was added before ShutDown while it was being processed, Get still returns it after "+
		"Done.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		q.ShutDown()
		q.ShutDown()
		q.Done("web")
		require.Equal(t, "web", q.Get(), "the 2nd Get")
		q.Done("web")
		t.Rule("Get still returns the queued items after ShutDown, and then every Get returns shutdown and the zero item.")
		require.Equal(t, shutdown, q.Get(), "the 3rd Get")
	})
}

func TestTask2_ShutDown_refuses_a_new_second_round(t *testing.T) {
	guard.Test(t, "After ShutDown, Add has no effect, not even for an item that is being processed.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.ShutDown()
		q.Add("web")
		q.Done("web")
		require.Equal(t, shutdown, q.Get(), "the 2nd Get")
	})
}

func TestTask2_ShutDown_ends_the_calls_of_Touch(t *testing.T) {
	guard.Test(t, "After ShutDown, Add has no effect, not even on the order: Add does not call Touch of "+
		"config.Queue.", func(t *guard.T) {
		below := &ordered{}
		q := loggedQueue{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
		q.Add("web")
		q.ShutDown()
		q.Add("web")
		require.Empty(t, below.touched, "items touched after ShutDown")
	})
}

func TestTask2_ShutDown_does_not_wait(t *testing.T) {
	guard.Test(t, "ShutDown does not wait for items that are queued or being processed.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		t.Did("ShutDown")
		end := start(t, func() string { q.TypedInterface.ShutDown(); return returned })
		require.Equal(t, returned, end.result(), "ShutDown with 1 item being processed and 1 queued")
	})
}

func TestTask2_ShutDown_wakes_every_worker(t *testing.T) {
	guard.Test(t, "ShutDown wakes every worker that waits in Get.", func(t *guard.T) {
		requireShutDownWakes(t, func(q loggedQueue) { q.ShutDown() })
	})
}

// requireShutDownWakes requires that every worker that waits returns, also if items have come that none has yet.
func requireShutDownWakes(t *guard.T, down func(q loggedQueue)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no worker runs between Add and ShutDown
	for items := range 3 {
		for range 20 {
			t.Story(8)
			q, want := newQueue(t), []string{shutdown, shutdown, shutdown}
			workers := []*call{q.GetLater(), q.GetLater(), q.GetLater()}
			synctest.Wait()
			for i := range items {
				q.Add(fmt.Sprint("item ", i))
				want[i] = fmt.Sprint("item ", i)
			}
			down(q)
			require.Equal(t, want, results(workers...), "the results of three Gets")
			for i := range items {
				q.Done(want[i])
			}
		}
	}
}

func TestTask2_ShutDown_twice_is_fine(t *testing.T) {
	guard.Test(t, "ShutDown may be called any number of times.", func(t *guard.T) {
		q := newQueue(t, "web")
		q.ShutDown()
		q.ShutDown()
		require.Equal(t, "web", q.Get(), "Get after the 2nd ShutDown")
		q.Done("web")
		require.Equal(t, returned, q.DrainLater().result(), "ShutDownWithDrain after Done")
		q.ShutDown()
		require.Equal(t, shutdown, q.Get(), "Get after the 3rd ShutDown")
	})
}

func TestTask2_ShuttingDown_reports_both(t *testing.T) {
	guard.Test(t, "ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.False(t, isShuttingDown(q), "a queue of one item is shutting down before ShutDown")
		q.ShutDown()
		require.True(t, isShuttingDown(q), "a queue of one item is shutting down after ShutDown")
		q = newQueue(t)
		q.DrainLater().result()
		require.True(t, isShuttingDown(q), "a queue is shutting down after ShutDownWithDrain")
		q = newQueue(t, "web", "db")
		require.Equal(t, "web", q.Get(), "Get")
		t.Cleanup(q.TypedInterface.ShutDown)
		q.DrainLater().result()
		require.True(t, isShuttingDown(q), "a queue is shutting down while ShutDownWithDrain waits")
	})
}

func TestTask2_Drain_waits_for_items_being_processed(t *testing.T) {
	guard.Test(t, "ShutDownWithDrain waits until workers have emptied the queue and called Done for every item: "+
		"not only for one.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, []string{"web", "db"}, q.All(), "the items that Get returns")
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with 2 items being processed")
		q.Done("web")
		q.pass(20 * 24 * time.Hour)
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with 1 item being processed, weeks later")
		q.Done("db")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")

		t.Story(8)
		q = newQueue(t)
		worker := q.GetLater()
		synctest.Wait()
		q.Add("web")
		require.Equal(t, "web", worker.result(), "Get that waited for Add")
		drain = q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain while a worker that waited for web has it")
		q.Done("web")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
	})
}

func TestTask2_Drain_refuses_new_items_and_hands_out_the_rest(t *testing.T) {
	guard.Test(t, "After ShutDownWithDrain, Add has no effect. Get still returns the queued items, and then "+
		"every Get returns shutdown.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		drain := q.DrainLater()
		synctest.Wait()
		q.Add("cdn")
		require.Equal(t, 1, q.Len(), "Len after ShutDownWithDrain and Add")
		require.Equal(t, "db", q.Get(), "the 2nd Get")
		worker := q.GetLater()
		require.Equal(t, shutdown, worker.result(), "the 3rd Get")
		q.Done("web")
		q.Done("db")
		t.Rule("ShutDownWithDrain waits until workers have emptied the queue and called Done for every item.")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
	})
}

func TestTask2_Drain_hands_out_the_second_round(t *testing.T) {
	guard.Test(t, "If an item was added before ShutDownWithDrain while it was being processed, Get still returns "+
		"it after Done.", func(t *guard.T) {
		for _, before := range []func(q loggedQueue){func(loggedQueue) {}, loggedQueue.ShutDown} {
			t.Story(8)
			t.Rule("If an item was added before ShutDownWithDrain while it was being processed, Get still returns it after " +
				"Done.")
			q := newQueue(t, "web")
			require.Equal(t, "web", q.Get(), "the 1st Get")
			q.Add("web")
			before(q)
			drain := q.DrainLater()
			synctest.Wait()
			q.Done("web")
			require.Equal(t, "web", q.Get(), "the 2nd Get")
			q.Done("web")
			t.Rule("ShutDownWithDrain waits until workers have emptied the queue and called Done for every item.")
			require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
		}
	})
}

func TestTask2_Drain_wakes_every_worker(t *testing.T) {
	guard.Test(t, "ShutDownWithDrain wakes every worker that waits in Get, at once and not after the last "+
		"Done.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		workers := []*call{q.GetLater(), q.GetLater()}
		synctest.Wait()
		drain := q.DrainLater()
		require.Equal(t, []string{shutdown, shutdown}, results(workers...), "the results of the 2nd and 3rd Get")
		q.Done("web")
		t.Rule("ShutDownWithDrain waits until workers have emptied the queue and called Done for every item.")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
		t.Rule("ShutDownWithDrain wakes every worker that waits in Get, at once.")
		requireShutDownWakes(t, func(q loggedQueue) { q.DrainLater() })
	})
}

func TestTask2_ShutDown_ends_a_drain(t *testing.T) {
	guard.Test(t, "ShutDown ends every ShutDownWithDrain that waits. In client-go it once did not, and the program hung "+
		"(#119554).", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		drain := q.DrainLater()
		synctest.Wait()
		q.ShutDown()
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain after ShutDown")
	})
}

func TestTask2_ShutDown_ends_every_drain(t *testing.T) {
	guard.Test(t, "ShutDown ends every ShutDownWithDrain that waits: a program and its controller may both drain one "+
		"queue.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		drains := []*call{q.DrainLater(), q.DrainLater()}
		t.Rule("A later ShutDown ends the wait, and another ShutDownWithDrain does not.")
		require.Equal(t, []string{waits, waits}, results(drains...), "the results of both ShutDownWithDrain before ShutDown")
		q.ShutDown()
		t.Rule("ShutDown ends every ShutDownWithDrain that waits: a program and its controller may both drain one queue.")
		require.Equal(t, []string{returned, returned}, results(drains...), "the results of both ShutDownWithDrain")
	})
}

func TestTask2_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, "The queue does the same as the model in model_test.go for every sequence of calls.", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			q := workqueue.NewTyped[string]()
			defer q.ShutDown() // ends a call that should not have waited
			m := newModel()
			s.Steps(map[string]func(){
				"":         func() { m.checkLen(s, q) },
				"add":      func() { m.add(s, q) },
				"get":      func() { m.get(s, q) },
				"done":     func() { m.done(s, q) },
				"shutdown": func() { m.shutDown(s, q) },
			})
		})
	})
}

func TestTask2_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine: ShuttingDown needs the lock too, because it "+
		"reads what ShutDown writes.", func(t *guard.T) {
		var fresh [20]*workqueue.Typed[string]
		for i := range fresh {
			fresh[i] = workqueue.NewTyped[string]()
		}
		t.Did("ShutDown of twenty queues in one goroutine, and ShuttingDown of each in another")
		guard.Storm(
			func(i int) { fresh[i%len(fresh)].ShuttingDown() },
			func(i int) { fresh[i%len(fresh)].ShutDown() },
		)
		q := workqueue.NewTyped[string]()
		t.Did("ShutDown, ShutDownWithDrain, ShuttingDown, Add and Len, each in a goroutine of its own")
		guard.Storm(
			func(int) { q.ShuttingDown() },
			func(int) { q.Add("web") },
			func(int) { q.Len() },
			func(i int) {
				if i > 300 {
					q.ShutDown()
				}
			},
			func(i int) {
				if i > 300 {
					for down := false; !down; {
						var item string
						if item, down = q.Get(); !down {
							q.Done(item)
						}
					}
					q.ShutDownWithDrain()
				}
			},
		)
	})
}

func isShuttingDown(q loggedQueue) bool {
	q.t.Did("ShuttingDown")
	return q.ShuttingDown()
}

// sortedItems returns the keys of a set in alphabetical order.
func sortedItems[V any](set map[string]V) []string {
	items := []string{}
	for item := range set {
		items = append(items, item)
	}
	slices.Sort(items)
	return items
}
