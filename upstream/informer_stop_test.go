package upstream

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Promise: "This function is guaranteed to be idempotent, and thread-safe. … RemoveEventHandler is asynchronous."
// (tools/cache/shared_informer.go:180)
//
// Defect: when the informer stops, sharedProcessor.run holds listenersLock while it waits for all handlers to return
// (run, its last line). A handler that calls RemoveEventHandler then waits for this lock (removeListener): both wait
// forever.
//
// Impact: Run does not return, and neither does a program that waits for it at its end.
//
// Upstream: no report found.
//
// Repair: give listenersLock back before p.wg.Wait().
func TestRemoveEventHandler_in_a_handler_hangs_an_informer_that_stops(t *testing.T) {
	before := waiting() // an earlier run hangs still
	ctx, stop := context.WithCancel(quiet(t))
	informer := cache.NewSharedIndexInformer(idleServer(), &corev1.Pod{}, 0, cache.Indexers{})
	called, stopping, returned := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var handle cache.ResourceEventHandlerRegistration
	handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
		close(called)
		<-stopping
		_ = informer.RemoveEventHandler(handle)
	}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		informer.RunWithContext(ctx)
		close(returned)
	}()
	<-called
	stop()
	for waiting() == before { // until the processor waits for its handlers
		time.Sleep(time.Millisecond)
	}
	close(stopping)
	select {
	case <-returned:
		present(t, false, "the informer stopped")
	case <-time.After(2 * time.Second):
	}
}
