package controller

// This file adds and removes handlers, before and after the start, and schedules their resyncs.

import (
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/todo"
)

// schedule says when one listener has its resyncs.
type schedule struct {
	period time.Duration
	// next is the moment from which the listener is due. A listener with period 0 is never due.
	next time.Time
	// due reports whether the listener takes part in the current resync. It is true before the first one.
	due bool
}

// minResync is the shortest period of resyncs.
const minResync = time.Second

// AddEventHandler adds a handler with the informer's own resync period. See AddEventHandlerWithOptions.
func (s *sharedIndexInformer) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler whose resyncs are at least period apart.
func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, period time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions adds a handler, which receives each change, in order, on its own goroutine. A late handler
// first receives the objects in the store, as additions of the first list.
//
// It returns an error after the end.
func (s *sharedIndexInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, fmt.Errorf("event handler %T was not added to shared informer because it has stopped already", handler)
	}
	l := newListener(handler, ptr.Deref(options.Logger, klog.Background()))
	resyncs := &schedule{due: true}
	if wanted := ptr.Deref(options.ResyncPeriod, s.options.ResyncPeriod); wanted > 0 {
		resyncs.period = s.resyncPeriod(wanted)
		resyncs.next = time.Now().Add(resyncs.period)
	}
	s.deltas.Lock()
	defer s.deltas.Unlock()
	if s.started {
		s.joinLate(l, resyncs)
	} else {
		s.listeners[l] = resyncs
	}
	return l, nil
}

// joinLate registers a listener, with its schedule, with an informer that has started. A late handler first receives
// the objects in the store, as additions of the first list, and then every change, with no gaps and no duplicates.
//
// HasSynced of a late registration is false until its handler has received the objects in the store.
//
// The caller holds the deltas lock.
func (s *sharedIndexInformer) joinLate(l *listener, resyncs *schedule) {
	panic(todo.Task(3, "sharedIndexInformer.joinLate"))
}

// distribute adds a notification to the queues of the listeners: a resync to those that are due, any other to all. The
// caller holds the deltas lock.
func (s *sharedIndexInformer) distribute(n notification, resync bool) {
	for l, resyncs := range s.listeners {
		if !resync || resyncs.due {
			l.add(n)
		}
	}
}

// startListeners starts the goroutines of the listeners that were added before the start. The caller holds mu.
func (s *sharedIndexInformer) startListeners() {
	s.deltas.Lock()
	defer s.deltas.Unlock()
	for l := range s.listeners {
		s.running.Go(l.run)
	}
}

// stopListeners stops all listeners, and waits until the last handler has returned. No listener can be added
// afterwards.
func (s *sharedIndexInformer) stopListeners() {
	s.mu.Lock()
	s.stopped = true
	s.deltas.Lock()
	for l := range s.listeners {
		l.stop()
	}
	clear(s.listeners)
	s.deltas.Unlock()
	s.mu.Unlock()
	s.running.Wait()
}

// RemoveEventHandler removes a handler, which receives nothing more. A running call continues, and the remaining
// notifications are dropped. RemoveEventHandler does not wait for the running call, so a handler may remove itself. If
// the handler never ran, finished is closed. A removed handler can be freed.
//
// It does nothing for a handler that is already removed, for the handle of another informer, and after the end. It
// returns an error for a handle that does not come from AddEventHandler.
func (s *sharedIndexInformer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	panic(todo.Task(4, "sharedIndexInformer.RemoveEventHandler"))
}

// resyncPeriod returns the resync period of a handler that asks for one:
//   - An informer that was made without resyncs has none, whatever its handlers ask for: the result is 0.
//   - A period below a second becomes a second.
//   - Before the start, the informer's pace becomes as short as the shortest period.
//   - After the start the pace stays, and a handler with a shorter period gets the pace.
//
// The caller holds mu.
func (s *sharedIndexInformer) resyncPeriod(wanted time.Duration) time.Duration {
	panic(todo.Task(4, "sharedIndexInformer.resyncPeriod"))
}

// shouldResync reports whether at least one handler is due for a resync. The Reflector calls it at the informer's pace.
//
// Each handler has its own resync period, and a resync reaches the handlers that are due. Two resyncs of a handler are
// at least its period apart.
//
// It mirrors cache.sharedProcessor.shouldResync.
func (s *sharedIndexInformer) shouldResync() bool {
	panic(todo.Task(4, "sharedIndexInformer.shouldResync"))
}
