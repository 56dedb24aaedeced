package workqueue

// This file is the second layer: items that come later. It sits on any workqueue.TypedInterface and hands each item to
// it when its time has come. It mirrors client-go's util/workqueue/delaying_queue.go.

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"client-go-workshop/internal/testkit/todo"
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
func NewTypedDelayingQueueWithConfig[T comparable](
	config workqueue.TypedDelayingQueueConfig[T],
) workqueue.TypedDelayingInterface[T] {
	panic(todo.Task(3, "NewTypedDelayingQueueWithConfig"))
}

// AddAfter adds item when delay has passed. A delay of 0 or less has passed already: that is Add. An item that waits
// has one time, the earliest that it was given, and no Add changes that: it comes now, and once more when its time has
// come. After ShutDown, AddAfter does nothing.
func (q *delayingQueue[T]) AddAfter(item T, delay time.Duration) {
	panic(todo.Task(3, "DelayingQueue.AddAfter"))
}

// ShutDown is that of the layer below. What still waits for its time is dropped.
func (q *delayingQueue[T]) ShutDown() {
	panic(todo.Task(3, "DelayingQueue.ShutDown"))
}

// ShutDownWithDrain is that of the layer below. What still waits for its time is dropped, not waited for.
func (q *delayingQueue[T]) ShutDownWithDrain() {
	panic(todo.Task(3, "DelayingQueue.ShutDownWithDrain"))
}

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
