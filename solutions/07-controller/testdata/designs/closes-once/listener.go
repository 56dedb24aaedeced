// In this design a listener does not look whether synced is closed already. It is right because the queue holds its
// lock until an item is processed: after the informer has synced, no addition of the first list follows. It differs
// from the solution in this file alone.

package controller

// This file is one handler and its queue.

import (
	"fmt"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/buffer"
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

	// mu guards these. wake is signalled when run has something to do.
	mu      sync.Mutex
	wake    sync.Cond
	pending *buffer.Ring[notification]
	stopped bool
	// initial is the number of notifications of the first list that the handler has not received yet.
	//
	initial int
	// upstream is true if the informer has synced.
	//
	upstream bool
	// synced is closed when every call for the first list has returned.
	synced chan struct{}

	// finished is closed when the handler will not be called again.
	finished chan struct{}
}

func newListener(handler cache.ResourceEventHandler, logger klog.Logger) *listener {
	l := &listener{
		handler:  handler,
		logger:   logger,
		name:     fmt.Sprintf("event handler %T", handler),
		pending:  buffer.NewRing[notification](buffer.RingOptions{InitialSize: 64, NormalSize: 1024}),
		synced:   make(chan struct{}),
		finished: make(chan struct{}),
	}
	l.wake.L = &l.mu
	return l
}

// add appends a notification to the handler's queue. It never waits for the handler. The queue has no bound.
//
// It mirrors cache.processorListener.add.
func (l *listener) add(n notification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.inInitialList {
		l.initial++
	}
	l.pending.WriteOne(n)
	l.wake.Signal()
}

// run calls the handler with each notification, in order, until the listener is stopped. No lock is held while a
// handler runs. A delivered notification can be freed. A stopped listener drops the remaining notifications. When run
// returns, finished is closed.
//
// A panic of the handler is reported to utilruntime, with the handler's logger. If utilruntime.ReallyCrash is off, the
// notification is lost, and run continues after a second.
//
// It mirrors cache.processorListener.run and pop.
func (l *listener) run() {
	defer close(l.finished)
	for {
		n, ok := l.next()
		if !ok {
			return
		}
		if !l.notify(n) {
			time.Sleep(time.Second)
		}
	}
}

// next waits for a notification. It returns false when the listener is stopped.
func (l *listener) next() (notification, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.stopped {
		if n, ok := l.pending.ReadOne(); ok {
			return n, true
		}
		l.wake.Wait()
	}
	return notification{}, false
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

// notifiedInitial notes that the handler has returned from an object of the first list.
func (l *listener) notifiedInitial() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.initial--
	l.checkSynced()
}

// upstreamSynced notes that the informer has synced. By then each addition of the first list is in the handler's queue,
// or has left it.
func (l *listener) upstreamSynced() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.upstream = true
	l.checkSynced()
}

// checkSynced closes synced if the informer has synced and initial is 0. The caller holds mu.
func (l *listener) checkSynced() {
	if l.upstream && l.initial == 0 {
		close(l.synced)
	}
}

// stop makes run return after the running call.
func (l *listener) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.wake.Signal()
}

// HasSynced reports whether every call of the handler for the first list has returned.
func (l *listener) HasSynced() bool { return cache.IsDone(l.HasSyncedChecker()) }

// HasSyncedChecker is done when HasSynced is true.
func (l *listener) HasSyncedChecker() cache.DoneChecker { return done{l.name, l.synced} }

// ShutdownChan returns a channel that is closed when the handler will not be called again. cache.ShutDownEventHandler
// waits for it.
func (l *listener) ShutdownChan() <-chan struct{} { return l.finished }
