// This file is one handler, and the queue before it. The queue has no bound: a handler that is slow, or stuck, costs memory
// and never time of the others.

package controller

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/buffer"

	"client-go-workshop/internal/testkit/todo"
)

// notification is what a handler is to be told: of an addition the new state, of a deletion the old one, of an update both.
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
	// initial counts the additions of the first list that the handler has not been told yet. upstream says that the
	// informer has synced, so that there will be no more of them. synced is closed when both is done.
	initial  int
	upstream bool
	synced   chan struct{}

	// finished is closed when the handler will not be called any more: by run when it returns, and if there will be no run,
	// by who removes it.
	finished chan struct{}

	// The informer's deltas lock guards these: when the handler is due for a resync, from that moment on, the moment
	// included (never, if the period is 0), and whether it takes part in the present one. At first everybody does.
	period     time.Duration
	nextResync time.Time
	resyncing  bool
}

func newListener(handler cache.ResourceEventHandler, logger klog.Logger) *listener {
	l := &listener{
		handler:   handler,
		logger:    logger,
		name:      fmt.Sprintf("event handler %T", handler),
		pending:   buffer.NewRing[notification](buffer.RingOptions{InitialSize: 64, NormalSize: 1024}),
		synced:    make(chan struct{}),
		finished:  make(chan struct{}),
		resyncing: true,
	}
	l.wake.L = &l.mu
	return l
}

// add puts a notification at the end of the queue. It never waits for the handler. Mirrors cache.processorListener.add.
func (l *listener) add(n notification) {
	panic(todo.Task(2, "listener.add"))
}

// run tells the handler one notification after another, in order, until the listener is stopped. A handler that panics ends
// the program, as everywhere in Kubernetes. If that is switched off (utilruntime.ReallyCrash), what it panicked at is left
// out, and after a second the next is told. Mirrors cache.processorListener.run and pop.
func (l *listener) run() {
	panic(todo.Task(2, "listener.run"))
}

// toldInitial counts one addition of the first list as told.
func (l *listener) toldInitial() {
	panic(todo.Task(3, "listener.toldInitial"))
}

// upstreamSynced says that the first list is complete, and everything of it is in the queue or told.
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

// HasSynced tells whether the handler has been told everything of the first list: calls that have returned count.
func (l *listener) HasSynced() bool { return cache.IsDone(l.HasSyncedChecker()) }

// HasSyncedChecker is the same, to wait for.
func (l *listener) HasSyncedChecker() cache.DoneChecker { return done{l.name, l.synced} }

// ShutdownChan is closed when the handler will not be called any more. cache.ShutDownEventHandler waits for it.
func (l *listener) ShutdownChan() <-chan struct{} { return l.finished }
