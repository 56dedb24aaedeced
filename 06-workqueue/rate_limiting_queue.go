package workqueue

// This file is the third layer, the one that controllers use: a limiter decides how long a failed item waits, and the
// delaying queue below delays it. It mirrors client-go's util/workqueue/rate_limiting_queue.go.

import (
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/todo"
)

// rateLimitingQueue implements workqueue.TypedRateLimitingInterface. Every method may be called from any goroutine.
type rateLimitingQueue[T comparable] struct {
	workqueue.TypedDelayingInterface[T] // the layer below
	limiter                             workqueue.TypedRateLimiter[T]
}

var _ workqueue.TypedRateLimitingInterface[string] = (*rateLimitingQueue[string])(nil)

// NewTypedRateLimitingQueue returns an empty queue. It mirrors workqueue.NewTypedRateLimitingQueue.
func NewTypedRateLimitingQueue[T comparable](
	limiter workqueue.TypedRateLimiter[T],
) workqueue.TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig returns a queue on top of config.DelayingQueue. If config.DelayingQueue is nil,
// the queue makes one with config.Clock. It mirrors workqueue.NewTypedRateLimitingQueueWithConfig.
func NewTypedRateLimitingQueueWithConfig[T comparable](
	limiter workqueue.TypedRateLimiter[T], config workqueue.TypedRateLimitingQueueConfig[T],
) workqueue.TypedRateLimitingInterface[T] {
	below := config.DelayingQueue
	if below == nil {
		below = NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{Clock: config.Clock})
	}
	return &rateLimitingQueue[T]{TypedDelayingInterface: below, limiter: limiter}
}

// AddRateLimited counts a failure of item, and adds it when the limiter's wait is over.
func (q *rateLimitingQueue[T]) AddRateLimited(item T) {
	panic(todo.Task(5, "RateLimitingQueue.AddRateLimited"))
}

// NumRequeues returns how many failures of item were counted since the last Forget.
func (q *rateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// Forget drops the failures of item, so its next failure counts as the first. It does not change the queue: a delayed
// item stays delayed, and an item being processed stays so until Done.
func (q *rateLimitingQueue[T]) Forget(item T) {
	panic(todo.Task(5, "RateLimitingQueue.Forget"))
}
