package workqueue

// Another correct design: a queue that hands each item to a worker itself.
//
// Add and Done do not wake a worker that then looks into the queue. They choose the worker that has waited longest and
// give it the item under the lock: the item is being processed before the worker runs. So no worker wakes up in vain.
// One map holds the state of each item, and there are no conditions: each call that waits has its own channel.
//
// It is correct because workers wait only while config.Queue is empty, and because every change is made under one hold
// of the lock. The other files are the solution's.

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// ring implements workqueue.Queue in a ring, which grows when it is full and shrinks when it is nearly empty.
type ring[T comparable] struct {
	slots []T
	first int
	n     int
}

func DefaultQueue[T comparable]() workqueue.Queue[T] { return &ring[T]{} }

func (r *ring[T]) Touch(item T) {}

func (r *ring[T]) Push(item T) {
	if r.n == len(r.slots) {
		r.resize(max(4, 2*r.n))
	}
	r.slots[(r.first+r.n)%len(r.slots)] = item
	r.n++
}

func (r *ring[T]) Len() int { return r.n }

func (r *ring[T]) Pop() T {
	item := r.slots[r.first]
	r.slots[r.first] = *new(T)
	r.first = (r.first + 1) % len(r.slots)
	r.n--
	if len(r.slots) > 16 && r.n < len(r.slots)/4 {
		r.resize(len(r.slots) / 2)
	}
	return item
}

func (r *ring[T]) resize(size int) {
	slots := make([]T, size)
	for i := range r.n {
		slots[i] = r.slots[(r.first+i)%len(r.slots)]
	}
	r.slots, r.first = slots, 0
}

// state says where an item is. An item that is neither queued nor being processed is not in the map.
type state int

const (
	queued state = iota + 1
	inHand
	inHandAndAdded
)

// Typed implements workqueue.TypedInterface.
type Typed[T comparable] struct {
	lock   sync.Mutex
	states map[T]state
	queue  workqueue.Queue[T]
	hands  int // how many items are in hand
	down   bool

	workers []chan handed[T] // the Gets that wait, the one that has waited longest first
	drains  []chan struct{}  // the drains that wait
}

// handed is what a Get returns.
type handed[T comparable] struct {
	item     T
	shutdown bool
}

var _ workqueue.TypedInterface[string] = (*Typed[string])(nil)

func NewTyped[T comparable]() *Typed[T] {
	return NewTypedWithConfig(workqueue.TypedQueueConfig[T]{})
}

func NewTypedWithConfig[T comparable](config workqueue.TypedQueueConfig[T]) *Typed[T] {
	q := &Typed[T]{queue: config.Queue, states: map[T]state{}}
	if q.queue == nil {
		q.queue = DefaultQueue[T]()
	}
	return q
}

func (q *Typed[T]) Add(item T) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.down {
		return
	}
	switch q.states[item] {
	case queued:
		q.queue.Touch(item)
	case inHand:
		q.states[item] = inHandAndAdded
	case inHandAndAdded:
	default:
		q.offer(item)
	}
}

// offer gives item to the worker that has waited longest, or queues it.
func (q *Typed[T]) offer(item T) {
	if len(q.workers) == 0 {
		q.states[item] = queued
		q.queue.Push(item)
		return
	}
	worker := q.workers[0]
	q.workers[0] = nil
	q.workers = q.workers[1:]
	q.states[item] = inHand
	q.hands++
	worker <- handed[T]{item: item} // there is room for one
}

func (q *Typed[T]) Len() int {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.queue.Len()
}

func (q *Typed[T]) Get() (item T, shutdown bool) {
	got := <-q.ask()
	return got.item, got.shutdown
}

// ask returns a channel that has an item, or will have one.
func (q *Typed[T]) ask() <-chan handed[T] {
	q.lock.Lock()
	defer q.lock.Unlock()
	worker := make(chan handed[T], 1)
	switch {
	case q.queue.Len() > 0:
		item := q.queue.Pop()
		q.states[item] = inHand
		q.hands++
		worker <- handed[T]{item: item}
	case q.down:
		worker <- handed[T]{shutdown: true}
	default:
		q.workers = append(q.workers, worker)
	}
	return worker
}

func (q *Typed[T]) Done(item T) {
	q.lock.Lock()
	defer q.lock.Unlock()
	was := q.states[item]
	if was != inHand && was != inHandAndAdded {
		return
	}
	q.hands--
	delete(q.states, item)
	if was == inHandAndAdded {
		q.offer(item)
	}
	if q.finished() {
		q.endDrains()
	}
}

func (q *Typed[T]) finished() bool { return q.queue.Len() == 0 && q.hands == 0 }

func (q *Typed[T]) endDrains() {
	for _, drain := range q.drains {
		close(drain)
	}
	q.drains = nil
}

func (q *Typed[T]) ShutDown() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.close()
	q.endDrains()
}

// close makes Add drop new items, and wakes every worker that waits.
func (q *Typed[T]) close() {
	q.down = true
	for _, worker := range q.workers {
		worker <- handed[T]{shutdown: true}
	}
	q.workers = nil
}

func (q *Typed[T]) ShutDownWithDrain() {
	<-q.drain()
}

// drain returns a channel that is closed when the drain is over.
func (q *Typed[T]) drain() <-chan struct{} {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.close()
	over := make(chan struct{})
	if q.finished() {
		close(over)
	} else {
		q.drains = append(q.drains, over)
	}
	return over
}

func (q *Typed[T]) ShuttingDown() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.down
}
