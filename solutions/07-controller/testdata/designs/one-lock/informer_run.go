// This file is the informer at work: what it starts, in which order it stops, and what becomes of a delta.

package controller

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
// handlers receive every change. When RunWithContext returns, nothing is left running, and no handler is called again.
// It waits for the delta in progress and for the running handlers, and drops the remaining notifications. An error
// concerns one object only: it is reported to utilruntime, and the informer continues with the others. A second
// RunWithContext returns and changes nothing.
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
	source.Go(func() { s.awaitSync(ctx) })
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
	return s.below.NewReflector(s.lw, s.example, s.queue, layers.ReflectorOptions{
		ReflectorOptions: cache.ReflectorOptions{TypeDescription: s.options.ObjectDescription, ResyncPeriod: s.resyncCheck},
		ShouldResync:     s.shouldResync,
	})
}

// reflect lists and watches until the context ends. It is Reflector.RunWithContext, except that errors go to the watch
// error handler.
func (s *sharedIndexInformer) reflect(ctx context.Context) {
	backoff := wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Factor: 2, Jitter: 1, Steps: 40}
	delay := backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	// The handler of errors takes a Reflector of client-go. This one has a name and is good for nothing else.
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
	for {
		_, err := s.queue.Pop(s.handleDeltas)
		if errors.Is(err, cache.ErrFIFOClosed) {
			return
		}
		if err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "A delta could not be processed")
		}
	}
}

// awaitSync closes synced when the store has every object of the first list.
func (s *sharedIndexInformer) awaitSync(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-s.queue.HasSyncedChecker().Done():
	}
	s.awaitItemInHand()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.synced)
	for l := range s.listeners {
		l.upstreamSynced()
	}
}

// awaitItemInHand returns when the item that the queue has handed out is processed. Pop holds the queue's lock until
// then, and HasSynced takes the same lock. A queue counts as synced when it hands out the last item of the first list,
// before the store has that item.
func (s *sharedIndexInformer) awaitItemInHand() { s.queue.HasSynced() }

// handleDeltas applies the deltas of one object, the oldest first. The store changes first, then the handlers: a handler
// that receives a change finds it in the store. The store decides whether an object is an addition or an update.
// The additions of the first list alone have isInInitialList. A deletion is passed on as it came: if the watch has missed
// it, as a tombstone. An update that leaves the resourceVersion as it was counts as a resync, whatever the delta is
// called.
//
// Mirrors cache.processDeltas.
func (s *sharedIndexInformer) handleDeltas(obj any, inInitialList bool) error {
	deltas, ok := obj.(cache.Deltas)
	if !ok {
		return fmt.Errorf("process what is in the queue: %T instead of Deltas", obj)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
