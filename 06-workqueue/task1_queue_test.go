package workqueue_test

// Task 1: dirty, processing, queue.

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/guardpage"
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
		for name, second := range map[string]func(q loggedQueue){
			"Add cdn, Done web":  func(q loggedQueue) { q.Add("cdn"); q.Done("web") },
			"Done web, Add cdn":  func(q loggedQueue) { q.Done("web"); q.Add("cdn") },
			"Done web, Done cdn": func(q loggedQueue) { q.Done("web"); q.Done("cdn") },
		} {
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
		require.Equal(t, []string{"web"}, below.touched, "items touched after the 2nd Add")
		q.Get()
		q.Add("web")
		q.Add("web")
		t.Rule("An item being processed is not in config.Queue, so Touch is not called for it.")
		require.Equal(t, []string{"web"}, below.touched, "items touched after 2 Adds of the item being processed")
	})
}

func TestTask1_Taken_items_can_be_freed(t *testing.T) {
	guard.Test(t, "Pop keeps no reference to the item that it returns. The array behind a slice lives as long as "+
		"the slice (#105031).", func(t *guard.T) {
		q := workqueue.NewTyped[*payload]()
		var taken []weak.Pointer[payload]
		// On a goroutine that ends, so that its stack holds none of them.
		on := func(f func(add, take func(n int))) {
			start(t, func() string {
				f(func(n int) {
					for range n {
						q.Add(new(payload))
					}
				}, func(n int) {
					for range n {
						item, _ := q.Get()
						taken = append(taken, weak.Make(item))
						q.Done(item)
					}
				})
				return returned
			}).result()
		}
		t.Did("Add 100 pointers, Get and Done 30 of them")
		on(func(add, take func(n int)) { add(100); take(30) })
		require.Equal(t, "0 of 30 still in memory", stillHeld(taken), "the items that were taken first")
		t.Did("64 times: Add 4 pointers, Get and Done 3 of them; then Get and Done all but the last")
		on(func(add, take func(n int)) {
			for range 64 {
				add(4)
				take(3)
			}
			take(133)
		})
		require.Equal(t, "0 of 355 still in memory", stillHeld(taken), "the items that were taken")
		t.Did("Get and Done the last; 64 times: Add pointers, one less each time, Get and Done all of them")
		on(func(add, take func(n int)) {
			take(1)
			for n := 64; n > 0; n-- {
				add(n)
				take(n)
			}
		})
		require.Equal(t, "0 of 2436 still in memory", stillHeld(taken), "the items that were taken, the last one included")
		runtime.KeepAlive(q)
	})
}

func TestTask1_Never_empty_does_not_grow(t *testing.T) {
	guard.Test(t, "Each layer uses memory only for the items that it has. If the queue is never empty, the slots "+
		"of popped items are still freed or used again.", func(t *guard.T) {
		before := memory()
		q := workqueue.DefaultQueue[payload]()
		t.Did("DefaultQueue of items of 1 kB: Push; then Push and Pop, 10000 times")
		q.Push(payload{})
		for range 10_000 {
			q.Push(payload{})
			q.Pop()
		}
		require.Equal(t, "no more than 1 MB for 1 item", heldForOne(before), "memory in use")
		runtime.KeepAlive(q)
	})
}

func TestTask1_Long_queue_becomes_short_again(t *testing.T) {
	guard.Test(t, "Each layer uses memory only for the items that it has. A queue that was long once does not "+
		"keep its slots forever.", func(t *guard.T) {
		for _, left := range []int{0, 1} {
			t.Story(8)
			before := memory()
			q := workqueue.DefaultQueue[payload]()
			t.Did("DefaultQueue of items of 1 kB: Push, 2000 times; Pop, until %d are left; Push and Pop, 10000 times", left)
			for range 2_000 {
				q.Push(payload{})
			}
			for q.Len() > left {
				q.Pop()
			}
			for range 10_000 {
				q.Push(payload{})
				q.Pop()
			}
			require.Equal(t, "no more than 1 MB for 1 item", heldForOne(before), "memory in use")
			runtime.KeepAlive(q)
		}
	})
}

// heldForOne reports whether the memory in use has grown since before by more than a short queue needs.
func heldForOne(before int) string {
	const most = 1 << 20
	if held := memory() - before; held > most {
		return fmt.Sprintf("%d MB for 1 item", held>>20)
	}
	return "no more than 1 MB for 1 item"
}

func TestTask1_Work_does_not_grow_with_the_number_of_items(t *testing.T) {
	guard.Test(t, "The work for an item does not grow with the number of other items: a method does not look at "+
		"each of them, and copies none.", func(t *guard.T) {
		few, many := workWith(t, 10), workWith(t, 10_000)
		require.LessOrEqual(t, many.calls, few.calls+1, "calls of config.Queue with 10000 items, compared with 10 items")
		const most = 1 << 10
		got := "no more than 1 kB"
		if many.bytes > most {
			got = fmt.Sprintf("%d kB", many.bytes>>10)
		}
		require.Equal(t, "no more than 1 kB", got, "memory that is allocated for an item, with 10000 items")
	})
}

type work struct{ calls, bytes int }

// workWith returns the work of the queue for Add, Get and Done of one item, with n other items queued.
func workWith(t *guard.T, n int) work {
	const rounds = 1_000
	below := &crowded{Queue: workqueue.DefaultQueue[string]()}
	q := workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below})
	for i := range n {
		q.Add(fmt.Sprint(i))
	}
	t.Did("with %d queued items: Add of a new one, Get and Done, %d times", n, rounds)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls := below.calls
	for i := range rounds {
		q.Add(fmt.Sprint(n + i))
		q.Add("0") // is already queued, or comes once more
		item, _ := q.Get()
		q.Done(item)
	}
	runtime.ReadMemStats(&after)
	return work{(below.calls - calls) / rounds, int(after.TotalAlloc-before.TotalAlloc) / rounds}
}

func TestTask1_No_method_looks_for_an_item(t *testing.T) {
	guard.Test(t, "The work for an item does not grow with the number of other items: a method compares the item "+
		"with few others.", func(t *guard.T) {
		for name, fill := range map[string]func(q *workqueue.Typed[string], items []string, own string) (call func()){
			"Add of a new item": func(q *workqueue.Typed[string], items []string, own string) func() {
				addAll(q, slices.DeleteFunc(items, func(item string) bool { return item == own }))
				return func() { q.Add(own) }
			},
			"Add of a queued item": func(q *workqueue.Typed[string], items []string, own string) func() {
				addAll(q, items)
				return func() { q.Add(own) }
			},
			"Add of an item being processed": func(q *workqueue.Typed[string], items []string, own string) func() {
				q.Add(own)
				q.Get()
				addAll(q, slices.DeleteFunc(items, func(item string) bool { return item == own }))
				return func() { q.Add(own) }
			},
			"Get": func(q *workqueue.Typed[string], items []string, own string) func() {
				q.Add(own)
				addAll(q, items)
				return func() { q.Get() }
			},
			"Done": func(q *workqueue.Typed[string], items []string, own string) func() {
				q.Add(own)
				q.Get()
				addAll(q, items)
				return func() { q.Done(own) }
			},
			"Done, with all items being processed": func(q *workqueue.Typed[string], items []string, own string) func() {
				addAll(q, items)
				for range items {
					q.Get()
				}
				return func() { q.Done(own) }
			},
		} {
			t.Did("%s, in %d queues with up to 1000 items", name, guardpage.Stores)
			reads := guardpage.Reads(t, func(items []string, own string) func() {
				return fill(workqueue.NewTyped[string](), items, own)
			})
			require.LessOrEqual(t, reads, guardpage.Most, "calls that read other items: "+name)
		}
	})
}

func addAll(q *workqueue.Typed[string], items []string) {
	for _, item := range items {
		q.Add(item)
	}
}

func TestTask1_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine: it holds the lock while it uses the queue's fields. "+
		"Get releases it while it waits.", func(t *guard.T) {
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
