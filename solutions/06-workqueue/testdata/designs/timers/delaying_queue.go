package workqueue

// Another correct design: a timer for each item that waits, and no goroutine that sleeps.
//
// The runtime keeps timers in a heap of its own, so there is no need for another one. AddAfter sets a timer. When it
// fires, the item goes to the layer below. An earlier time stops the timer and sets another one.
//
// It is correct although Stop may come too late: the function of a timer looks, under the lock, whether its entry still
// counts. A timer costs about as much memory as an entry of a heap. Items whose times are microseconds apart may come
// in any order, since each timer runs its function on a goroutine of its own.

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

type delayingQueue[T comparable] struct {
	workqueue.TypedInterface[T]
	clock clock.WithTicker

	lock    sync.Mutex
	waiting map[T]*entry // nil after the end
}

// entry is the time of an item that waits. Each AddAfter that counts makes a new one.
type entry struct {
	due    time.Time
	cancel func()
}

var _ workqueue.TypedDelayingInterface[string] = (*delayingQueue[string])(nil)

func NewTypedDelayingQueue[T comparable]() workqueue.TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{})
}

func NewTypedDelayingQueueWithConfig[T comparable](
	config workqueue.TypedDelayingQueueConfig[T],
) workqueue.TypedDelayingInterface[T] {
	q := &delayingQueue[T]{TypedInterface: config.Queue, clock: config.Clock, waiting: map[T]*entry{}}
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
	if q.ShuttingDown() {
		return
	}
	due := q.clock.Now().Add(delay)
	q.lock.Lock()
	defer q.lock.Unlock()
	old, waits := q.waiting[item]
	if q.waiting == nil || waits && !due.Before(old.due) {
		return
	}
	if waits {
		old.cancel()
	}
	e := &entry{due: due}
	e.cancel = afterFunc(q.clock, delay, func() { q.fire(item, e) })
	q.waiting[item] = e
}

// fire adds item, unless e has been replaced or dropped.
func (q *delayingQueue[T]) fire(item T, e *entry) {
	if q.forget(item, e) {
		q.Add(item)
	}
}

func (q *delayingQueue[T]) forget(item T, e *entry) bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.waiting[item] != e {
		return false
	}
	delete(q.waiting, item)
	return true
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
	q.waiting = nil
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
