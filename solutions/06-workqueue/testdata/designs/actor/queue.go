package workqueue

// Another correct design: an actor that lives only while it has work.
//
// A call sends a function to the queue's inbox, and waits until the actor has run it. The actor is a goroutine that
// runs one function after the other, and ends when the inbox is empty. So an idle queue has no goroutine.
//
// It is correct because only the actor uses the fields of the queue, and there is one actor at a time. Get and
// ShutDownWithDrain leave a channel, and after each function the actor answers those that need not wait any longer. The
// other files are the solution's.

import (
	"container/list"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// stacks implements workqueue.Queue with two stacks: out is in turned round.
type stacks[T comparable] struct{ in, out []T }

func DefaultQueue[T comparable]() workqueue.Queue[T] { return &stacks[T]{} }

func (q *stacks[T]) Touch(item T) {}
func (q *stacks[T]) Push(item T)  { q.in = append(q.in, item) }
func (q *stacks[T]) Len() int     { return len(q.in) + len(q.out) }

func (q *stacks[T]) Pop() (item T) {
	if len(q.out) == 0 {
		q.out = make([]T, 0, len(q.in))
		for i := len(q.in) - 1; i >= 0; i-- {
			q.out = append(q.out, q.in[i])
		}
		q.in = nil
	}
	last := len(q.out) - 1
	item, q.out[last] = q.out[last], item
	q.out = q.out[:last]
	if last == 0 {
		q.out = nil
	}
	return item
}

// state is what the queue knows of an item that is queued or being processed.
type state struct{ processing, again bool }

// answer is what Get returns.
type answer[T comparable] struct {
	item     T
	shutdown bool
}

type Typed[T comparable] struct {
	lock    sync.Mutex // guards inbox and running
	inbox   []func()
	running bool

	// The fields of the actor.
	queue  workqueue.Queue[T]
	states map[T]*state
	gets   list.List // of chan answer[T]: each call of Get that waits
	drains map[chan struct{}]bool
	closed bool
}

func NewTyped[T comparable]() *Typed[T] {
	return NewTypedWithConfig(workqueue.TypedQueueConfig[T]{})
}

func NewTypedWithConfig[T comparable](config workqueue.TypedQueueConfig[T]) *Typed[T] {
	q := &Typed[T]{queue: config.Queue, states: map[T]*state{}, drains: map[chan struct{}]bool{}}
	if q.queue == nil {
		q.queue = DefaultQueue[T]()
	}
	return q
}

// act is the actor.
func (q *Typed[T]) act() {
	for calls := q.receive(); len(calls) > 0; calls = q.receive() {
		for _, call := range calls {
			call()
			q.reply()
		}
	}
}

// receive returns the content of the inbox. If it is empty, the actor must end.
func (q *Typed[T]) receive() []func() {
	q.lock.Lock()
	defer q.lock.Unlock()
	calls := q.inbox
	q.inbox = nil
	q.running = len(calls) > 0
	return calls
}

// reply answers each Get and each drain that need not wait any longer.
func (q *Typed[T]) reply() {
	for q.gets.Len() > 0 && (q.queue.Len() > 0 || q.closed) {
		c := q.gets.Remove(q.gets.Front()).(chan answer[T])
		if q.queue.Len() == 0 {
			c <- answer[T]{shutdown: true}
			continue
		}
		item := q.queue.Pop()
		q.states[item].processing = true
		c <- answer[T]{item: item}
	}
	if len(q.states) == 0 {
		q.endDrains()
	}
}

func (q *Typed[T]) endDrains() {
	for c := range q.drains {
		close(c)
	}
	clear(q.drains)
}

// send sends a call to the actor, and starts one if there is none.
func (q *Typed[T]) send(call func()) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.inbox = append(q.inbox, call)
	if !q.running {
		q.running = true
		go q.act()
	}
}

// ask sends a call to the actor, and waits until it has run.
func (q *Typed[T]) ask(call func()) {
	done := make(chan struct{})
	q.send(func() {
		call()
		close(done)
	})
	<-done
}

func (q *Typed[T]) Add(item T) {
	q.ask(func() {
		s := q.states[item]
		switch {
		case q.closed:
		case s == nil:
			q.states[item] = &state{}
			q.queue.Push(item)
		case s.processing:
			s.again = true
		default:
			q.queue.Touch(item)
		}
	})
}

func (q *Typed[T]) Done(item T) {
	q.ask(func() {
		s := q.states[item]
		switch {
		case s == nil || !s.processing:
		case s.again:
			*s = state{}
			q.queue.Push(item)
		default:
			delete(q.states, item)
		}
	})
}

func (q *Typed[T]) Len() (n int) {
	q.ask(func() { n = q.queue.Len() })
	return n
}

func (q *Typed[T]) Get() (item T, shutdown bool) {
	c := make(chan answer[T], 1)
	q.send(func() { q.gets.PushBack(c) })
	a := <-c
	return a.item, a.shutdown
}

func (q *Typed[T]) ShutDown() {
	q.ask(func() {
		q.closed = true
		q.endDrains()
	})
}

func (q *Typed[T]) ShutDownWithDrain() {
	c := make(chan struct{})
	q.send(func() {
		q.closed = true
		q.drains[c] = true
	})
	<-c
}

func (q *Typed[T]) ShuttingDown() (closed bool) {
	q.ask(func() { closed = q.closed })
	return closed
}
