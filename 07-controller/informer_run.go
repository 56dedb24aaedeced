// This file is the informer at work: what it starts, in which order it stops, and what becomes of a delta.

package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"client-go-workshop/internal/testkit/todo"
)

// RunWithContext keeps the store and tells the handlers until the context ends. When it returns nothing is left
// running. An informer runs once; a second call is logged and returns.
//
// It stops in the order of the work: first whatever brings deltas, then the handlers. Each finishes the call it is in,
// and what has not been delivered by then is dropped.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	panic(todo.Task(1, "sharedIndexInformer.RunWithContext"))
}

// reflect lists and watches until the context ends. It is Reflector.RunWithContext, but for one thing: somebody may
// want to hear of the errors.
func (s *sharedIndexInformer) reflect(ctx context.Context) {
	backoff := wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Factor: 2, Jitter: 1, Steps: 40}
	delay := backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	// Handlers of errors are client-go's, and so is the Reflector that they are told of. This one only has a name.
	named := cache.NewReflectorWithOptions(s.lw, s.example, s.queue,
		cache.ReflectorOptions{TypeDescription: s.options.ObjectDescription})
	for ctx.Err() == nil {
		if err := s.reflector.ListAndWatchWithContext(ctx); err != nil {
			s.watchErrorHandler(ctx, named, err)
		}
		pause := time.NewTimer(delay())
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// handleDeltas brings what has happened to one object, oldest first, to the store and then to the handlers. Who hears
// of a change finds it in the store.
//
//   - Whether it is an addition or an update is for the store to say: a list knows only what is there.
//   - An update that leaves the resourceVersion as it was is a resync, whatever it is called, and only for those that
//
// are
//
//	  due for one.
//	- inInitialList tells handlers that an addition is from the first list.
//	- A deletion may be a tombstone, and is passed on as it came.
//
// Mirrors cache.processDeltas.
func (s *sharedIndexInformer) handleDeltas(obj any, inInitialList bool) error {
	panic(todo.Task(1, "sharedIndexInformer.handleDeltas"))
}
