package workqueue_test

// Task 1: dirty, processing, queue.

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

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
	guard.Test(t, "Push puts item at the end of the queue.", func(t *guard.T) {
		q := workqueue.DefaultQueue[int]()
		t.Did("DefaultQueue: Push and Pop, 3 in and 2 out at a time, 2000 times; then Pop what is left")
		in, out := 0, 0
		pop := func() {
			t.Rule("Len returns how many items are in the queue.")
			require.Equal(t, in-out, q.Len(), "Len after %d Push and %d Pop", in, out)
			t.Rule("Pop removes and returns the item that has been in the queue longest, however many items there are.")
			require.Equal(t, out, q.Pop(), "Pop after %d Push and %d Pop", in, out)
			out++
		}
		for range 2_000 {
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
	guard.Test(t, "If an item is added several times before a worker takes it, Get returns it once.", func(t *guard.T) {
		q := newQueue(t, "web", "db", "web", "web")
		require.Equal(t, 2, q.Len(), "Len after 4 Adds of 2 items")
		t.Rule("An item that is already queued keeps its place, and Add calls Touch of config.Queue for it.")
		require.Equal(t, []string{"web", "db"}, q.All(), "the items that Get returns")
	})
}

func TestTask1_Done_ends_the_processing(t *testing.T) {
	guard.Test(t, "Done ends the processing of item: Get returns it again only if it is added again.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Done("web")
		require.Equal(t, []string{}, q.All(), "the items in the queue after Done")
		q.Add("web")
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Done and another Add")
	})
}

func TestTask1_Added_while_processed_comes_once_more(t *testing.T) {
	guard.Test(t, "If an item is added while it is being processed, Get returns it once more after Done, so that "+
		"no change is missed.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		q.Add("web")
		q.Done("web")
		require.Equal(t, 1, q.Len(), "Len after the 1st Done")
		require.Equal(t, "web", q.Get(), "the 2nd Get")
		q.Done("web")
		t.Rule("One more round is enough for all Adds before it, so Get does not return the item a third time.")
		require.Equal(t, 0, q.Len(), "Len after the 2nd Done")
	})
}

func TestTask1_One_worker_at_a_time(t *testing.T) {
	guard.Test(t, "Only one worker has an item at a time: no other Get returns it before Done. Two workers on "+
		"one item would undo each other's work.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		second := q.GetLater()
		require.Equal(t, waits, second.result(), "the 2nd Get, before Done")
		q.Done("web")
		t.Rule("If an item was added while it was being processed, Done queues it and wakes a worker that waits.")
		require.Equal(t, "web", second.result(), "the 2nd Get, after Done")
	})
}

func TestTask1_Done_of_an_item_not_processed_is_ignored(t *testing.T) {
	guard.Test(t, "Done ignores an item that is not being processed: it does not queue a queued item a second time.",
		func(t *guard.T) {
			q := newQueue(t, "web", "db")
			q.Done("web")
			q.Done("cdn")
			require.Equal(t, []string{"web", "db"}, q.All(), "the items in the queue after Done of items that no worker had")
			q.Done("web")
			q.Done("web")
			require.Equal(t, []string{}, q.All(), "the items in the queue after the 2nd Done of web")
			q.Add("db")
			q.Done("db")
			q.Done("db")
			require.Equal(t, []string{"db"}, q.All(), "the items in the queue after the 2nd Done of db, which came once more")
		})
}

func TestTask1_Added_while_processed_goes_to_the_end(t *testing.T) {
	guard.Test(t, "If an item was added while it was being processed, Done puts it at the end of the "+
		"queue.", func(t *guard.T) {
		q := newQueue(t, "web")
		require.Equal(t, "web", q.Get(), "the 1st Get")
		q.Add("web")
		q.Add("db")
		q.Done("web")
		require.Equal(t, []string{"db", "web"}, q.All(), "the items in the queue after Done")
	})
}

func TestTask1_Get_waits_for_an_item(t *testing.T) {
	guard.Test(t, "Get waits until there is an item, and removes it from the queue.", func(t *guard.T) {
		q := newQueue(t)
		worker := q.GetLater()
		require.Equal(t, waits, worker.result(), "Get on an empty queue")
		q.pass(20 * 24 * time.Hour)
		require.Equal(t, waits, worker.result(), "Get on an empty queue, weeks later")
		q.Add("web")
		t.Rule("Add puts item at the end of the queue and wakes a worker that waits in Get.")
		require.Equal(t, "web", worker.result(), "Get after Add")
		q.Add("web")
		second := q.GetLater()
		t.Rule("Only one worker has an item at a time: no other Get returns it before Done.")
		require.Equal(t, waits, second.result(), "the 2nd Get, before Done")
		q.Done("web")
		require.Equal(t, "web", second.result(), "the 2nd Get, after Done")
	})
}

func TestTask1_Each_item_wakes_a_worker(t *testing.T) {
	guard.Test(t, "Add puts item at the end of the queue and wakes a worker that waits in Get, even if the queue is not "+
		"empty.", func(t *guard.T) {
		for range 100 { // the order of the goroutines is chance
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

func TestTask1_Each_Done_wakes_a_worker(t *testing.T) {
	guard.Test(t, "If an item was added while it was being processed, Done puts it at the end of the queue. Get waits "+
		"until there is an item, so Done wakes a worker for each, even if the queue is not empty.", func(t *guard.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no worker runs between the two calls
		for name, second := range guard.InOrder(map[string]func(q loggedQueue){
			"Add cdn, Done web":  func(q loggedQueue) { q.Add("cdn"); q.Done("web") },
			"Done web, Add cdn":  func(q loggedQueue) { q.Done("web"); q.Add("cdn") },
			"Done web, Done cdn": func(q loggedQueue) { q.Done("web"); q.Done("cdn") },
		}) {
			t.Story(8)
			q := newQueue(t, "web")
			require.Equal(t, "web", q.Get(), "Get")
			q.Add("web")
			if name == "Done web, Done cdn" {
				q.Add("cdn")
				require.Equal(t, "cdn", q.Get(), "Get")
				q.Add("cdn")
			}
			workers := []*call{q.GetLater(), q.GetLater()}
			synctest.Wait()
			second(q)
			require.Equal(t, []string{"cdn", "web"}, results(workers...), "the results of both Gets after "+name)
		}
	})
}

func TestTask1_Get_waits_again_if_another_was_faster(t *testing.T) {
	guard.Test(t, "Get waits until there is an item. When a worker wakes up, another one may have taken the "+
		"item, so it has to look again.", func(t *guard.T) {
		for range 500 { // the order of the goroutines is chance
			t.Story(8)
			q := newQueue(t)
			worker := q.GetLater()
			synctest.Wait()
			t.Did("Add web and Get, at once")
			rival := start(t, func() string {
				q.TypedInterface.Add("web")
				return answer(q.TypedInterface.Get())
			})
			require.Equal(t, []string{waits, "web"}, results(worker, rival), "the results of both Gets after Add web")
			q.Add("db")
			require.Equal(t, []string{"db", "web"}, results(worker, rival), "the results of both Gets after Add db")
		}
	})
}

func TestTask1_Len_counts_queued_items(t *testing.T) {
	guard.Test(t, "Len returns how many items are queued, without those being processed. It does not matter "+
		"whether they will come again.", func(t *guard.T) {
		q := newQueue(t, "web", "db")
		require.Equal(t, 2, q.Len(), "Len after 2 Adds")
		q.Get()
		require.Equal(t, 1, q.Len(), "Len after Get")
		q.Add("web")
		require.Equal(t, 1, q.Len(), "Len after an Add of the item being processed")
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

func TestTask1_Queue_below_needs_no_lock(t *testing.T) {
	guard.Test(t, "config.Queue needs no lock: it is called by one method at a time.", func(t *guard.T) {
		for before := range 3 { // a method may call config.Queue several times
			t.Story(8)
			below := &crowded{Queue: workqueue.DefaultQueue[string](), before: before}
			q := loggedQueue{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
			for _, item := range []string{"web", "db", "cdn"} {
				q.Add(item)
			}
			q.Get()
			q.TypedInterface.Add("web") // being processed
			below.crowd(t, []func(){func() { q.TypedInterface.Len() }}, func() { q.Len() })
			require.Empty(t, below.met, "calls of config.Queue during Len")
			for i, call := range []func(){
				func() { q.Add("job") }, func() { q.Add("job") }, func() { q.Get() }, func() { q.Done("web") }, func() { q.Len() },
			} {
				below.crowd(t, []func(){
					func() { q.TypedInterface.Add("db") },
					func() { q.TypedInterface.Len() },
					func() { q.TypedInterface.Add(fmt.Sprint("an item for the next Get, ", i)); q.TypedInterface.Get() },
				}, call)
				require.Empty(t, below.met, "calls of config.Queue during another one")
			}
		}
	})
}

func TestTask1_Touch_is_for_queued_items(t *testing.T) {
	guard.Test(t, "An item that is already queued keeps its place, and Add calls Touch of config.Queue for "+
		"it.", func(t *guard.T) {
		below := &ordered{}
		q := loggedQueue{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
		q.Add("web")
		require.Empty(t, below.touched, "items touched after the 1st Add")
		q.Add("web")
		q.Add("web")
		require.Equal(t, []string{"web", "web"}, below.touched, "items touched after the 3rd Add")
		q.Get()
		q.Add("web")
		q.Add("web")
		t.Rule("An item being processed is not in config.Queue, so Touch is not called for it.")
		require.Equal(t, []string{"web", "web"}, below.touched, "items touched after 2 Adds of the item being processed")
		q.Done("web")
		q.Get()
		t.Rule("Only Add calls Touch of config.Queue: Done and Get do not.")
		require.Equal(t, []string{"web", "web"}, below.touched, "items touched after Done and Get")
	})
}
