package workqueue

// This file is the second layer: items that come later. It works on top of any workqueue.TypedInterface, and adds each
// item to it when the item is due. It mirrors client-go's util/workqueue/delaying_queue.go.
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

// delayingQueue implements workqueue.TypedDelayingInterface. Every method may be called from any goroutine.
type delayingQueue[T comparable] struct {
	workqueue.TypedInterface[T] // the layer below
	clock                       clock.Clock

	lock    sync.Mutex // guards the delayed items
	waiting waitingHeap[T]
	// entries has the entry in waiting of each delayed item. It is nil after the shutdown.
	//
	//workshop:omit
	entries map[T]*entry[T]

	// wake receives a message when another entry has become the first.
	//
	//workshop:omit
	wake chan struct{}
	// stop is closed when the goroutine has to end.
	//
	//workshop:omit
	stop chan struct{}
	//workshop:omit
	stopOnce sync.Once
}

var _ workqueue.TypedDelayingInterface[string] = (*delayingQueue[string])(nil)

// NewTypedDelayingQueue returns an empty queue. It mirrors workqueue.NewTypedDelayingQueue.
func NewTypedDelayingQueue[T comparable]() workqueue.TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{})
}

// NewTypedDelayingQueueWithConfig returns a queue on top of config.Queue; nil means a new Typed. The queue measures all
// delays with config.Clock; nil means the real clock.
//
// ShutDown and ShutDownWithDrain leave no goroutine and no timer behind.
//
// NewTypedDelayingQueueWithConfig mirrors workqueue.NewTypedDelayingQueueWithConfig.
//
//workshop:task 3
func NewTypedDelayingQueueWithConfig[T comparable](
	config workqueue.TypedDelayingQueueConfig[T],
) workqueue.TypedDelayingInterface[T] {
	q := &delayingQueue[T]{
		TypedInterface: config.Queue,
		clock:          config.Clock,
		entries:        map[T]*entry[T]{},
		wake:           make(chan struct{}, 1), // room for one message, because one is enough
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

// AddAfter adds item to the layer below when delay has passed. If delay is 0 or less, it does the same as Add. After
// ShutDown, it has no effect.
//
// A delayed item has one due time, the earliest that it was given. Add does not change the due time of a delayed item:
// it comes now, and once more when it is due. Items are added in the order of their due times, and an item that has
// come can be delayed again.
//
// AddAfter does not wait for other calls of the layer below to end. It mirrors
// workqueue.TypedDelayingInterface.AddAfter.
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
		default: // the goroutine has not received the last message yet
		}
	}
}

// enter delays item until due, unless it is due earlier. It reports whether item is now the first.
func (q *delayingQueue[T]) enter(item T, due time.Time) (first bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	e, known := q.entries[item]
	switch {
	case q.entries == nil: // after the shutdown
		return false
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

// ShutDown calls ShutDown of the layer below, each time, and drops the delayed items.
//
//workshop:task 3
func (q *delayingQueue[T]) ShutDown() {
	q.stopOnce.Do(func() { close(q.stop) })
	q.TypedInterface.ShutDown()
}

// ShutDownWithDrain drops the delayed items, and then drains the layer below.
//
//workshop:task 3
func (q *delayingQueue[T]) ShutDownWithDrain() {
	q.stopOnce.Do(func() { close(q.stop) })
	q.TypedInterface.ShutDownWithDrain()
}

// loop adds each item to the layer below when it is due, until the queue is shut down. Then it drops the delayed items.
// It does not hold the lock when it calls the layer below.
func (q *delayingQueue[T]) loop() {
	defer q.drop()
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

// drop drops the delayed items.
func (q *delayingQueue[T]) drop() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.waiting, q.entries = nil, nil
}

// sleep returns when wait has passed since now, or when another entry has become the first. It reports whether the loop
// continues.
func (q *delayingQueue[T]) sleep(now time.Time, wait time.Duration) bool {
	timer := q.clock.NewTimer(wait)
	defer timer.Stop() // otherwise the timer may stay until it fires, perhaps in a year (#83895)
	passed := q.clock.Since(now)
	if passed >= wait {
		return true // a test has moved its clock before the timer was there
	}
	timer.Reset(wait - passed) // or it has moved its clock by a part of the wait
	select {
	case <-timer.C():
		return true
	case <-q.wake:
		return true
	case <-q.stop:
		return false
	}
}

// popDue removes and returns the first item. ok is false if no item is due.
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

// untilNext returns the time from now until the first item is due. It is never if there is no item.
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

// entry is a delayed item.
type entry[T comparable] struct {
	item T
	due  time.Time
	// index is the entry's position in the heap.
	index int
}

// waitingHeap implements heap.Interface. The entry that is due first is at index 0.
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
	(*h)[last] = nil // otherwise the array would keep the item in memory
	*h = (*h)[:last]
	return e
}
