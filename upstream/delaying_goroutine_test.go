package upstream

import (
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"k8s.io/client-go/util/workqueue"
)

// Promise: "waitingLoop runs until the workqueue is shutdown" (util/workqueue/delaying_queue.go:275)
//
// Defect: the delaying queue has no ShutDownWithDrain of its own, so a drain does not close stopCh. The goroutine runs
// on until its heartbeat, up to 10 seconds, and so do its ticker and the delayed items.
//
// Impact: a goroutine that is left behind: test suites that look for leaks wait or fail, and a program that makes and
// drains many queues holds them all for a while.
//
// Upstream: no report found.
//
// Repair: ShutDownWithDrain on the delaying queue, which closes stopCh and stops the heartbeat as ShutDown does.
func TestDelayingQueue_goroutine_outlives_a_drain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		q := workqueue.NewTypedDelayingQueue[*[1]int]()
		late := new([1]int)
		q.AddAfter(late, time.Hour)
		held := weak.Make(late)
		synctest.Wait()
		q.ShutDownWithDrain()
		synctest.Wait()
		late = nil
		collect()
		holds := held.Value() != nil
		q.ShutDown() // ends the goroutine, so that the test can end
		present(t, holds && time.Since(started) == 0, "after the drain no goroutine holds the delayed item")
	})
}
