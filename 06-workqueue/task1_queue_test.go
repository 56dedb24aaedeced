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
	guard.Test(t, "who was added first has waited longest; any other order lets somebody starve", func(t *guard.T) {
		q := newQueue(t, "web", "db", "cdn")
		require.Equal(t, "web", q.Get())
		q.Add("job")
		require.Equal(t, []string{"db", "cdn", "job"}, q.All())
	})
}

func TestTask1_Order_holds_however_many_there_are(t *testing.T) {
	guard.Test(t, "Len is how many were pushed and not popped", func(t *guard.T) {
		q := workqueue.DefaultQueue[int]()
		t.Did("DefaultQueue: Push and Pop, 3 in and 2 out at a time, 1000 times; then Pop what is left")
		in, out := 0, 0
		pop := func() {
			require.Equal(t, in-out, q.Len())
			t.Rule("first in, first out, also where the slice grows or is moved")
			require.Equal(t, out, q.Pop())
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
		t.Rule("as many out as in")
		require.Equal(t, 0, q.Len())
	})
}

func TestTask1_Added_twice_comes_once(t *testing.T) {
	guard.Test(t, "an item says that something is to be done, not how often; three events about web are one look "+
		"at web", func(t *guard.T) {
		q := newQueue(t, "web", "db", "web", "web")
		require.Equal(t, 2, q.Len())
		t.Rule("web keeps the place that its first Add gave it")
		require.Equal(t, []string{"web", "db"}, q.All())
	})
}

func TestTask1_Done_is_the_end_of_it(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		q.Done("web")
		t.Rule("nobody added web since it was taken, so there is nothing more to do")
		require.Equal(t, []string{}, q.All())
		q.Add("web")
		t.Rule("what is done can be added again")
		require.Equal(t, []string{"web"}, q.All())
	})
}

func TestTask1_Added_in_hand_comes_once_more(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		q.Add("web")
		q.Add("web")
		q.Done("web")
		rule := "the worker may have looked before the change came; so an item that was added in hand comes once more after Done"
		t.Rule("%s", rule)
		require.Equal(t, 1, q.Len())
		require.Equal(t, "web", q.Get())
		q.Done("web")
		t.Rule("once more, and not for ever: the second round was the answer to both Adds")
		require.Equal(t, 0, q.Len())
	})
}

func TestTask1_One_worker_at_a_time(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		q.Add("web")
		second := q.GetLater()
		t.Rule("web is in the first worker's hand; two who work on it at once undo each other's work")
		require.Equal(t, waits, second.result())
		q.Done("web")
		t.Rule("the first worker's Done makes web free for the one who waits, and has to wake it")
		require.Equal(t, "web", second.result())
	})
}

func TestTask1_Added_in_hand_goes_to_the_end(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get())
		q.Add("web")
		q.Add("db")
		q.Done("web")
		t.Rule("web enters the queue with Done, and those who were in it by then go first")
		require.Equal(t, []string{"db", "web"}, q.All())
	})
}

func TestTask1_Get_waits_for_an_item(t *testing.T) {
	guard.Test(t, "there is nothing to do, and no shutdown either", func(t *guard.T) {
		q := newQueue(t)
		worker := q.GetLater()
		require.Equal(t, waits, worker.result())
		q.Add("web")
		t.Rule("Add wakes a worker that waits")
		require.Equal(t, "web", worker.result())
	})
}

func TestTask1_Each_item_wakes_a_worker(t *testing.T) {
	guard.Test(t, "two items, two workers: the second Add has to wake somebody too, though the queue was not "+
		"empty any more", func(t *guard.T) {
		for range 100 { // how the goroutines meet is chance
			t.Story(8)
			q := newQueue(t)
			first, second := q.GetLater(), q.GetLater()
			synctest.Wait()
			q.Add("web")
			q.Add("db")
			require.Equal(t, []string{"db", "web"}, results(first, second))
		}
	})
}

func TestTask1_Get_goes_back_to_waiting_when_another_was_faster(t *testing.T) {
	guard.Test(t, "between waking up and getting the lock, another worker may have taken the item: a worker that "+
		"wakes up has to look again", func(t *guard.T) {
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
			require.Equal(t, []string{waits, "web"}, results(worker, rival))
			q.Add("db")
			require.Equal(t, []string{"db", "web"}, results(worker, rival))
		}
	})
}

func TestTask1_Len_counts_who_waits(t *testing.T) {
	guard.Test(t, "both wait", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, 2, q.Len())
		q.Get()
		t.Rule("web is in hand, and does not wait any more")
		require.Equal(t, 1, q.Len())
		q.Add("web")
		t.Rule("web will come again, but waits in no queue before Done")
		require.Equal(t, 1, q.Len())
		q.Done("web")
		t.Rule("now it does")
		require.Equal(t, 2, q.Len())
	})
}

func TestTask1_Config_chooses_the_queue_below(t *testing.T) {
	guard.Test(t, "which item is next is for config.Queue to say", func(t *guard.T) {
		below := &ordered{}
		q := told{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
		t.Did("NewTypedWithConfig, with a Queue in alphabetical order")
		for _, item := range []string{"web", "cdn", "db"} {
			q.Add(item)
		}
		require.Equal(t, []string{"cdn", "db", "web"}, q.All())
	})
}

func TestTask1_Touch_is_for_who_waits(t *testing.T) {
	guard.Test(t, "a new item is pushed, and Touch is for one that is there already", func(t *guard.T) {
		below := &ordered{}
		q := told{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
		q.Add("web")
		require.Equal(t, "calls of Touch: []", below.touches())
		q.Add("web")
		t.Rule("web is in the queue and was added again: a queue with priorities may move it")
		require.Equal(t, "calls of Touch: [web]", below.touches())
		q.Get()
		q.Add("web")
		q.Add("web")
		t.Rule("web is in hand; the queue below does not have it, and cannot move it")
		require.Equal(t, "calls of Touch: [web]", below.touches())
	})
}

func TestTask1_What_was_taken_can_be_freed(t *testing.T) {
	guard.Test(t, "the array behind a slice lives on after items[1:], and whatever was in it with it: client-go's "+
		"queue kept alive what had long been worked on (#105031)", func(t *guard.T) {
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
		require.Equal(t, "0 of 255 still in memory", stillHeld(taken))
		runtime.KeepAlive(q)
	})
}

func TestTask1_Never_empty_does_not_grow(t *testing.T) {
	guard.Test(t, "there is room for an item while it waits, and not for each that ever did: the queue of a busy "+
		"controller is never empty, so the slots at the front have to be given up or used again before "+
		"that", func(t *guard.T) {
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
		require.Equal(t, "no more than 1 MB for 1 item", got)
		runtime.KeepAlive(q)
	})
}

func TestTask1_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "every method holds the lock for as long as it touches what the queue is made of; Get gives it back while it waits", func(t *guard.T) {
		q := workqueue.NewTyped[string]()
		t.Did("Add, Get and Done of other items by each of four goroutines, Add of the same one by two, and Len by two")
		var calls []func(int)
		for worker := range 4 {
			calls = append(calls, func(i int) {
				q.Add(fmt.Sprint(worker, "/", i)) // nobody else adds it, so there is an item for each Get
				item, _ := q.Get()
				q.Done(item)
			})
		}
		same := func(int) { q.Add("web") }
		count := func(int) { q.Len() }
		guard.Storm(append(calls, same, same, count, count)...)
	})
}
