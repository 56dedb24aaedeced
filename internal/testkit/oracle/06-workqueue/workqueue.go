// Package workqueue puts client-go behind the names of chapter 06, so that the chapter's tests run over the real thing.
// It only names things. If client-go fails a test, the test is wrong.
package workqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

type (
	Typed[T comparable]                                  = workqueue.Typed[T]
	TypedItemExponentialFailureRateLimiter[T comparable] = workqueue.TypedItemExponentialFailureRateLimiter[T]
	TypedBucketRateLimiter[T comparable]                 = workqueue.TypedBucketRateLimiter[T]
	TypedMaxOfRateLimiter[T comparable]                  = workqueue.TypedMaxOfRateLimiter[T]
	TypedWithMaxWaitRateLimiter[T comparable]            = workqueue.TypedWithMaxWaitRateLimiter[T]
)

func DefaultQueue[T comparable]() workqueue.Queue[T] { return workqueue.DefaultQueue[T]() }

func NewTyped[T comparable]() *Typed[T] { return workqueue.NewTyped[T]() }

func NewTypedWithConfig[T comparable](config workqueue.TypedQueueConfig[T]) *Typed[T] {
	return workqueue.NewTypedWithConfig(config)
}

func NewTypedDelayingQueue[T comparable]() workqueue.TypedDelayingInterface[T] {
	return workqueue.NewTypedDelayingQueue[T]()
}

func NewTypedDelayingQueueWithConfig[T comparable](
	config workqueue.TypedDelayingQueueConfig[T]) workqueue.TypedDelayingInterface[T] {
	return workqueue.NewTypedDelayingQueueWithConfig(config)
}

func NewTypedItemExponentialFailureRateLimiter[T comparable](
	baseDelay, maxDelay time.Duration) workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](baseDelay, maxDelay)
}

func NewTypedMaxOfRateLimiter[T comparable](limiters ...workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedMaxOfRateLimiter(limiters...)
}

func NewTypedWithMaxWaitRateLimiter[T comparable](limiter workqueue.TypedRateLimiter[T],
	maxDelay time.Duration) workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedWithMaxWaitRateLimiter(limiter, maxDelay)
}

func DefaultTypedControllerRateLimiter[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.DefaultTypedControllerRateLimiter[T]()
}

func DefaultTypedItemBasedRateLimiter[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.DefaultTypedItemBasedRateLimiter[T]()
}

func NewTypedRateLimitingQueue[T comparable](
	limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return workqueue.NewTypedRateLimitingQueue(limiter)
}

func NewTypedRateLimitingQueueWithConfig[T comparable](limiter workqueue.TypedRateLimiter[T],
	config workqueue.TypedRateLimitingQueueConfig[T]) workqueue.TypedRateLimitingInterface[T] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)
}
