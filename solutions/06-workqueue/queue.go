// Package workqueue is chapter 06 of the workshop: the queue between the handlers, which hear of changes, and the
// workers, which act on them.
//
//	Indexer, handlers ──▶ [ workqueue ] ──▶ workers of your controller
//
// Four files, from the inside out:
//
//   - queue.go, this one: who waits, who is being worked on, and who has to come again.
//   - delaying_queue.go: items that come later.
//   - default_rate_limiters.go: how much later.
//   - rate_limiting_queue.go: the two put together, which is what a controller uses.
//
// The interfaces and the configs are client-go's own, so that each layer can be put under or over one of client-go's.
//
// What is left out: metrics. Of the configs, Queue, DelayingQueue and Clock count; Name, MetricsProvider and Logger are
// accepted and not used.
//
//workshop:file task 1 Queue
package workqueue

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
)

// fifo implements workqueue.Queue: first in, first out. It has no lock of its own; whoever calls it holds the queue's.
type fifo[T comparable] struct {
	// items holds what is in the queue from head on. What stands before head was popped, and is zero.
	items []T
	head  int
}

// DefaultQueue returns an empty queue without priorities: the one that Typed uses unless it is given another one.
// Mirrors workqueue.DefaultQueue.
//
//workshop:keep
func DefaultQueue[T comparable]() workqueue.Queue[T] { return &fifo[T]{} }

// Touch does nothing: an item that is added again keeps its place.
//
//workshop:keep
func (q *fifo[T]) Touch(item T) {}

// Push puts item at the end.
func (q *fifo[T]) Push(item T) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		// Most of the array is free, at its beginning. Moving the rest there is cheaper than a larger array.
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, item)
}

// Len says how many items there are.
func (q *fifo[T]) Len() int { return len(q.items) - q.head }

// Pop takes the item out that has been here longest, and keeps no reference to it. It must not be called on an empty
// queue.
func (q *fifo[T]) Pop() (item T) {
	item = q.items[q.head]
	q.items[q.head] = *new(T) // the array lives on, and would keep the item alive (#105031)
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return item
}

// Typed implements workqueue.TypedInterface. However often an item is added before a worker takes it, it comes once.
// While a worker has it, no other worker gets it; if it is added meanwhile, it comes once more after that worker's
// Done. So no change is ever missed, and no two workers ever work on the same item.
//
// Every method may be called from any goroutine. Get and ShutDownWithDrain wait, the others do not.
type Typed[T comparable] struct {
	// lock guards all fields below.
	lock sync.Mutex
	// work is where Get waits for an item or for the end, and idle is where a drain waits for the last Done. Both
	// belong to lock. An item is for one of those who wait, so Signal is enough; an end is for all of them.
	work, idle sync.Cond

	// queue holds the items that the next Get may hand out, in order: those in dirty that are not in processing.
	queue workqueue.Queue[T]
	// dirty holds the items that have to be worked on: added, and not handed out since.
	dirty sets.Set[T]
	// processing holds the items in hand: handed out by Get, and not yet given back by Done.
	processing sets.Set[T]

	// shuttingDown is set by the first ShutDown or ShutDownWithDrain, and stays set.
	shuttingDown bool
	// shutDowns counts the calls of ShutDown. A drain ends when the count changes.
	shutDowns int
}

var _ workqueue.TypedInterface[string] = (*Typed[string])(nil)

// NewTyped returns an empty queue. Mirrors workqueue.NewTyped.
//
//workshop:keep
func NewTyped[T comparable]() *Typed[T] {
	return NewTypedWithConfig(workqueue.TypedQueueConfig[T]{})
}

// NewTypedWithConfig returns an empty queue that keeps its items in config.Queue, if there is one: it decides in which
// order they come. It needs no lock, since it is called under the queue's. Mirrors workqueue.NewTypedWithConfig.
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

// Add says that there is work to do on item. If it waits in the queue already, nothing changes, and the queue's Touch
// is told. If it is in hand, it is only marked, and comes again after Done. After ShutDown, Add does nothing.
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
	q.work.Signal()
}

// Len says how many items wait in the queue. Those in hand do not wait, whether they will come again or not.
func (q *Typed[T]) Len() int {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.queue.Len()
}

// Get takes the next item out of the queue, and waits until there is one. From then on it is in the caller's hand, who
// must give it back with Done. After ShutDown, Get hands out what is left, and once the queue is empty it does not wait
// but says shutdown, with the zero item.
func (q *Typed[T]) Get() (item T, shutdown bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for q.queue.Len() == 0 { // a loop: another worker may have been faster
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

// Done gives item back. If it was added while it was in hand, it goes to the end of the queue now, also after ShutDown.
// An item that is not in hand is ignored. The last Done wakes every ShutDownWithDrain that waits.
func (q *Typed[T]) Done(item T) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if !q.processing.Has(item) {
		return // pushed now, it would stand in the queue twice
	}
	q.processing.Delete(item)
	if q.dirty.Has(item) {
		q.push(item)
	}
	if q.finished() {
		q.idle.Broadcast()
	}
}

// finished says whether there is nothing left to do: nothing waits, and nothing is in hand. The caller holds the lock.
func (q *Typed[T]) finished() bool { return q.queue.Len() == 0 && q.processing.Len() == 0 }

// ShutDown makes the queue refuse new items. What is queued is still handed out, and what is in hand and was added
// again comes once more; then every Get says shutdown. ShutDown does not wait, and it ends every ShutDownWithDrain that
// does. It may be called any number of times.
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

// ShutDownWithDrain is ShutDown, but it waits until all that is queued or in hand has been worked on, so there have to
// be workers that take items and give them back. A ShutDown that comes later ends the wait.
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

// ShuttingDown says whether ShutDown or ShutDownWithDrain was called.
//
//workshop:task 2
func (q *Typed[T]) ShuttingDown() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.shuttingDown
}
