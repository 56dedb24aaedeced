package workqueue

// Another correct design: a timer for each item that waits, and no goroutine that sleeps.
//
// AddAfter sets a timer. When it fires, all items that are due go to the layer below. An earlier time stops the timer
// and sets another one. Several timers may fire together, each on a goroutine of its own. So a heap has the order, and
// only one of these goroutines adds items at a time.
//
// It is correct although Stop may come too late: a timer that fires only says that it is time to look into the heap.
// The goroutine that adds items looks there again after each one, so the others need not wait for it. The queue notes
// its own shutdown and does not ask the layer below.

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

type delayingQueue[T comparable] struct {
	workqueue.TypedInterface[T]
	clock clock.WithTicker

	lock    sync.Mutex
	waiting map[T]*entry[T] // nil after the end
	order   dueHeap[T]
	adding  bool // a goroutine adds the items that are due
}

// entry is an item that waits.
type entry[T comparable] struct {
	item   T
	due    time.Time
	cancel func()
	index  int
}

// dueHeap implements heap.Interface.
type dueHeap[T comparable] []*entry[T]

func (h dueHeap[T]) Len() int           { return len(h) }
func (h dueHeap[T]) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *dueHeap[T]) Push(x any) {
	e := x.(*entry[T])
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *dueHeap[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}

var _ workqueue.TypedDelayingInterface[string] = (*delayingQueue[string])(nil)

func NewTypedDelayingQueue[T comparable]() workqueue.TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{})
}

func NewTypedDelayingQueueWithConfig[T comparable](
	config workqueue.TypedDelayingQueueConfig[T],
) workqueue.TypedDelayingInterface[T] {
	q := &delayingQueue[T]{TypedInterface: config.Queue, clock: config.Clock, waiting: map[T]*entry[T]{}}
	if q.TypedInterface == nil {
		q.TypedInterface = NewTyped[T]()
	}
	if q.clock == nil {
		q.clock = clock.RealClock{}
	}
	return q
}

func (q *delayingQueue[T]) AddAfter(item T, delay time.Duration) {
	if delay <= 0 {
		q.Add(item)
		return
	}
	due := q.clock.Now().Add(delay)
	q.lock.Lock()
	defer q.lock.Unlock()
	e, waits := q.waiting[item]
	switch {
	case q.waiting == nil || waits && !due.Before(e.due):
		return
	case waits:
		e.cancel()
		e.due = due
		heap.Fix(&q.order, e.index)
	default:
		e = &entry[T]{item: item, due: due}
		q.waiting[item] = e
		heap.Push(&q.order, e)
	}
	e.cancel = afterFunc(q.clock, delay, q.fire)
	switch rest := due.Sub(q.clock.Now()); { // a test may have moved its clock before the timer was there
	case rest <= 0:
		go q.fire()
	case rest < delay:
		e.cancel()
		e.cancel = afterFunc(q.clock, rest, q.fire)
	}
}

// fire adds the items that are due, unless another goroutine does.
func (q *delayingQueue[T]) fire() {
	if !q.begin() {
		return
	}
	for item, ok := q.next(); ok; item, ok = q.next() {
		q.Add(item)
	}
}

// begin reports whether the current goroutine is the one that adds items.
func (q *delayingQueue[T]) begin() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.adding {
		return false
	}
	q.adding = true
	return true
}

// next removes and returns the first item. ok is false if no item is due; then another goroutine may add items.
func (q *delayingQueue[T]) next() (item T, ok bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	// A timer that fires later than this look finds adding as this call leaves it, so no due item is lost.
	if len(q.order) == 0 || q.order[0].due.After(q.clock.Now()) {
		q.adding = false
		return item, false
	}
	e := heap.Pop(&q.order).(*entry[T])
	delete(q.waiting, e.item)
	e.cancel()
	return e.item, true
}

func (q *delayingQueue[T]) ShutDown() {
	q.drop()
	q.TypedInterface.ShutDown()
}

func (q *delayingQueue[T]) ShutDownWithDrain() {
	q.drop()
	q.TypedInterface.ShutDownWithDrain()
}

// drop forgets the items that wait, and refuses others.
func (q *delayingQueue[T]) drop() {
	q.lock.Lock()
	defer q.lock.Unlock()
	for _, e := range q.waiting {
		e.cancel()
	}
	q.waiting, q.order = nil, nil
}

// afterFunc calls f on another goroutine when delay has passed. Not every clock can do that; for the others a
// goroutine waits.
func afterFunc(c clock.WithTicker, delay time.Duration, f func()) (cancel func()) {
	if c, ok := c.(clock.WithDelayedExecution); ok {
		timer := c.AfterFunc(delay, func() { go f() }) // a clock of a test calls it with its own lock held
		return func() { timer.Stop() }
	}
	timer, cancelled := c.NewTimer(delay), make(chan struct{})
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			f()
		case <-cancelled:
		}
	}()
	return sync.OnceFunc(func() { close(cancelled) })
}
