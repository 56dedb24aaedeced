package upstream

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"k8s.io/client-go/util/workqueue"
)

// Promise: none in words. The queue below clears its popped slots for this reason since
// https://github.com/kubernetes/kubernetes/pull/105031.
//
// Defect: Pop of the heap of delayed items shortens the slice and leaves the pointer in its array
// (util/workqueue/delaying_queue.go:228), until another item takes the slot.
//
// Impact: after a storm of failures, the queue holds as many finished items in memory as it had delayed at once.
//
// Upstream: no report found.
//
// Repair: `(*pq)[n-1] = nil` before the slice is shortened.
func TestDelayingQueue_holds_items_that_it_has_handed_out(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedDelayingQueue[*[1]int]()
		defer q.ShutDown()
		first, second := new([1]int), new([1]int)
		held := weak.Make(first)
		q.AddAfter(first, time.Second)
		synctest.Wait()
		q.AddAfter(second, time.Hour) // what the loop received last is another item
		first = nil
		item, _ := q.Get()
		q.Done(item)
		item = nil
		synctest.Wait()
		collect()
		present(t, held.Value() != nil, "the item is garbage after its Done")
	})
}

// collect frees all memory that nothing refers to.
func collect() {
	for range 3 {
		runtime.GC()
	}
}
