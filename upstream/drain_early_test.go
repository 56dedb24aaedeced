package upstream

import (
	"testing"
	"testing/synctest"

	"k8s.io/client-go/util/workqueue"
)

// Promise: "ShutDownWithDrain is equivalent to ShutDown but waits until all items in the queue have been processed."
// (util/workqueue/queue.go:321)
//
// Defect: it waits while an item is being processed (queue.go:339). The Done of the last item in hand, with others
// still in the queue, ends the wait, even if a worker is about to take the next one.
//
// Impact: a process that exits after the drain loses queued items. In one that gives up its Lease then, the next
// leader works beside this one.
//
// Upstream: https://github.com/kubernetes/kubernetes/pull/141079 (open).
//
// Repair: wait while an item is queued, too: `for (q.processing.Len() != 0 || q.queue.Len() != 0) && q.drain`.
func TestDrain_returns_with_items_in_the_queue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTyped[string]()
		q.Add("a")
		q.Add("b")
		next, left := make(chan struct{}), -1
		go func() { // a worker
			a, _ := q.Get()
			<-next
			q.Done(a)
			<-next // it is at the end of its loop, and will call Get again
			b, _ := q.Get()
			q.Done(b)
		}()
		synctest.Wait()
		drained := make(chan struct{})
		go func() {
			q.ShutDownWithDrain()
			left = q.Len()
			close(drained)
		}()
		synctest.Wait()
		next <- struct{}{}
		synctest.Wait()
		early := left == 1
		close(next)
		<-drained
		present(t, early, "the drain waited for the queued item")
	})
}
