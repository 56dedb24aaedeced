package workqueue

// This file is the third layer, the one that controllers use: a limiter says when a failed item comes back, and the
// delaying queue below lets it wait. It mirrors client-go's util/workqueue/rate_limiting_queue.go.

import (
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/todo"
)

// rateLimitingQueue implements workqueue.TypedRateLimitingInterface. It has no state of its own and so no lock.
type rateLimitingQueue[T comparable] struct {
	// TypedDelayingInterface is the layer below, and does all the rest.
	workqueue.TypedDelayingInterface[T]
	limiter workqueue.TypedRateLimiter[T]
}

var _ workqueue.TypedRateLimitingInterface[string] = (*rateLimitingQueue[string])(nil)

// NewTypedRateLimitingQueue returns an empty queue. Mirrors workqueue.NewTypedRateLimitingQueue.
func NewTypedRateLimitingQueue[T comparable](
	limiter workqueue.TypedRateLimiter[T],
) workqueue.TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig returns a queue on top of config.DelayingQueue, or of a new one on config.Clock
// if there is none. Mirrors workqueue.NewTypedRateLimitingQueueWithConfig.
func NewTypedRateLimitingQueueWithConfig[T comparable](
	limiter workqueue.TypedRateLimiter[T], config workqueue.TypedRateLimitingQueueConfig[T],
) workqueue.TypedRateLimitingInterface[T] {
	panic(todo.Task(5, "NewTypedRateLimitingQueueWithConfig"))
}

// AddRateLimited counts a failure of item, and adds it when the limiter says so.
func (q *rateLimitingQueue[T]) AddRateLimited(item T) {
	panic(todo.Task(5, "RateLimitingQueue.AddRateLimited"))
}

// NumRequeues says how many failures of item were counted since the last Forget.
func (q *rateLimitingQueue[T]) NumRequeues(item T) int {
	panic(todo.Task(5, "RateLimitingQueue.NumRequeues"))
}

// Forget drops the failures of item: its next one is its first again. That is all. An item that waits goes on waiting,
// and one that is in hand still has to be given back with Done.
func (q *rateLimitingQueue[T]) Forget(item T) {
	panic(todo.Task(5, "RateLimitingQueue.Forget"))
}
