package workqueue_test

// Task 2: shutdown and drain.

import (
	"fmt"
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
	guard.Test(t, "after ShutDown new items are dropped, without a word: handlers may go on calling Add", func(t *guard.T) {
		q := newQueue(t)
		q.ShutDown()
		q.Add("web")
		require.Equal(t, 0, q.Len())
		t.Rule("shut down and empty: the worker is to end")
		require.Equal(t, shutdown, q.Get())
	})
}

func TestTask2_ShutDown_hands_out_what_is_queued(t *testing.T) {
	guard.Test(t, "what was accepted before ShutDown is still worked on", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		q.ShutDown()
		require.Equal(t, "web", q.Get())
		q.Done("web")
		require.Equal(t, "db", q.Get())
		q.Done("db")
		t.Rule("shut down and empty: the worker is to end")
		require.Equal(t, shutdown, q.Get())
	})
}

func TestTask2_ShutDown_keeps_the_second_round(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		q.Add("web")
		q.ShutDown()
		q.Done("web")
		t.Rule("this second Add was accepted before ShutDown, too; it only had to wait for Done")
		require.Equal(t, "web", q.Get())
		q.Done("web")
		t.Rule("shut down and empty: the worker is to end")
		require.Equal(t, shutdown, q.Get())
	})
}

func TestTask2_ShutDown_refuses_a_new_second_round(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		q.ShutDown()
		q.Add("web")
		q.Done("web")
		t.Rule("after ShutDown no Add counts, also not one for an item in hand; or the end never comes")
		require.Equal(t, shutdown, q.Get())
	})
}

func TestTask2_ShutDown_wakes_every_worker(t *testing.T) {
	guard.Test(t, "Signal wakes one; the end concerns all who wait", func(t *guard.T) {
		q := newQueue(t)
		workers := []*call{q.GetLater(), q.GetLater(), q.GetLater()}
		synctest.Wait()
		q.ShutDown()
		require.Equal(t, []string{shutdown, shutdown, shutdown}, results(workers...))
	})
}

func TestTask2_ShutDown_twice_is_fine(t *testing.T) {
	guard.Test(t, "a second ShutDown says nothing new", func(t *guard.T) {
		q := newQueue(t, "web")
		q.ShutDown()
		q.ShutDown()
		require.Equal(t, "web", q.Get())
		q.Done("web")
		t.Rule("there is nothing to wait for")
		require.Equal(t, returned, q.DrainLater().result())
		q.ShutDown()
		t.Rule("shut down and empty: the worker is to end")
		require.Equal(t, shutdown, q.Get())
	})
}

func TestTask2_ShuttingDown_tells_of_both(t *testing.T) {
	guard.Test(t, "nobody has said so", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "shutting down: false", isShuttingDown(q))
		q.ShutDown()
		t.Rule("from the first ShutDown on, although there is an item left")
		require.Equal(t, "shutting down: true", isShuttingDown(q))
		q = newQueue(t)
		q.DrainLater().result()
		t.Rule("a drain is a shutdown that waits")
		require.Equal(t, "shutting down: true", isShuttingDown(q))
	})
}

func TestTask2_Drain_waits_for_what_is_in_hand(t *testing.T) {
	guard.Test(t, "they were added", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, []string{"web", "db"}, q.All())
		drain := q.DrainLater()
		rule := "a drain lets the workers finish what they have in hand: a program that ends before leaves the work half done"
		t.Rule("%s", rule)
		require.Equal(t, waits, drain.result())
		q.Done("web")
		require.Equal(t, waits, drain.result())
		q.Done("db")
		t.Rule("nothing is queued and nothing in hand: that is what the drain waits for")
		require.Equal(t, returned, drain.result())
	})
}

func TestTask2_Drain_refuses_what_is_new_and_hands_out_the_rest(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, "web", q.Get())
		drain := q.DrainLater()
		synctest.Wait()
		q.Add("cdn")
		t.Rule("a drain is there to have the rest done, so it has to hand it out")
		require.Equal(t, "db", q.Get())
		worker := q.GetLater()
		t.Rule("cdn came too late, and there is nothing else")
		require.Equal(t, shutdown, worker.result())
		q.Done("web")
		q.Done("db")
		t.Rule("nothing is queued and nothing in hand: that is what the drain waits for")
		require.Equal(t, returned, drain.result())
	})
}

func TestTask2_Drain_hands_out_the_second_round(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		q.Add("web")
		drain := q.DrainLater()
		synctest.Wait()
		q.Done("web")
		t.Rule("the second Add was accepted before the drain began")
		require.Equal(t, "web", q.Get())
		q.Done("web")
		t.Rule("nothing is queued and nothing in hand: that is what the drain waits for")
		require.Equal(t, returned, drain.result())
	})
}

func TestTask2_Drain_wakes_every_worker(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		workers := []*call{q.GetLater(), q.GetLater()}
		synctest.Wait()
		drain := q.DrainLater()
		t.Rule("there is nothing for them, and nothing will come: they are to end while the drain waits")
		require.Equal(t, []string{shutdown, shutdown}, results(workers...))
		q.Done("web")
		t.Rule("nothing is queued and nothing in hand: that is what the drain waits for")
		require.Equal(t, returned, drain.result())
	})
}

func TestTask2_ShutDown_ends_a_drain(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		drain := q.DrainLater()
		synctest.Wait()
		q.ShutDown()
		t.Rule("who has waited long enough calls ShutDown; in client-go it could go unheard, and the program " +
			"hung for a worker that never ended (#119554)")
		require.Equal(t, returned, drain.result())
	})
}

func TestTask2_Every_drain_hears_ShutDown(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		drains := []*call{q.DrainLater(), q.DrainLater()}
		synctest.Wait()
		q.ShutDown()
		t.Rule("a program and its controller may both drain one queue; Signal wakes one of them, and ShutDown " +
			"concerns all who wait")
		require.Equal(t, []string{returned, returned}, results(drains...))
	})
}

func TestTask2_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			q := workqueue.NewTyped[string]()
			defer q.ShutDown() // sets free whoever should not have waited
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
	guard.Test(t, "", func(t *guard.T) {
		for seed := range uint64(20) {
			t.Story(8)
			storm(t, seed)
		}
	})
}

// storm lets 16 producers, 8 workers and a shutdown loose on one queue. What can be promised then: whoever adds an item
// has changed it before, and after the last Add that returned before ShutDown some worker looks at it.
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
	require.NotContains(t, results(unfinished...), waits, "after ShutDown every Get returns, if with nothing else then with shutdown")
	lost := 0
	for item := range objects {
		if o := &objects[item]; o.seen.Load() < o.promised.Load() {
			lost++
		}
	}
	require.Equal(t, "0 lost", fmt.Sprint(lost, " lost"), "an Add that returned before ShutDown was called is not lost: a worker gets the item after it")
	require.Equal(t, "in two hands: 0 times", fmt.Sprintf("in two hands: %d times", twice.Load()), "no two workers have the same item in hand")
}

// raise sets v to at least n.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

func TestTask2_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "ShuttingDown reads what ShutDown writes, so it takes the lock, like every method", func(t *guard.T) {
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

func isShuttingDown(q told) string {
	q.t.Did("ShuttingDown")
	if q.ShuttingDown() {
		return "shutting down: true"
	}
	return "shutting down: false"
}

// sortedItems are the keys of a set, in the alphabet's order.
func sortedItems[V any](set map[string]V) []string {
	items := []string{}
	for item := range set {
		items = append(items, item)
	}
	slices.Sort(items)
	return items
}
