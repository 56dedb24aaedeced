// This file is about handlers as a group: they come, before the start or late; they receive resyncs; and they go.

package controller

import (
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// schedule says when one listener has its resyncs.
type schedule struct {
	period time.Duration
	// next is the moment from which on the listener is due, the moment included. If period is 0 it never is.
	next time.Time
	// due is true if the listener takes part in the present resync. It is true until the first one.
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
// first receives the objects in the store, as additions of the first list. AddEventHandlerWithOptions returns an error
// after the end.
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
	if s.started {
		s.joinLate(l, resyncs)
	} else {
		s.listeners[l] = resyncs
	}
	return l, nil
}

// joinLate adds a listener, with its schedule, to an informer that has started, and starts the listener. A late handler
// receives the objects in the store, as its first list, and then every change, with no gap and no duplicate. HasSynced
// of a late registration waits until its handler has received the objects in the store. The caller holds mu.
func (s *sharedIndexInformer) joinLate(l *listener, resyncs *schedule) {
	s.listeners[l] = resyncs
	for _, obj := range s.indexer.List() {
		l.add(notification{kind: added, new: obj, inInitialList: true})
	}
	if s.HasSynced() {
		l.upstreamSynced()
	}
	s.running.Go(l.run)
}

// distribute adds a notification to the listeners' queues: one of a resync to those that take part in it, any other to
// all. The caller holds mu.
func (s *sharedIndexInformer) distribute(n notification, resync bool) {
	for l, resyncs := range s.listeners {
		if !resync || resyncs.due {
			l.add(n)
		}
	}
}

// startListeners starts the goroutines of the listeners that were added before the start. The caller holds mu.
func (s *sharedIndexInformer) startListeners() {
	for l := range s.listeners {
		s.running.Go(l.run)
	}
}

// stopListeners stops all listeners, and waits until the last handler has returned. No listener can be added
// afterwards.
func (s *sharedIndexInformer) stopListeners() {
	s.mu.Lock()
	s.stopped = true
	for l := range s.listeners {
		l.stop()
	}
	clear(s.listeners)
	s.mu.Unlock()
	s.running.Wait()
}

// RemoveEventHandler removes a handler, which receives nothing more. A running call continues, and the remaining
// notifications are dropped. RemoveEventHandler does not wait for the running call, so a handler may remove itself. If
// the handler never ran, finished is closed. A removed handler can be freed. RemoveEventHandler does nothing for a
// handler that is already removed, for the handle of another informer, and after the end. It returns an error for a
// handle that does not come from AddEventHandler.
func (s *sharedIndexInformer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	l, ok := handle.(*listener)
	if !ok {
		return fmt.Errorf("remove an event handler: %T is not what AddEventHandler returns", handle)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ours := s.listeners[l]; !ours {
		return nil
	}
	delete(s.listeners, l)
	if s.started {
		l.stop()
	} else {
		close(l.finished) // it never ran
	}
	return nil
}

// resyncPeriod returns the resync period of a handler that asks for one. An informer that was made without resyncs has
// none, whatever its handlers ask for: the result is 0. A period below a second becomes a second. Before the start, the
// informer's pace becomes as short as the shortest period. After the start the pace stays, and a handler with a shorter
// period gets the pace. The caller holds mu.
func (s *sharedIndexInformer) resyncPeriod(wanted time.Duration) time.Duration {
	if s.resyncCheck == 0 {
		return 0
	}
	wanted = max(wanted, minResync)
	if wanted < s.resyncCheck {
		if s.started {
			return s.resyncCheck
		}
		s.resyncCheck = wanted
	}
	return wanted
}

// shouldResync reports whether at least one handler is due for a resync. The Reflector asks at the informer's pace. Each
// handler has a resync period of its own, and a resync reaches the handlers that are due. Two resyncs of a handler are
// at least its period apart. Mirrors cache.sharedProcessor.shouldResync.
func (s *sharedIndexInformer) shouldResync() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, due := time.Now(), false
	for _, resyncs := range s.listeners {
		resyncs.due = resyncs.period > 0 && !now.Before(resyncs.next)
		if resyncs.due {
			due = true
			resyncs.next = now.Add(resyncs.period)
		}
	}
	return due
}
