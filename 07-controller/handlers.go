// This file is about handlers as a group: they come, before the start or late; those that want it are told everything
// again from time to time; and they go.

package controller

import (
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/todo"
)

// schedule is the resyncs of one listener.
type schedule struct {
	period time.Duration
	// next is the moment from which on the listener is due, the moment included. If period is 0 it never is.
	next time.Time
	// due is true if the listener takes part in the present resync. Before the first resync it does.
	due bool
}

// minResync is the shortest period of resyncs. Who asks for less gets this.
const minResync = time.Second

// AddEventHandler adds a handler with the informer's own resync period. See AddEventHandlerWithOptions.
func (s *sharedIndexInformer) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler that is told everything again at least so far apart.
func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, period time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions adds a handler, which is told each change, in order, on a goroutine of its own. One that
// comes late is told first what the store has, as additions of the initial list. After the end it is an error.
//
// Resyncs come at the informer's pace, which is set when it starts: a handler that comes later cannot have them faster.
func (s *sharedIndexInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, fmt.Errorf("add the event handler %T: the informer has stopped already", handler)
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

// joinLate adds a listener, with its schedule, to an informer that runs, and starts it. The listener receives what is
// in the store, as additions of the initial list, and every later change: no gaps and no duplicates. The caller holds
// the deltas lock, so no delta is on its way.
func (s *sharedIndexInformer) joinLate(l *listener, resyncs *schedule) {
	panic(todo.Task(3, "sharedIndexInformer.joinLate"))
}

// distribute adds a notification to the listeners' queues: a resync's to those that take part in it, any other to all.
// The caller holds the deltas lock.
func (s *sharedIndexInformer) distribute(n notification, resync bool) {
	for l, resyncs := range s.listeners {
		if !resync || resyncs.due {
			l.add(n)
		}
	}
}

// startListeners starts the goroutines of those that came before the start. The caller has mu.
func (s *sharedIndexInformer) startListeners() {
	s.deltas.Lock()
	defer s.deltas.Unlock()
	for l := range s.listeners {
		s.running.Go(l.run)
	}
}

// stopListeners ends all of them, and waits until the last handler has returned. From now on nobody can be added.
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

// RemoveEventHandler removes a handler. The call that it is in goes on; what it has not been told it will not be. A
// handle that is removed already, or another informer's, is nothing to do; one that is not from AddEventHandler is an
// error.
func (s *sharedIndexInformer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	panic(todo.Task(4, "sharedIndexInformer.RemoveEventHandler"))
}

// resyncPeriod is the period that a handler gets which asks for one, and sets the informer's pace if there is still
// time. The caller has mu.
//
//   - An informer that was made without resyncs has none, whatever its handlers want: 0.
//   - Less than a second is a second.
//   - Before the start a handler that wants a shorter period than the informer's makes it the informer's. Afterwards
//
// that
//
//	stays, and nobody can have resyncs faster than that.
func (s *sharedIndexInformer) resyncPeriod(wanted time.Duration) time.Duration {
	panic(todo.Task(4, "sharedIndexInformer.resyncPeriod"))
}

// shouldResync is asked by the Reflector at the informer's pace whether there is to be a resync. It is if it is time
// for at least one listener; and only those for which it is time take part. Mirrors cache.sharedProcessor.shouldResync.
func (s *sharedIndexInformer) shouldResync() bool {
	panic(todo.Task(4, "sharedIndexInformer.shouldResync"))
}
