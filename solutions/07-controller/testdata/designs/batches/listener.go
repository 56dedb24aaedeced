// This design of a listener takes all waiting notifications at once, and delivers them without the lock. A channel that
// holds one signal says that there are more. It is right because the signal is sent after the notification is in the
// queue, and the queue is looked at after the signal is received, so no notification stays behind. It differs from the
// solution in this file alone.

package controller

import (
	"fmt"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// notification is one change for a handler. An addition has the new state, a deletion the old one, an update both.
type notification struct {
	kind          kind
	old, new      any
	inInitialList bool
}

type kind int

const (
	added kind = iota
	updated
	deleted
)

// listener is one registration of a handler. It implements cache.ResourceEventHandlerRegistration.
type listener struct {
	handler cache.ResourceEventHandler
	logger  klog.Logger
	name    string

	// wake has a signal when there is something in pending. ended is closed by stop.
	wake, ended chan struct{}

	// mu guards these.
	mu      sync.Mutex
	pending []notification
	// initial counts the additions of the first list that the handler has not received yet. upstream is true when the
	// informer has synced, so that there will be no more of them. synced is closed when initial is 0 and upstream true.
	initial  int
	upstream bool
	synced   chan struct{}

	// finished is closed when the handler will not be called again: by run when it returns, and by
	// RemoveEventHandler if run never started.
	finished chan struct{}
}

func newListener(handler cache.ResourceEventHandler, logger klog.Logger) *listener {
	return &listener{
		handler:  handler,
		logger:   logger,
		name:     fmt.Sprintf("event handler %T", handler),
		wake:     make(chan struct{}, 1),
		ended:    make(chan struct{}),
		synced:   make(chan struct{}),
		finished: make(chan struct{}),
	}
}

// add appends a notification to the handler's queue. It never waits for the handler. The queue has no bound. Mirrors
// cache.processorListener.add.
func (l *listener) add(n notification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.inInitialList {
		l.initial++
	}
	l.pending = append(l.pending, n)
	select {
	case l.wake <- struct{}{}:
	default: // it has a signal
	}
}

// run calls the handler with each notification, in order, until the listener is stopped. No lock is held while a handler
// runs. A notification that was delivered can be freed. A listener that is stopped drops the notifications that are
// left. When run returns, it closes finished.
//
// A panic of the handler goes to utilruntime, with the handler's logger. Unless that ends the program
// (utilruntime.ReallyCrash), the notification is lost, and run goes on after a second.
//
// Mirrors cache.processorListener.run and pop.
func (l *listener) run() {
	defer close(l.finished)
	for {
		select {
		case <-l.ended:
			return
		case <-l.wake:
		}
		batch := l.take()
		for i := range batch {
			if isEnded(l.ended) {
				return
			}
			n := batch[i]
			batch[i] = notification{} // so that it can be freed
			if !l.notify(n) {
				time.Sleep(time.Second)
			}
		}
	}
}

// take returns all waiting notifications.
func (l *listener) take() []notification {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.pending
	l.pending = nil
	return batch
}

func isEnded(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

// notify calls the handler. It returns false if the handler panicked.
func (l *listener) notify(n notification) (returned bool) {
	defer utilruntime.HandleCrashWithLogger(l.logger)
	switch n.kind {
	case added:
		l.handler.OnAdd(n.new, n.inInitialList)
		if n.inInitialList {
			l.notifiedInitial()
		}
	case updated:
		l.handler.OnUpdate(n.old, n.new)
	case deleted:
		l.handler.OnDelete(n.old)
	}
	return true
}

// notifiedInitial notes that a call of the handler for the first list has returned. HasSynced of a registration is true
// when every call for the first list has returned, and the informer has synced.
func (l *listener) notifiedInitial() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.initial--
	l.checkSynced()
}

// upstreamSynced notes that the informer has synced: each addition of the first list is in the handler's queue, or has
// left it. A registration does not sync before its informer.
func (l *listener) upstreamSynced() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.upstream = true
	l.checkSynced()
}

// checkSynced closes synced if the informer has synced and initial is 0. The caller holds mu.
func (l *listener) checkSynced() {
	if l.upstream && l.initial == 0 && !cache.IsDone(l.HasSyncedChecker()) {
		close(l.synced)
	}
}

// stop makes run return after the call that is under way. It is called once.
func (l *listener) stop() { close(l.ended) }

// HasSynced reports whether every call of the handler for the first list has returned.
func (l *listener) HasSynced() bool { return cache.IsDone(l.HasSyncedChecker()) }

// HasSyncedChecker is done when HasSynced is true.
func (l *listener) HasSyncedChecker() cache.DoneChecker { return done{l.name, l.synced} }

// ShutdownChan returns a channel that is closed when the handler will not be called again. cache.ShutDownEventHandler
// waits for it.
func (l *listener) ShutdownChan() <-chan struct{} { return l.finished }
