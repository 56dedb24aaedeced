// This file is the informer at work: what it starts, in which order it stops, and what becomes of a delta.
//
//workshop:file task 1

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

// RunWithContext keeps the store and tells the handlers until the context ends. When it returns nothing is left
// running. An informer runs once; a second call is logged and returns.
//
// It stops in the order of the work: first whatever brings deltas, then the handlers. Each finishes the call it is in,
// and what has not been delivered by then is dropped.
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

// start puts the parts together, and returns false if that has been done before.
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

// newQueue makes the queue. It knows the store, so that it can tell what a list has not got any more, and emits
// Replaced for what is listed.
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

// reflect lists and watches until the context ends. It is Reflector.RunWithContext, but for one thing: somebody may
// want to hear of the errors.
//
//workshop:keep
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

// popAll takes deltas from the queue until that is closed and empty.
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

// awaitSync notes when the store has everything of the first list.
func (s *sharedIndexInformer) awaitSync(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-s.queue.HasSyncedChecker().Done():
	}
	s.awaitItemInHand()
	s.deltas.Lock()
	defer s.deltas.Unlock()
	close(s.synced)
	for l := range s.listeners {
		l.upstreamSynced()
	}
}

// awaitItemInHand returns when the item that the queue has handed out is processed. Pop holds the queue's lock until
// then, and HasSynced takes the same lock. A queue counts as synced when it hands out the last item of the first list,
// which is before the store has that item.
func (s *sharedIndexInformer) awaitItemInHand() { s.queue.HasSynced() }

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
//
//workshop:task 1
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

// sameVersion tells whether two states of an object are the same to the server.
func sameVersion(a, b any) bool {
	old, err := meta.Accessor(a)
	if err != nil {
		return false
	}
	now, err := meta.Accessor(b)
	return err == nil && old.GetResourceVersion() == now.GetResourceVersion()
}
