package workqueue

// This file is the second layer: items that come later. It works on top of any workqueue.TypedInterface, and adds each
// item to it when the item is due. It mirrors client-go's util/workqueue/delaying_queue.go.

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"client-go-workshop/internal/testkit/todo"
)

// delayingQueue implements workqueue.TypedDelayingInterface. Every method may be called from any goroutine.
type delayingQueue[T comparable] struct {
	workqueue.TypedInterface[T] // the layer below
	clock                       clock.Clock

	lock    sync.Mutex // guards the delayed items
	waiting waitingHeap[T]
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
func NewTypedDelayingQueueWithConfig[T comparable](
	config workqueue.TypedDelayingQueueConfig[T],
) workqueue.TypedDelayingInterface[T] {
	panic(todo.Task(3, "NewTypedDelayingQueueWithConfig"))
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
func (q *delayingQueue[T]) AddAfter(item T, delay time.Duration) {
	panic(todo.Task(3, "DelayingQueue.AddAfter"))
}

// ShutDown calls ShutDown of the layer below, each time, and drops the delayed items.
func (q *delayingQueue[T]) ShutDown() {
	panic(todo.Task(3, "DelayingQueue.ShutDown"))
}

// ShutDownWithDrain drops the delayed items, and then drains the layer below.
func (q *delayingQueue[T]) ShutDownWithDrain() {
	panic(todo.Task(3, "DelayingQueue.ShutDownWithDrain"))
}

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
