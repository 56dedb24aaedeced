package upstream

import (
	"testing"
	"testing/synctest"

	"k8s.io/client-go/util/workqueue"
)

// Promise: "ShutDownWithDrain … waits until all items in the queue have been processed." (util/workqueue/queue.go:321)
//
// Defect: the last Done calls Signal (queue.go:300), which wakes one goroutine. A second one that drains, too, waits
// forever.
//
// Impact: a program that shuts a queue down from two places, such as a signal handler and a deferred call, hangs at
// its end.
//
// Upstream: https://github.com/kubernetes/kubernetes/pull/141079 (open) changes it, beside the early return.
//
// Repair: Broadcast in Done when the queue becomes idle.
func TestDrain_wakes_one_of_two_drainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTyped[string]()
		q.Add("a")
		a, _ := q.Get()
		drained := make(chan struct{}, 2)
		for range 2 {
			go func() {
				q.ShutDownWithDrain()
				drained <- struct{}{}
			}()
		}
		synctest.Wait()
		q.Done(a)
		synctest.Wait()
		returned := len(drained)
		q.ShutDown() // frees the other one, so that the test can end
		synctest.Wait()
		present(t, returned == 1, "both drainers returned")
	})
}
