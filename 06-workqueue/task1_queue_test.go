package workqueue_test

// Task 1: dirty, processing, queue.

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_First_in_first_out(t *testing.T) {
	guard.Test(t, "First in, first out.", func(t *guard.T) {
		q := newQueue(t, "web", "db", "cdn")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("job")
		require.Equal(t, []string{"db", "cdn", "job"}, q.All(), "the items of the next Gets")
	})
}

func TestTask1_Order_holds_however_many_there_are(t *testing.T) {
	guard.Test(t, "First in, first out, however many items there are; Len returns their number.", func(t *guard.T) {
		q := workqueue.DefaultQueue[int]()
		t.Did("DefaultQueue: Push and Pop, 3 in and 2 out at a time, 1000 times; then Pop what is left")
		in, out := 0, 0
		pop := func() {
			require.Equal(t, in-out, q.Len(), "Len after %d Push and %d Pop", in, out)
			require.Equal(t, out, q.Pop(), "Pop after %d Push and %d Pop", in, out)
			out++
		}
		for range 1000 {
			for range 3 {
				q.Push(in)
				in++
			}
			pop()
			pop()
		}
		for out < in {
			pop()
		}
		require.Equal(t, 0, q.Len(), "Len after the last Pop")
	})
}

func TestTask1_Added_twice_comes_once(t *testing.T) {
	guard.Test(t, "However often an item is added before a worker takes it, the worker gets it once.", func(t *guard.T) {
		q := newQueue(t, "web", "db", "web", "web")
		require.Equal(t, 2, q.Len(), "Len after 4 Adds of 2 items")
		t.Rule("An item that is added again keeps its place in the queue.")
		require.Equal(t, []string{"web", "db"}, q.All(), "the items that Get returns")
	})
}

func TestTask1_Done_is_the_end_of_it(t *testing.T) {
	guard.Test(t, "After Done an item comes again only if it is added again.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Done("web")
		require.Equal(t, []string{}, q.All(), "the items in the queue after Done")
		q.Add("web")
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Done and another Add")
	})
}

func TestTask1_Added_in_hand_comes_once_more(t *testing.T) {
	guard.Test(t, "If an item is added while it is in hand, it comes once more after Done, so that no change is "+
		"missed.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		q.Add("web")
		q.Done("web")
		require.Equal(t, 1, q.Len(), "Len after the 1st Done")
		require.Equal(t, "web", q.Get(), "the 2nd Get")
		q.Done("web")
		t.Rule("The second round answers every Add before it, so the item does not come a third time.")
		require.Equal(t, 0, q.Len(), "Len after the 2nd Done")
	})
}

func TestTask1_One_worker_at_a_time(t *testing.T) {
	guard.Test(t, "An item is in one hand at a time. Two workers on one item would "+
		"undo each other's work.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		second := q.GetLater()
		require.Equal(t, waits, second.result(), "the 2nd Get, before Done")
		q.Done("web")
		t.Rule("If an item was added while it was in hand, Done queues it and wakes a worker that waits.")
		require.Equal(t, "web", second.result(), "the 2nd Get, after Done")
	})
}

func TestTask1_Added_in_hand_goes_to_the_end(t *testing.T) {
	guard.Test(t, "If an item was added while it was in hand, Done puts it at the end of the queue.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		q.Add("db")
		q.Done("web")
		require.Equal(t, []string{"db", "web"}, q.All(), "the items in the queue after Done")
	})
}

func TestTask1_Get_waits_for_an_item(t *testing.T) {
	guard.Test(t, "Get waits until there is an item.", func(t *guard.T) {
		q := newQueue(t)
		worker := q.GetLater()
		require.Equal(t, waits, worker.result(), "Get on an empty queue")
		q.Add("web")
		t.Rule("Add wakes a worker that waits in Get.")
		require.Equal(t, "web", worker.result(), "Get after Add")
	})
}

func TestTask1_Each_item_wakes_a_worker(t *testing.T) {
	guard.Test(t, "Each Add of a new item wakes a worker, even if the queue is not empty.", func(t *guard.T) {
		for range 100 { // how the goroutines meet is chance
			t.Story(8)
			q := newQueue(t)
			first, second := q.GetLater(), q.GetLater()
			synctest.Wait()
			q.Add("web")
			q.Add("db")
			require.Equal(t, []string{"db", "web"}, results(first, second), "the results of both Gets")
		}
	})
}

func TestTask1_Get_goes_back_to_waiting_when_another_was_faster(t *testing.T) {
	guard.Test(t, "A worker that wakes up looks again: another one may have taken the item before it "+
		"got the lock.", func(t *guard.T) {
		for range 500 { // how the goroutines meet is chance
			t.Story(8)
			q := newQueue(t)
			worker := q.GetLater()
			synctest.Wait()
			t.Did("Add web and Get, at once")
			rival := start(t, func() string {
				q.TypedInterface.Add("web")
				return answer(q.TypedInterface.Get())
			})
			require.Equal(t, []string{waits, "web"}, results(worker, rival), "the results of both Gets after the Add of web")
			q.Add("db")
			require.Equal(t, []string{"db", "web"}, results(worker, rival), "the results of both Gets after the Add of db")
		}
	})
}

func TestTask1_Len_counts_who_waits(t *testing.T) {
	guard.Test(t, "Len returns how many items wait in the queue. Those in hand do not wait, whether they will come "+
		"again or not.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, 2, q.Len(), "Len after 2 Adds")
		q.Get()
		require.Equal(t, 1, q.Len(), "Len after Get")
		q.Add("web")
		require.Equal(t, 1, q.Len(), "Len after an Add of the item in hand")
		q.Done("web")
		require.Equal(t, 2, q.Len(), "Len after Done")
	})
}

func TestTask1_Config_chooses_the_queue_below(t *testing.T) {
	guard.Test(t, "config.Queue decides in which order the items come.", func(t *guard.T) {
		below := &ordered{}
		q := loggedQueue{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
		t.Did("NewTypedWithConfig, with a Queue in alphabetical order")
		for _, item := range []string{"web", "cdn", "db"} {
			q.Add(item)
		}
		require.Equal(t, []string{"cdn", "db", "web"}, q.All(), "the items that Get returns")
	})
}

func TestTask1_Touch_is_for_who_waits(t *testing.T) {
	guard.Test(t, "Touch is called for an item that is added again while it waits in the queue.", func(t *guard.T) {
		below := &ordered{}
		q := loggedQueue{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
		q.Add("web")
		require.Empty(t, below.touched, "items touched after the 1st Add")
		q.Add("web")
		require.Equal(t, []string{"web"}, below.touched, "items touched after the 2nd Add")
		q.Get()
		q.Add("web")
		q.Add("web")
		t.Rule("An item in hand is not in config.Queue, so Touch is not called for it.")
		require.Equal(t, []string{"web"}, below.touched, "items touched after 2 Adds of the item in hand")
	})
}

func TestTask1_What_was_taken_can_be_freed(t *testing.T) {
	guard.Test(t, "Nothing is kept that the items do not account for: an item that was popped can be freed "+
		"(#105031).", func(t *guard.T) {
		q := workqueue.NewTyped[*payload]()
		var taken []weak.Pointer[payload]
		t.Did("64 times: Add 4 pointers, Get and Done 3 of them; then Get and Done all but the last")
		start(t, func() string { // on a goroutine that ends, so that its stack holds none of them
			take := func(n int) {
				for range n {
					item, _ := q.Get()
					taken = append(taken, weak.Make(item))
					q.Done(item)
				}
			}
			for range 64 {
				for range 4 {
					q.Add(new(payload))
				}
				take(3)
			}
			take(63)
			return returned
		}).result()
		require.Equal(t, "0 of 255 still in memory", stillHeld(taken), "the items that were taken")
		runtime.KeepAlive(q)
	})
}

func TestTask1_Never_empty_does_not_grow(t *testing.T) {
	guard.Test(t, "Nothing is kept that the items do not account for. If the queue is never empty, the slots of "+
		"popped items are still freed or used again.", func(t *guard.T) {
		before := memory()
		q := workqueue.DefaultQueue[payload]()
		t.Did("DefaultQueue of items of 1 kB: Push; then Push and Pop, 10000 times")
		q.Push(payload{})
		for range 10_000 {
			q.Push(payload{})
			q.Pop()
		}
		const most = 1 << 20
		got := "no more than 1 MB for 1 item"
		if held := memory() - before; held > most {
			got = fmt.Sprintf("%d MB for 1 item", held>>20)
		}
		require.Equal(t, "no more than 1 MB for 1 item", got, "memory in use")
		runtime.KeepAlive(q)
	})
}

func TestTask1_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method holds the lock while it uses the queue's fields. Get releases it "+
		"while it waits.", func(t *guard.T) {
		q := workqueue.NewTyped[string]()
		t.Did("Add, Get and Done of other items by each of four goroutines, Add of the same one by two, and Len by two")
		var calls []func(int)
		for worker := range 4 {
			calls = append(calls, func(i int) {
				q.Add(fmt.Sprint(worker, "/", i)) // no other goroutine adds it, so there is an item for each Get
				item, _ := q.Get()
				q.Done(item)
			})
		}
		same := func(int) { q.Add("web") }
		count := func(int) { q.Len() }
		guard.Storm(append(calls, same, same, count, count)...)
	})
}
