// This design of the informer has no goroutine that waits for the end of the first list. The loop that pops asks the
// queue after each object, and Replace asks it after a list without objects. It is right because a queue synchronizes
// with its last object, or with an empty list. It differs from the solution in this file alone.

package controller

// This file runs the informer: how it starts, how it stops, and how it processes a delta.
//

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"client-go-workshop/internal/testkit/layers"
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
	defer utilruntime.HandleCrashWithContext(ctx)
	if !s.start(ctx) {
		klog.FromContext(ctx).Info("The informer has been started before and runs only once")
		return
	}
	var source sync.WaitGroup
	source.Go(func() { s.reflect(ctx) })
	// again after a panic, if that does not end the process
	source.Go(func() { wait.UntilWithContext(ctx, s.popAll, time.Second) })
	<-ctx.Done()
	s.queue.Close()
	source.Wait()

	s.stopListeners()
}

// start makes the parts and starts the handlers. It returns false if the informer has been started before.
func (s *sharedIndexInformer) start(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return false
	}
	s.started = true
	s.queue = s.newQueue()
	s.reflector = s.newReflector()
	s.startListeners()
	return true
}

// newQueue makes the queue. The queue knows the store, so it finds the objects that a list no longer has. It emits
// Replaced for the objects of a list.
func (s *sharedIndexInformer) newQueue() cache.Queue {
	return s.below.NewDeltaFIFO(cache.DeltaFIFOOptions{
		KeyFunction:           cache.MetaNamespaceKeyFunc,
		KnownObjects:          s.indexer,
		EmitDeltaTypeReplaced: true,
		Transformer:           s.transform,
	})
}

// newReflector makes the Reflector, which fills the queue.
func (s *sharedIndexInformer) newReflector() layers.Reflector {
	return s.below.NewReflector(s.lw, s.example, watchedQueue{s.queue, s.checkSynced}, layers.ReflectorOptions{
		ReflectorOptions: cache.ReflectorOptions{TypeDescription: s.options.ObjectDescription, ResyncPeriod: s.resyncCheck},
		ShouldResync:     s.shouldResync,
	})
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

// popAll takes deltas from the queue until the queue is closed and empty.
func (s *sharedIndexInformer) popAll(ctx context.Context) {
	handler := s.distributor()
	for {
		err := s.pop(handler)
		if errors.Is(err, cache.ErrFIFOClosed) {
			return
		}
		if err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "A delta could not be processed")
		}
	}
}

// pop waits for the deltas of one object and processes them. A queue of the lab todays-informer has its own Pop, which
// calls the handler.
func (s *sharedIndexInformer) pop(handler cache.ResourceEventHandler) error {
	defer s.checkSynced(s.queue) // after a panic too
	if s.below.Pop != nil {
		return s.below.Pop(s.queue, s.indexer, handler, &s.deltas)
	}
	_, err := s.queue.Pop(s.handleDeltas)
	return err
}

// distributor returns a handler that distributes a notification for each call. The caller holds the deltas lock.
func (s *sharedIndexInformer) distributor() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, inInitialList bool) {
			s.distribute(notification{kind: added, new: obj, inInitialList: inInitialList}, false)
		},
		UpdateFunc: func(old, new any) {
			s.distribute(notification{kind: updated, old: old, new: new}, sameVersion(old, new))
		},
		DeleteFunc: func(obj any) { s.distribute(notification{kind: deleted, old: obj}, false) },
	}
}

// checkSynced closes synced, of the informer and of its listeners, if the queue has synced.
func (s *sharedIndexInformer) checkSynced(queue cache.Queue) {
	if s.HasSynced() || !queue.HasSynced() {
		return
	}
	s.deltas.Lock()
	defer s.deltas.Unlock()
	if s.HasSynced() {
		return
	}
	close(s.synced)
	for l := range s.listeners {
		l.upstreamSynced()
	}
}

// watchedQueue calls listed after each list without objects.
type watchedQueue struct {
	cache.Queue
	listed func(cache.Queue)
}

func (w watchedQueue) Replace(list []any, version string) error {
	err := w.Queue.Replace(list, version)
	if len(list) == 0 {
		w.listed(w.Queue)
	}
	return err
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
	deltas, ok := obj.(cache.Deltas)
	if !ok {
		return fmt.Errorf("process what is in the queue: %T instead of Deltas", obj)
	}
	s.deltas.Lock()
	defer s.deltas.Unlock()
	for _, d := range deltas {
		if d.Type == cache.Deleted {
			if err := s.indexer.Delete(d.Object); err != nil {
				return err
			}
			s.distribute(notification{kind: deleted, old: d.Object}, false)
			continue
		}
		old, exists, err := s.indexer.Get(d.Object)
		if err != nil {
			return err
		}
		if !exists {
			if err := s.indexer.Add(d.Object); err != nil {
				return err
			}
			s.distribute(notification{kind: added, new: d.Object, inInitialList: inInitialList}, false)
			continue
		}
		if err := s.indexer.Update(d.Object); err != nil {
			return err
		}
		s.distribute(notification{kind: updated, old: old, new: d.Object}, sameVersion(old, d.Object))
	}
	return nil
}

// sameVersion reports whether two states of an object are the same to the server.
func sameVersion(a, b any) bool {
	old, err := meta.Accessor(a)
	if err != nil {
		return false
	}
	now, err := meta.Accessor(b)
	return err == nil && old.GetResourceVersion() == now.GetResourceVersion()
}
