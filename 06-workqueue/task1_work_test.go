package workqueue_test

// The work of task 1's calls, and the memory that they free.

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/guardpage"
)

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

func TestTask1_Merged_items_can_be_freed(t *testing.T) {
	guard.Test(t, "Each layer uses memory only for the items that it has: also if an item was added while it was queued "+
		"or being processed.", func(t *guard.T) {
		q := workqueue.NewTyped[*payload]()
		t.Did("100 times: Add a pointer twice; Get, Add it twice and Done; Get and Done")
		var items []weak.Pointer[payload]
		start(t, func() string { // on a goroutine that ends, so that its stack holds none of them
			for range 100 {
				item := new(payload)
				items = append(items, weak.Make(item))
				q.Add(item)
				q.Add(item)
				q.Get()
				q.Add(item)
				q.Add(item)
				q.Done(item)
				q.Get()
				q.Done(item)
			}
			return returned
		}).result()
		require.Equal(t, "0 of 100 still in memory", stillHeld(items), "the items that are done")
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
		require.Less(t, many.bytes, few.bytes+10_000, "bytes that are allocated for an item with 10000 items, compared "+
			"with 10 items: a copy has a byte or more for each")
		t.Story(8)
		const items = 100_000
		t.Did("DefaultQueue: Push, %d times; then Push twice and Pop three times, until it is empty", items)
		q := workqueue.DefaultQueue[int]()
		allocated := allocations(func() {
			for i := range items {
				q.Push(i)
			}
			for q.Len() > 0 {
				q.Push(0)
				q.Push(0)
				for range 3 {
					q.Pop()
				}
			}
		})
		got := "no more than 1 kB"
		if each := allocated / items; each > 1<<10 {
			got = fmt.Sprintf("%d kB", each>>10)
		}
		require.Equal(t, "no more than 1 kB", got, "memory that is allocated for an item, while there are more and less")
	})
}

func TestTask1_Get_does_not_poll(t *testing.T) {
	guard.Test(t, "The queue does not poll: while Get waits, it sleeps until there is an item.", func(t *guard.T) {
		below := &crowded{Queue: workqueue.DefaultQueue[string]()}
		q := loggedQueue{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
		worker := q.GetLater()
		require.Equal(t, waits, worker.result(), "Get on an empty queue")
		before := below.calls
		q.pass(time.Hour)
		require.Equal(t, 0, below.calls-before, "calls of config.Queue in an hour without an Add")
		q.Add("web")
		require.Equal(t, "web", worker.result(), "Get after Add")
	})
}

func TestTask1_Push_and_Pop_do_not_move_the_items(t *testing.T) {
	// A process of its own has no other test beside it, whose work would count.
	guard.Race(t, "The work for an item does not grow with the number of other items. If all items move up, each of them "+
		"costs time.", func(t *guard.T) {
		quickest := func(items int) time.Duration {
			var array []int
			for len(array) < cap(array) || len(array) < items {
				array = append(array, 0)
			}
			q, best := workqueue.DefaultQueue[int](), time.Hour
			for i := range array { // an array that has grown by append is full now
				q.Push(i)
			}
			for range 5 {
				best = min(best, guard.ProcessorTime(func() {
					for i := range 5_000 {
						q.Pop()
						q.Push(i)
					}
				}))
			}
			return best
		}
		t.Did("DefaultQueue: Pop and Push, 5,000 times, with 100 items or a few more, and with 50,000 or more; keep the " +
			"quickest of 5 rounds")
		few, many := quickest(100), quickest(50_000)
		require.Less(t, many, 20*few+5*time.Millisecond, "processor time with 50,000 items or more, with 100 it is %v", few)
	})
}

// allocations returns how many bytes f allocates.
func allocations(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
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
	calls := below.calls
	bytes := allocations(func() {
		for i := range rounds {
			q.Add(fmt.Sprint(n + i))
			q.Add("0") // is already queued, or comes once more
			item, _ := q.Get()
			q.Done(item)
		}
	})
	return work{(below.calls - calls) / rounds, bytes / rounds}
}

// filled puts items into a queue, and returns a call about an item of its own.
type filled func(q *workqueue.Typed[string], items []string, own string) (call func())

func TestTask1_No_method_looks_for_an_item(t *testing.T) {
	guard.Test(t, "The work for an item does not grow with the number of other items: a method compares the item "+
		"with few others.", func(t *guard.T) {
		for name, fill := range guard.InOrder(map[string]filled{
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
		}) {
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
