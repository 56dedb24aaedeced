package upstream

import (
	"testing"
	"testing/synctest"

	"k8s.io/client-go/util/workqueue"
)

// Promise: "This method may be invoked more than once." (ShutDown, util/workqueue/delaying_queue.go:238) and "ShutDown
// can be called after ShutDownWithDrain to force ShutDownWithDrain to stop waiting." (queue.go:323)
//
// Defect: the delaying queue passes on only its first ShutDown (delaying_queue.go:241). After ShutDown and
// ShutDownWithDrain, a second ShutDown does not end the drain. The queue below it would end it.
//
// Impact: a program whose last worker hangs cannot end its drain. Every rate-limiting queue is a delaying queue.
//
// Upstream: no report found.
//
// Repair: call q.TypedInterface.ShutDown() before the stopOnce, each time.
func TestDelayingQueue_passes_on_the_first_ShutDown_only(t *testing.T) {
	drainEnds := func(q workqueue.TypedInterface[string]) bool {
		q.Add("a")
		a, _ := q.Get()
		q.ShutDown()
		drained := make(chan struct{}, 1)
		go func() {
			q.ShutDownWithDrain()
			drained <- struct{}{}
		}()
		synctest.Wait()
		q.ShutDown()
		synctest.Wait()
		defer q.Done(a) // frees a drain that still waits
		return len(drained) == 1
	}
	synctest.Test(t, func(t *testing.T) {
		if !drainEnds(workqueue.NewTyped[string]()) {
			t.Error("a plain queue does not end its drain either: look at it again")
		}
		present(t, !drainEnds(workqueue.NewTypedDelayingQueue[string]()), "the second ShutDown ended the drain")
	})
}
