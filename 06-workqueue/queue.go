// Package workqueue re-creates client-go's workqueue: the queue between the handlers, which receive changes, and the
// workers, which act on them.
//
//	Indexer, handlers ──▶ [ workqueue ] ──▶ workers of your controller
//
// Four files, from the inside out:
//
//   - queue.go: each item once, and for one worker at a time.
//   - delaying_queue.go: items that come later.
//   - default_rate_limiters.go: how much later.
//   - rate_limiting_queue.go: both together, which is what a controller uses.
//
// The interfaces and the configs are client-go's own, so each layer works above or below one of client-go's.
//
// Metrics are left out. The configs' Queue, DelayingQueue and Clock are used. Name, MetricsProvider and Logger have no
// effect.
package workqueue

// This file is the first layer: which item comes next, and which items workers have. It knows neither time nor
// failures. It mirrors client-go's util/workqueue/queue.go.

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/todo"
)

// fifo implements workqueue.Queue: first in, first out. It has no lock. The caller holds that of Typed.
type fifo[T comparable] struct {
	items []T
}

// DefaultQueue returns an empty queue without priorities. Typed uses it if the config has no Queue. It mirrors
// workqueue.DefaultQueue.
func DefaultQueue[T comparable]() workqueue.Queue[T] { return &fifo[T]{} }

// Touch has no effect: an item that is added again keeps its place.
func (q *fifo[T]) Touch(item T) {}

// Push puts item at the end of the queue.
func (q *fifo[T]) Push(item T) {
	panic(todo.Task(1, "Queue.Push"))
}

// Len returns how many items are in the queue.
func (q *fifo[T]) Len() int {
	panic(todo.Task(1, "Queue.Len"))
}

// Pop removes and returns the item that has been in the queue longest, and keeps no reference to the item that it
// returns. It must not be called on an empty queue.
func (q *fifo[T]) Pop() (item T) {
	panic(todo.Task(1, "Queue.Pop"))
}

// Typed implements workqueue.TypedInterface. If an item is added several times before a worker takes it, Get returns it
// once. Only one worker has an item at a time. If an item is added while it is being processed, Get returns it once
// more after Done.
//
// Every method may be called from any goroutine. Only Get and ShutDownWithDrain wait.
type Typed[T comparable] struct {
	lock       sync.Mutex // guards all fields below
	work, idle sync.Cond

	queue      workqueue.Queue[T]
	dirty      sets.Set[T] // items that have to be processed
	processing sets.Set[T] // items that workers have

	shuttingDown bool
}

var _ workqueue.TypedInterface[string] = (*Typed[string])(nil)

// NewTyped returns an empty queue. It mirrors workqueue.NewTyped.
func NewTyped[T comparable]() *Typed[T] {
	return NewTypedWithConfig(workqueue.TypedQueueConfig[T]{})
}

// NewTypedWithConfig returns an empty queue. config.Queue decides in which order the items come; nil means
// DefaultQueue. config.Queue needs no lock: it is called by one method at a time.
//
// NewTypedWithConfig mirrors workqueue.NewTypedWithConfig.
func NewTypedWithConfig[T comparable](config workqueue.TypedQueueConfig[T]) *Typed[T] {
	q := &Typed[T]{queue: config.Queue, dirty: sets.Set[T]{}, processing: sets.Set[T]{}}
	if q.queue == nil {
		q.queue = DefaultQueue[T]()
	}
	q.work.L, q.idle.L = &q.lock, &q.lock
	return q
}

// Add puts item at the end of the queue and wakes a worker that waits in Get. An item that is already queued keeps its
// place, and Add calls Touch of config.Queue for it. If an item is added while it is being processed, Get returns it
// once more after Done. After ShutDown, Add has no effect.
//
// It mirrors workqueue.Typed.Add.
func (q *Typed[T]) Add(item T) {
	panic(todo.Task(1, "Typed.Add"))
}

// Len returns how many items are queued, without those being processed. It mirrors workqueue.Typed.Len.
func (q *Typed[T]) Len() int {
	panic(todo.Task(1, "Typed.Len"))
}

// Get waits until there is an item, and removes it from the queue. Only one worker has an item at a time: no other Get
// returns it before Done.
//
// It still returns the queued items after ShutDown, and then every Get returns shutdown and the zero item.
//
// It mirrors workqueue.Typed.Get.
func (q *Typed[T]) Get() (item T, shutdown bool) {
	panic(todo.Task(1, "Typed.Get"))
}

// Done ends the processing of item: Get returns it again only if it is added again. It ignores an item that is not
// being processed.
//
// If an item was added while it was being processed, Done puts it at the end of the queue. If an item was added before
// ShutDown while it was being processed, Get still returns it after Done. The last Done ends every ShutDownWithDrain
// that waits.
//
// It mirrors workqueue.Typed.Done.
func (q *Typed[T]) Done(item T) {
	panic(todo.Task(1, "Typed.Done"))
}

// ShutDown wakes every worker that waits in Get, and ends every ShutDownWithDrain that waits. After ShutDown, Add has
// no effect.
//
// It does not wait for items that are queued or being processed. It may be called any number of times.
//
// It mirrors workqueue.Typed.ShutDown.
func (q *Typed[T]) ShutDown() {
	panic(todo.Task(2, "Typed.ShutDown"))
}

// ShutDownWithDrain waits until workers have emptied the queue and called Done for every item. A later ShutDown ends
// the wait, and another ShutDownWithDrain does not.
//
// It wakes every worker that waits in Get, at once. After ShutDownWithDrain, Add has no effect.
//
// It mirrors workqueue.Typed.ShutDownWithDrain.
func (q *Typed[T]) ShutDownWithDrain() {
	panic(todo.Task(2, "Typed.ShutDownWithDrain"))
}

// ShuttingDown reports whether ShutDown or ShutDownWithDrain was called. It mirrors workqueue.Typed.ShuttingDown.
func (q *Typed[T]) ShuttingDown() bool {
	panic(todo.Task(2, "Typed.ShuttingDown"))
}
