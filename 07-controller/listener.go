// This file is one handler, and the queue before it. The queue has no bound: a handler that is slow, or stuck, costs
// memory and never time of the others.

package controller

import (
	"fmt"
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/buffer"

	"client-go-workshop/internal/testkit/todo"
)

// notification is one change for a handler: an addition has the new state, a deletion the old one, an update both.
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

	// mu guards these. wake is signalled when there is something to do for run.
	mu      sync.Mutex
	wake    sync.Cond
	pending *buffer.Ring[notification]
	stopped bool
	// initial counts the additions of the first list that the handler has not received yet. upstream is true when the
	// informer has synced, so that there will be no more of them. synced is closed when initial is 0 and upstream true.
	initial  int
	upstream bool
	synced   chan struct{}

	// finished is closed when the handler will not be called any more: by run when it returns, and if there will be no
	// run, by who removes it.
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

// add puts a notification at the end of the queue. It never waits for the handler. Mirrors cache.processorListener.add.
func (l *listener) add(n notification) {
	panic(todo.Task(2, "listener.add"))
}

// run passes one notification after another to the handler, in order, until the listener is stopped. A handler that
// panics ends the program, as everywhere in Kubernetes. If that is switched off (utilruntime.ReallyCrash), run leaves
// out the notification at which it panicked, and goes on after a second. Mirrors cache.processorListener.run and pop.
func (l *listener) run() {
	panic(todo.Task(2, "listener.run"))
}

// notifiedInitial counts one addition of the first list as received by the handler.
func (l *listener) notifiedInitial() {
	panic(todo.Task(3, "listener.notifiedInitial"))
}

// upstreamSynced marks the first list as complete: each of its additions is in the queue, or the handler has received
// it.
func (l *listener) upstreamSynced() {
	panic(todo.Task(3, "listener.upstreamSynced"))
}

// stop lets run return after the call that it is in.
func (l *listener) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.wake.Signal()
}

// HasSynced reports whether the handler has received all of the first list: calls that have returned count.
func (l *listener) HasSynced() bool { return cache.IsDone(l.HasSyncedChecker()) }

// HasSyncedChecker is the same, to wait for.
func (l *listener) HasSyncedChecker() cache.DoneChecker { return done{l.name, l.synced} }

// ShutdownChan is closed when the handler will not be called any more. cache.ShutDownEventHandler waits for it.
func (l *listener) ShutdownChan() <-chan struct{} { return l.finished }
