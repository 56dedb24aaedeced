package controller

// This file runs the informer: how it starts, how it stops, and how it processes a delta.

import (
	"context"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"client-go-workshop/internal/testkit/todo"
)

// RunWithContext returns when its context ends, and not before. Until then the store follows the server, and the
// handlers receive every change. An error concerns one object only: it is reported to utilruntime, and the informer
// continues with the others. A panic is reported to utilruntime. If utilruntime.ReallyCrash is off, the informer
// continues a second after a panic.
//
// When RunWithContext returns, nothing is left running, and no handler is called again. It waits for the delta in
// progress and for the running handlers, and drops the remaining notifications.
//
// A second RunWithContext returns and changes nothing.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	panic(todo.Task(1, "sharedIndexInformer.RunWithContext"))
}

// reflect lists and watches until the context ends. It is Reflector.RunWithContext, except that errors go to the watch
// error handler.
func (s *sharedIndexInformer) reflect(ctx context.Context) {
	backoff := wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Factor: 2, Jitter: 1, Steps: 40}
	delay := backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	// The watch error handler takes a Reflector of client-go. This one only has a name.
	named := cache.NewReflectorWithOptions(s.lw, s.example, s.queue,
		cache.ReflectorOptions{TypeDescription: s.options.ObjectDescription})
	for ctx.Err() == nil {
		func() {
			defer utilruntime.HandleCrashWithContext(ctx) // a transform or the watch error handler can panic
			if err := s.reflector.ListAndWatchWithContext(ctx); err != nil {
				s.watchErrorHandler(ctx, named, err)
			}
		}()
		pause := time.NewTimer(delay())
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// handleDeltas applies the deltas of one object, the oldest first. The store changes first, then the handlers: a
// handler that receives a change finds it in the store.
//
// The store decides whether an object is an addition or an update. Only additions of the first list have
// isInInitialList. A deletion that the watch missed reaches the handlers as a tombstone. An update that does not change
// the resourceVersion counts as a resync, whatever the type of the delta.
//
// It mirrors cache.processDeltas.
func (s *sharedIndexInformer) handleDeltas(obj any, inInitialList bool) error {
	panic(todo.Task(1, "sharedIndexInformer.handleDeltas"))
}
