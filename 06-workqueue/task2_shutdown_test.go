package workqueue_test

// Task 2: shutdown and drain.

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/modeltest"
)

func TestTask2_ShutDown_refuses_what_is_new(t *testing.T) {
	guard.Test(t, "After ShutDown nothing new comes in.", func(t *guard.T) {
		q := newQueue(t)
		q.ShutDown()
		q.Add("web")
		require.Equal(t, 0, q.Len(), "Len after ShutDown and Add")
		t.Rule("After ShutDown every Get on an empty queue returns shutdown.")
		require.Equal(t, shutdown, q.Get(), "Get after ShutDown")
	})
}

func TestTask2_ShutDown_hands_out_what_is_queued(t *testing.T) {
	guard.Test(t, "After ShutDown the items in the queue are handed out, and then every Get "+
		"returns shutdown.", func(t *guard.T) {
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
	guard.Test(t, "An item that was added in hand before ShutDown still comes once more after Done.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		q.ShutDown()
		q.Done("web")
		require.Equal(t, "web", q.Get(), "the 2nd Get")
		q.Done("web")
		t.Rule("After ShutDown every Get on an empty queue returns shutdown.")
		require.Equal(t, shutdown, q.Get(), "the 3rd Get")
	})
}

func TestTask2_ShutDown_refuses_a_new_second_round(t *testing.T) {
	guard.Test(t, "After ShutDown nothing new comes in, not even an item in hand.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.ShutDown()
		q.Add("web")
		q.Done("web")
		require.Equal(t, shutdown, q.Get(), "the 2nd Get")
	})
}

func TestTask2_ShutDown_wakes_every_worker(t *testing.T) {
	guard.Test(t, "ShutDown wakes every worker that waits in Get.", func(t *guard.T) {
		q := newQueue(t)
		workers := []*call{q.GetLater(), q.GetLater(), q.GetLater()}
		synctest.Wait()
		q.ShutDown()
		require.Equal(t, []string{shutdown, shutdown, shutdown}, results(workers...), "the results of three Gets")
	})
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

func TestTask2_ShuttingDown_tells_of_both(t *testing.T) {
	guard.Test(t, "ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.False(t, isShuttingDown(q), "a queue of one item is shutting down before ShutDown")
		q.ShutDown()
		require.True(t, isShuttingDown(q), "a queue of one item is shutting down after ShutDown")
		q = newQueue(t)
		q.DrainLater().result()
		require.True(t, isShuttingDown(q), "a queue is shutting down after ShutDownWithDrain")
	})
}

func TestTask2_Drain_waits_for_what_is_in_hand(t *testing.T) {
	guard.Test(t, "ShutDownWithDrain waits until the workers have given back every item in hand.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, []string{"web", "db"}, q.All(), "the items that Get returns")
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with 2 items in hand")
		q.Done("web")
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with 1 item in hand")
		q.Done("db")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
	})
}

func TestTask2_Drain_refuses_what_is_new_and_hands_out_the_rest(t *testing.T) {
	guard.Test(t, "After ShutDownWithDrain nothing new comes in. The items in the queue are handed out, and then "+
		"every Get returns shutdown.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		drain := q.DrainLater()
		synctest.Wait()
		q.Add("cdn")
		require.Equal(t, "db", q.Get(), "the 2nd Get")
		worker := q.GetLater()
		require.Equal(t, shutdown, worker.result(), "the 3rd Get")
		q.Done("web")
		q.Done("db")
		t.Rule("ShutDownWithDrain returns when nothing is queued and nothing is in hand.")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
	})
}

func TestTask2_Drain_hands_out_the_second_round(t *testing.T) {
	guard.Test(t, "An item that was added in hand before ShutDownWithDrain still comes "+
		"once more after Done.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		drain := q.DrainLater()
		synctest.Wait()
		q.Done("web")
		require.Equal(t, "web", q.Get(), "the 2nd Get")
		q.Done("web")
		t.Rule("ShutDownWithDrain returns when nothing is queued and nothing is in hand.")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
	})
}

func TestTask2_Drain_wakes_every_worker(t *testing.T) {
	guard.Test(t, "ShutDownWithDrain wakes every worker that waits in Get, at once and not after "+
		"the last Done.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		workers := []*call{q.GetLater(), q.GetLater()}
		synctest.Wait()
		drain := q.DrainLater()
		require.Equal(t, []string{shutdown, shutdown}, results(workers...), "the results of the 2nd and 3rd Get")
		q.Done("web")
		t.Rule("ShutDownWithDrain returns when nothing is queued and nothing is in hand.")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain with no item left")
	})
}

func TestTask2_ShutDown_ends_a_drain(t *testing.T) {
	guard.Test(t, "ShutDown ends every ShutDownWithDrain that waits. In client-go it once did not, and the program "+
		"hung (#119554).", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		drain := q.DrainLater()
		synctest.Wait()
		q.ShutDown()
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain after ShutDown")
	})
}

func TestTask2_Every_drain_hears_ShutDown(t *testing.T) {
	guard.Test(t, "ShutDown ends every ShutDownWithDrain that waits: a program and its controller may both drain one "+
		"queue.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		drains := []*call{q.DrainLater(), q.DrainLater()}
		synctest.Wait()
		q.ShutDown()
		require.Equal(t, []string{returned, returned}, results(drains...), "the results of both ShutDownWithDrain")
	})
}

func TestTask2_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, "The queue does the same as the model in model_test.go, whatever "+
		"the sequence of calls.", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			q := workqueue.NewTyped[string]()
			defer q.ShutDown() // frees a call that should not have waited
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

func TestTask2_Nothing_is_lost_in_a_storm(t *testing.T) {
	guard.Test(t, "No Add before ShutDown is lost, and an item is in one hand at a time, however many goroutines use "+
		"the queue.", func(t *guard.T) {
		for seed := range uint64(20) {
			t.Story(8)
			storm(t, seed)
		}
	})
}

// storm runs 16 producers, 8 workers and a shutdown on one queue. Each producer changes an object before it adds the
// item. After the last Add that returned before ShutDown, a worker must look at the object.
func storm(t *guard.T, seed uint64) {
	const producers, workers = 16, 8
	keys := []int{1, 2, 4, 12}[seed%4]
	t.Did("%d goroutines Add %d items, %d Get and Done, and one calls ShutDown; seed %d", producers, keys, workers, seed)
	type object struct {
		changes, promised, seen atomic.Int64
		hands                   atomic.Int32
	}
	q := workqueue.NewTyped[int]()
	objects := make([]object, keys)
	var closing atomic.Bool
	var twice atomic.Int32
	var unfinished []*call
	for range workers {
		unfinished = append(unfinished, start(t, func() string {
			for {
				item, down := q.Get()
				if down {
					return returned
				}
				o := &objects[item]
				if o.hands.Add(1) > 1 {
					twice.Add(1)
				}
				raise(&o.seen, o.changes.Load())
				runtime.Gosched()
				o.hands.Add(-1)
				q.Done(item)
			}
		}))
	}
	adds := 100 + rand.New(rand.NewPCG(seed, 6)).IntN(10_000)
	var added atomic.Int64
	for p := range producers {
		unfinished = append(unfinished, start(t, func() string {
			random := rand.New(rand.NewPCG(seed, uint64(p)))
			for !closing.Load() {
				item := random.IntN(keys)
				o := &objects[item]
				change := o.changes.Add(1)
				q.Add(item)
				runtime.Gosched() // or one of them could do it all before the others begin
				if !closing.Load() {
					raise(&o.promised, change)
				}
				if int(added.Add(1)) == adds {
					closing.Store(true)
					q.ShutDown()
				}
			}
			return returned
		}))
	}
	t.Rule("After ShutDown every Get returns: an item that was left, or shutdown.")
	require.NotContains(t, results(unfinished...), waits, "the results of the workers and the producers")
	lost := 0
	for item := range objects {
		if o := &objects[item]; o.seen.Load() < o.promised.Load() {
			lost++
		}
	}
	t.Rule("An Add that returned before ShutDown was called is not lost: a worker gets the item after it.")
	require.Equal(t, 0, lost, "items whose last Add was lost")
	t.Rule("An item is in one hand at a time.")
	require.Equal(t, 0, int(twice.Load()), "times that a second worker got an item in hand")
}

// raise sets v to at least n.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

func TestTask2_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "ShuttingDown takes the lock, like every method: it reads the field "+
		"that ShutDown writes.", func(t *guard.T) {
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
