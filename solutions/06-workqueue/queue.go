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
//
//workshop:file task 1 Queue

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
)

// fifo implements workqueue.Queue: first in, first out. It has no lock. The caller holds that of Typed.
type fifo[T comparable] struct {
	items []T
	// head is the index of the first item in the queue. The slots before it are zero.
	//
	//workshop:omit
	head int
}

// DefaultQueue returns an empty queue without priorities. Typed uses it if the config has no Queue. It mirrors
// workqueue.DefaultQueue.
//
//workshop:keep
func DefaultQueue[T comparable]() workqueue.Queue[T] { return &fifo[T]{} }

// Touch has no effect: an item that is added again keeps its place.
//
//workshop:keep
func (q *fifo[T]) Touch(item T) {}

// Push puts item at the end of the queue.
func (q *fifo[T]) Push(item T) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		// Most of the array is free, at its beginning. Moving the rest there is cheaper than a larger array.
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
		q.shrink()
	}
	q.items = append(q.items, item)
}

// shrink replaces the array if the queue was long once and is short now. It requires that head is 0.
//
//workshop:omit
func (q *fifo[T]) shrink() {
	if n := len(q.items); cap(q.items) > 64 && n < cap(q.items)/8 {
		q.items = append(make([]T, 0, 2*n), q.items...)
	}
}

// Len returns how many items are in the queue.
func (q *fifo[T]) Len() int { return len(q.items) - q.head }

// Pop removes and returns the item that has been in the queue longest, and keeps no reference to the item that it
// returns. It must not be called on an empty queue.
func (q *fifo[T]) Pop() (item T) {
	item = q.items[q.head]
	q.items[q.head] = *new(T) // otherwise the array would keep the item in memory (#105031)
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		q.shrink()
	}
	return item
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
	// shutDowns counts the calls of ShutDown. A drain ends when the count changes.
	//
	//workshop:omit
	shutDowns int
}

var _ workqueue.TypedInterface[string] = (*Typed[string])(nil)

// NewTyped returns an empty queue. It mirrors workqueue.NewTyped.
//
//workshop:keep
func NewTyped[T comparable]() *Typed[T] {
	return NewTypedWithConfig(workqueue.TypedQueueConfig[T]{})
}

// NewTypedWithConfig returns an empty queue. config.Queue decides in which order the items come; nil means
// DefaultQueue. config.Queue needs no lock: it is called by one method at a time.
//
// NewTypedWithConfig mirrors workqueue.NewTypedWithConfig.
//
//workshop:keep
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
	q.lock.Lock()
	defer q.lock.Unlock()
	switch {
	case q.shuttingDown:
	case q.dirty.Has(item):
		if !q.processing.Has(item) {
			q.queue.Touch(item)
		}
	default:
		q.dirty.Insert(item)
		if !q.processing.Has(item) {
			q.push(item)
		}
	}
}

// push puts item into the queue, and wakes a worker for it. The caller holds the lock.
func (q *Typed[T]) push(item T) {
	q.queue.Push(item)
	q.work.Signal() // one item is for one worker
}

// Len returns how many items are queued, without those being processed. It mirrors workqueue.Typed.Len.
func (q *Typed[T]) Len() int {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.queue.Len()
}

// Get waits until there is an item, and removes it from the queue. Only one worker has an item at a time: no other Get
// returns it before Done.
//
// It still returns the queued items after ShutDown, and then every Get returns shutdown and the zero item.
//
// It mirrors workqueue.Typed.Get.
func (q *Typed[T]) Get() (item T, shutdown bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for q.queue.Len() == 0 { // a loop, because another worker may have been faster
		if q.shuttingDown {
			return item, true
		}
		q.work.Wait()
	}
	item = q.queue.Pop()
	q.dirty.Delete(item)
	q.processing.Insert(item)
	return item, false
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
	q.lock.Lock()
	defer q.lock.Unlock()
	if !q.processing.Has(item) {
		return // a push could queue the item twice
	}
	q.processing.Delete(item)
	if q.dirty.Has(item) {
		q.push(item)
	}
	if q.finished() {
		q.idle.Broadcast()
	}
}

// finished reports whether nothing is queued and nothing is being processed. The caller holds the lock.
func (q *Typed[T]) finished() bool { return q.queue.Len() == 0 && q.processing.Len() == 0 }

// ShutDown wakes every worker that waits in Get, and ends every ShutDownWithDrain that waits. After ShutDown, Add has
// no effect.
//
// It does not wait for items that are queued or being processed. It may be called any number of times.
//
// It mirrors workqueue.Typed.ShutDown.
//
//workshop:task 2
func (q *Typed[T]) ShutDown() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.shuttingDown = true
	q.shutDowns++
	q.work.Broadcast()
	q.idle.Broadcast()
}

// ShutDownWithDrain waits until workers have emptied the queue and called Done for every item. A later ShutDown ends
// the wait, and another ShutDownWithDrain does not.
//
// It wakes every worker that waits in Get, at once. After ShutDownWithDrain, Add has no effect.
//
// It mirrors workqueue.Typed.ShutDownWithDrain.
//
//workshop:task 2
func (q *Typed[T]) ShutDownWithDrain() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.shuttingDown = true
	q.work.Broadcast()
	for before := q.shutDowns; q.shutDowns == before && !q.finished(); {
		q.idle.Wait()
	}
}

// ShuttingDown reports whether ShutDown or ShutDownWithDrain was called. It mirrors workqueue.Typed.ShuttingDown.
//
//workshop:task 2
func (q *Typed[T]) ShuttingDown() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.shuttingDown
}
