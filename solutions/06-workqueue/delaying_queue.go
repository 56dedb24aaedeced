package workqueue

// This file is the second layer: items that come later. It sits on any workqueue.TypedInterface and hands each item to
// it when its time has come. It mirrors client-go's util/workqueue/delaying_queue.go.
//
//workshop:file omit DelayingQueue

import (
	"container/heap"
	"math"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// delayingQueue implements workqueue.TypedDelayingInterface. Items that wait for their time stand in a heap, each once,
// and one goroutine sleeps until the first of them is due.
//
// Every method may be called from any goroutine. AddAfter never waits for anything but the lock.
type delayingQueue[T comparable] struct {
	// TypedInterface is the layer below: what is due goes there, and all methods but those in this file are its own.
	workqueue.TypedInterface[T]
	clock clock.Clock

	// lock guards waiting and entries. It is never held while the layer below is called.
	lock sync.Mutex
	// waiting is a heap: the entry that is due first stands at 0.
	waiting waitingHeap[T]
	// entries finds the entry in waiting that an item has.
	entries map[T]*entry[T]

	// wake tells the goroutine that another entry has become the first. It holds one such message; more say no more.
	wake chan struct{}
	// stop is closed when the goroutine is to end.
	stop     chan struct{}
	stopOnce sync.Once
}

var _ workqueue.TypedDelayingInterface[string] = (*delayingQueue[string])(nil)

// NewTypedDelayingQueue returns an empty queue. Mirrors workqueue.NewTypedDelayingQueue.
func NewTypedDelayingQueue[T comparable]() workqueue.TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{})
}

// NewTypedDelayingQueueWithConfig returns a queue on top of config.Queue, or of a new one if there is none, that takes
// the time from config.Clock, or the real one. It has a goroutine, which ends with ShutDown or ShutDownWithDrain.
// Mirrors workqueue.NewTypedDelayingQueueWithConfig.
//
//workshop:task 3
func NewTypedDelayingQueueWithConfig[T comparable](
	config workqueue.TypedDelayingQueueConfig[T],
) workqueue.TypedDelayingInterface[T] {
	q := &delayingQueue[T]{
		TypedInterface: config.Queue,
		clock:          config.Clock,
		entries:        map[T]*entry[T]{},
		wake:           make(chan struct{}, 1),
		stop:           make(chan struct{}),
	}
	if q.TypedInterface == nil {
		q.TypedInterface = NewTyped[T]()
	}
	if q.clock == nil {
		q.clock = clock.RealClock{}
	}
	go q.loop()
	return q
}

// AddAfter adds item when delay has passed. A delay of 0 or less has passed already: that is Add. An item that waits
// has one time, the earliest that it was given, and no Add changes that: it comes now, and once more when its time has
// come. After ShutDown, AddAfter does nothing.
//
//workshop:task 3
func (q *delayingQueue[T]) AddAfter(item T, delay time.Duration) {
	if delay <= 0 {
		q.Add(item)
		return
	}
	if q.ShuttingDown() {
		return
	}
	if q.enter(item, q.clock.Now().Add(delay)) {
		select {
		case q.wake <- struct{}{}:
		default: // the goroutine has not seen the message before this one
		}
	}
}

// enter lets item wait until due, unless it waits for something earlier. It says whether item has become the first.
func (q *delayingQueue[T]) enter(item T, due time.Time) (first bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	e, known := q.entries[item]
	switch {
	case !known:
		e = &entry[T]{item: item, due: due}
		q.entries[item] = e
		heap.Push(&q.waiting, e)
	case due.Before(e.due):
		e.due = due
		heap.Fix(&q.waiting, e.index)
	default:
		return false
	}
	return e.index == 0
}

// ShutDown is that of the layer below. What still waits for its time is dropped.
//
//workshop:task 3
func (q *delayingQueue[T]) ShutDown() {
	q.stopOnce.Do(func() { close(q.stop) })
	q.TypedInterface.ShutDown()
}

// ShutDownWithDrain is that of the layer below. What still waits for its time is dropped, not waited for.
//
//workshop:task 3
func (q *delayingQueue[T]) ShutDownWithDrain() {
	q.stopOnce.Do(func() { close(q.stop) })
	q.TypedInterface.ShutDownWithDrain()
}

// loop hands each item to the layer below when it is due, until the queue is shut down.
func (q *delayingQueue[T]) loop() {
	for {
		now := q.clock.Now()
		for item, ok := q.popDue(now); ok; item, ok = q.popDue(now) {
			q.Add(item)
		}
		if q.ShuttingDown() || !q.sleep(now, q.untilNext(now)) {
			return
		}
	}
}

// sleep returns when wait has passed since now, or when another entry has become the first. It says whether to go on.
func (q *delayingQueue[T]) sleep(now time.Time, wait time.Duration) bool {
	timer := q.clock.NewTimer(wait)
	defer timer.Stop() // one that is left behind may stay until it fires, be it in a year (#83895)
	if q.clock.Since(now) >= wait {
		return true // a clock that is set by hand was set before the timer was there
	}
	select {
	case <-timer.C():
		return true
	case <-q.wake:
		return true
	case <-q.stop:
		return false
	}
}

// popDue removes and returns the first item if it is due.
func (q *delayingQueue[T]) popDue(now time.Time) (item T, ok bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if len(q.waiting) == 0 || q.waiting[0].due.After(now) {
		return item, false
	}
	first := heap.Pop(&q.waiting).(*entry[T])
	delete(q.entries, first.item)
	return first.item, true
}

// untilNext returns the time from now until the first item is due, or never.
func (q *delayingQueue[T]) untilNext(now time.Time) time.Duration {
	q.lock.Lock()
	defer q.lock.Unlock()
	if len(q.waiting) == 0 {
		return never
	}
	return q.waiting[0].due.Sub(now)
}

// never is longer than any wait.
//
//workshop:omit
const never = time.Duration(math.MaxInt64)

// entry is an item that waits for its time.
type entry[T comparable] struct {
	item T
	due  time.Time
	// index is where the entry stands in the heap.
	index int
}

// waitingHeap implements heap.Interface. The entry that is due first comes out first.
type waitingHeap[T comparable] []*entry[T]

func (h waitingHeap[T]) Len() int           { return len(h) }
func (h waitingHeap[T]) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h waitingHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *waitingHeap[T]) Push(x any) {
	e := x.(*entry[T])
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *waitingHeap[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil // or the array would keep the item alive
	*h = (*h)[:last]
	return e
}
