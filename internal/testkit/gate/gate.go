// Package gate holds goroutines until a test lets them go, so that a test sees a moment which otherwise lasts an
// instant. HoldQueue holds an informer between the queue, which has handed an object out, and the store, which does not
// have it yet.
package gate

import (
	"runtime"
	"strings"
	"sync"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
)

// Gate is closed at first: goroutines wait at it until it is opened. It stays open after that.
type Gate chan struct{}

// New returns a closed gate. It opens when the test ends, so that no goroutine stays behind.
func New(t interface{ Cleanup(func()) }) Gate {
	g := make(Gate)
	t.Cleanup(g.Open)
	return g
}

// Wait blocks until the gate is open.
func (g Gate) Wait() { <-g }

// Open lets the waiting goroutines go. A second call does nothing; two calls must not run at the same time.
func (g Gate) Open() {
	select {
	case <-g:
	default:
		close(g)
	}
}

// HoldQueue returns the layers with a queue that stops at its n-th item: Pop has taken the item from the queue below
// and waits at the gate before it processes it. HasSynced blocks while an item is being processed, as in client-go's
// DeltaFIFO, and the queue is synced once the n-th item was taken. Its lock is a channel, because a bubble (package
// synctest) does not count a goroutine that waits for a mutex as blocked.
func HoldQueue(below layers.Layers, n int, gate Gate) layers.Layers {
	newQueue := below.NewDeltaFIFO
	below.NewDeltaFIFO = func(options cache.DeltaFIFOOptions) cache.Queue {
		return &queue{Queue: newQueue(options), n: n, gate: gate, lock: make(chan struct{}, 1), taken: make(chan struct{})}
	}
	return below
}

type queue struct {
	cache.Queue
	n, popped int
	gate      Gate
	lock      chan struct{}
	popping   sync.Mutex    // held by Pop
	taken     chan struct{} // closed when the n-th item was taken
}

func (q *queue) Pop(process cache.PopProcessFunc) (any, error) {
	var item any
	var inInitialList bool
	if _, err := q.Queue.Pop(func(obj any, initial bool) error {
		q.lock <- struct{}{}
		item, inInitialList = obj, initial
		return nil
	}); err != nil {
		return nil, err
	}
	defer func() { <-q.lock }()
	q.popping.Lock()
	defer q.popping.Unlock()
	if q.popped++; q.popped == q.n {
		close(q.taken)
		q.gate.Wait()
	}
	return item, process(item, inInitialList)
}

// locked takes the lock, which is free when no item is being processed. The returned function releases it. If the
// caller is what processes the item, it waits for itself, as it does in client-go's DeltaFIFO. That is a wait for a
// mutex: the watchdog of package guard then names both calls.
func (q *queue) locked() func() {
	if inPop() {
		q.popping.Lock()
	}
	q.lock <- struct{}{}
	return func() { <-q.lock }
}

// inPop reports whether the calling goroutine is in Pop.
func inPop() bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "gate.(*queue).Pop") {
			return true
		}
		if !more {
			return false
		}
	}
}

func (q *queue) HasSynced() bool {
	defer q.locked()()
	return cache.IsDone(q)
}

func (q *queue) IsClosed() bool {
	defer q.locked()()
	below, ok := q.Queue.(interface{ IsClosed() bool })
	return ok && below.IsClosed()
}

func (q *queue) HasSyncedChecker() cache.DoneChecker { return q }
func (q *queue) Name() string                        { return "the queue" }
func (q *queue) Done() <-chan struct{}               { return q.taken }
