package workqueue

// Another correct design: one timer, which AddAfter sets again, and a treap.
//
// The goroutine waits for this timer and for the end, and never for a new item. AddAfter sets the timer itself if its
// item is the first. The treap is a search tree of due times, balanced by random numbers; a number breaks ties.
//
// It is correct because the timer is set under the lock, always for the first item. If a test moves its clock
// meanwhile, set looks again, and sets the timer to 0 or less: then it fires at once. The other files are the
// solution's.

import (
	"cmp"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// when is a place in the order.
type when struct {
	at  time.Time
	seq uint64
}

func (a when) compare(b when) int {
	if c := a.at.Compare(b.at); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}

// treap is a node, and the root of its subtree.
type treap[T comparable] struct {
	when
	item        T
	priority    uint64
	left, right *treap[T]
}

// split returns the nodes before w, and the others.
func split[T comparable](n *treap[T], w when) (less, rest *treap[T]) {
	if n == nil {
		return nil, nil
	}
	if n.compare(w) < 0 {
		n.right, rest = split(n.right, w)
		return n, rest
	}
	less, n.left = split(n.left, w)
	return less, n
}

// merge joins two treaps. All of a come before all of b.
func merge[T comparable](a, b *treap[T]) *treap[T] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		a.right = merge(a.right, b)
		return a
	default:
		b.left = merge(a, b.left)
		return b
	}
}

// first returns the node that is due first.
func (n *treap[T]) first() *treap[T] {
	for n.left != nil {
		n = n.left
	}
	return n
}

type delayingQueue[T comparable] struct {
	below workqueue.TypedInterface[T]
	clock clock.Clock
	real  bool
	timer clock.Timer
	ended chan struct{}

	mu     sync.RWMutex
	root   *treap[T]
	items  map[T]when
	seq    uint64
	closed bool
}

func NewTypedDelayingQueue[T comparable]() workqueue.TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{})
}

func NewTypedDelayingQueueWithConfig[T comparable](
	config workqueue.TypedDelayingQueueConfig[T],
) workqueue.TypedDelayingInterface[T] {
	q := &delayingQueue[T]{below: config.Queue, clock: config.Clock, items: map[T]when{}, ended: make(chan struct{})}
	if q.below == nil {
		q.below = NewTyped[T]()
	}
	if config.Clock == nil {
		q.clock, q.real = clock.RealClock{}, true
	}
	q.timer = q.clock.NewTimer(time.Hour)
	q.timer.Stop()
	go q.serve()
	return q
}

// set sets the timer for the first item. The caller has the lock.
func (q *delayingQueue[T]) set() {
	if q.root == nil {
		q.timer.Stop()
		return
	}
	due := q.root.first().at
	for {
		now := q.clock.Now()
		q.timer.Reset(due.Sub(now))
		if q.real || q.clock.Now().Equal(now) {
			return
		}
	}
}

// take removes and returns the first item. If it is not due, take sets the timer.
func (q *delayingQueue[T]) take() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.root == nil {
		return item, false
	}
	first := q.root.first()
	if first.at.After(q.clock.Now()) {
		q.set()
		return item, false
	}
	_, q.root = split(q.root, when{first.at, first.seq + 1})
	delete(q.items, first.item)
	return first.item, true
}

// serve adds each item to the layer below when it is due.
func (q *delayingQueue[T]) serve() {
	for {
		select {
		case <-q.ended:
			return
		case <-q.timer.C():
			for item, ok := q.take(); ok; item, ok = q.take() {
				q.below.Add(item)
			}
		}
	}
}

func (q *delayingQueue[T]) AddAfter(item T, delay time.Duration) {
	if delay <= 0 {
		q.below.Add(item)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.seq++
	w := when{q.clock.Now().Add(delay), q.seq}
	if old, ok := q.items[item]; ok {
		if !w.at.Before(old.at) {
			return
		}
		less, rest := split(q.root, old)
		_, rest = split(rest, when{old.at, old.seq + 1})
		q.root = merge(less, rest)
	}
	q.items[item] = w
	less, rest := split(q.root, w)
	q.root = merge(merge(less, &treap[T]{when: w, item: item, priority: rand.Uint64()}), rest)
	if q.root.first().item == item {
		q.set()
	}
}

// drop drops the delayed items, and ends the goroutine.
func (q *delayingQueue[T]) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	q.root, q.items = nil, nil
	q.timer.Stop()
	close(q.ended)
}

func (q *delayingQueue[T]) Add(item T)         { q.below.Add(item) }
func (q *delayingQueue[T]) Len() int           { return q.below.Len() }
func (q *delayingQueue[T]) Get() (T, bool)     { return q.below.Get() }
func (q *delayingQueue[T]) Done(item T)        { q.below.Done(item) }
func (q *delayingQueue[T]) ShuttingDown() bool { return q.below.ShuttingDown() }
func (q *delayingQueue[T]) ShutDown()          { q.drop(); q.below.ShutDown() }
func (q *delayingQueue[T]) ShutDownWithDrain() { q.drop(); q.below.ShutDownWithDrain() }
