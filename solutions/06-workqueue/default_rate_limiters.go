package workqueue

// This file decides how long a failed item waits for its next retry. A limiter only returns a duration, and
// rate_limiting_queue.go delays the item. It mirrors client-go's util/workqueue/default_rate_limiters.go, without
// TypedItemFastSlowRateLimiter.
//
//workshop:file task 4

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
)

// TypedItemExponentialFailureRateLimiter implements workqueue.TypedRateLimiter. Each failure of an item doubles its
// wait, up to a maximum. Items do not affect each other. Every method may be called from any goroutine.
type TypedItemExponentialFailureRateLimiter[T comparable] struct {
	baseDelay time.Duration
	maxDelay  time.Duration

	lock     sync.Mutex // guards failures
	failures map[T]int
}

// NewTypedItemExponentialFailureRateLimiter returns a limiter whose waits for an item are baseDelay, 2·baseDelay,
// 4·baseDelay and so on, and never more than maxDelay. It mirrors workqueue.NewTypedItemExponentialFailureRateLimiter.
//
//workshop:keep
func NewTypedItemExponentialFailureRateLimiter[T comparable](
	baseDelay, maxDelay time.Duration,
) workqueue.TypedRateLimiter[T] {
	return &TypedItemExponentialFailureRateLimiter[T]{baseDelay: baseDelay, maxDelay: maxDelay, failures: map[T]int{}}
}

// When counts a failure of item and returns its wait: baseDelay after the first failure, doubled by each further one,
// and never more than maxDelay. The failures of other items do not count. It never overflows, however often it is
// called.
func (r *TypedItemExponentialFailureRateLimiter[T]) When(item T) time.Duration {
	r.lock.Lock()
	defer r.lock.Unlock()
	failures := r.failures[item]
	r.failures[item] = failures + 1
	// Halving the maximum cannot overflow. Doubling the base can, and the result was once 0 (#31396).
	if r.baseDelay > r.maxDelay>>failures {
		return r.maxDelay
	}
	return r.baseDelay << failures
}

// NumRequeues returns how many failures of item were counted since the last Forget.
func (r *TypedItemExponentialFailureRateLimiter[T]) NumRequeues(item T) int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.failures[item]
}

// Forget drops the failures of item, so its next wait is baseDelay.
func (r *TypedItemExponentialFailureRateLimiter[T]) Forget(item T) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.failures, item)
}

// TypedBucketRateLimiter implements workqueue.TypedRateLimiter: a token bucket that all items share. It does not count
// failures of single items, so it has nothing to forget.
type TypedBucketRateLimiter[T comparable] struct {
	*rate.Limiter
}

// When takes the next token of the bucket, which all items share, and returns the time until that token exists.
func (r *TypedBucketRateLimiter[T]) When(item T) time.Duration { return r.Limiter.Reserve().Delay() }

// NumRequeues is always 0.
//
//workshop:keep
func (r *TypedBucketRateLimiter[T]) NumRequeues(item T) int { return 0 }

// Forget has no effect.
//
//workshop:keep
func (r *TypedBucketRateLimiter[T]) Forget(item T) {}

// TypedMaxOfRateLimiter implements workqueue.TypedRateLimiter. It asks several limiters, and the longest wait counts.
type TypedMaxOfRateLimiter[T comparable] struct {
	limiters []workqueue.TypedRateLimiter[T]
}

// NewTypedMaxOfRateLimiter returns a limiter that asks all of limiters. It mirrors workqueue.NewTypedMaxOfRateLimiter.
//
//workshop:keep
func NewTypedMaxOfRateLimiter[T comparable](limiters ...workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimiter[T] {
	return &TypedMaxOfRateLimiter[T]{limiters: limiters}
}

// When returns the longest wait of all limiters, and each of them counts the failure. Without limiters the wait is 0.
func (r *TypedMaxOfRateLimiter[T]) When(item T) time.Duration {
	var longest time.Duration
	for _, limiter := range r.limiters {
		longest = max(longest, limiter.When(item))
	}
	return longest
}

// NumRequeues returns the largest number of failures that one of the limiters has counted.
func (r *TypedMaxOfRateLimiter[T]) NumRequeues(item T) int {
	var most int
	for _, limiter := range r.limiters {
		most = max(most, limiter.NumRequeues(item))
	}
	return most
}

// Forget makes every limiter forget item.
func (r *TypedMaxOfRateLimiter[T]) Forget(item T) {
	for _, limiter := range r.limiters {
		limiter.Forget(item)
	}
}

// TypedWithMaxWaitRateLimiter implements workqueue.TypedRateLimiter: another limiter, whose waits are cut at a maximum.
type TypedWithMaxWaitRateLimiter[T comparable] struct {
	limiter  workqueue.TypedRateLimiter[T]
	maxDelay time.Duration
}

// NewTypedWithMaxWaitRateLimiter returns limiter with its waits cut at maxDelay. It mirrors
// workqueue.NewTypedWithMaxWaitRateLimiter.
//
//workshop:keep
func NewTypedWithMaxWaitRateLimiter[T comparable](
	limiter workqueue.TypedRateLimiter[T], maxDelay time.Duration,
) workqueue.TypedRateLimiter[T] {
	return &TypedWithMaxWaitRateLimiter[T]{limiter: limiter, maxDelay: maxDelay}
}

// When returns the wait of the inner limiter, or maxDelay if that is shorter.
func (r TypedWithMaxWaitRateLimiter[T]) When(item T) time.Duration {
	return min(r.limiter.When(item), r.maxDelay)
}

// NumRequeues returns the number of failures that the inner limiter has counted.
//
//workshop:keep
func (r TypedWithMaxWaitRateLimiter[T]) NumRequeues(item T) int { return r.limiter.NumRequeues(item) }

// Forget makes the inner limiter forget item.
//
//workshop:keep
func (r TypedWithMaxWaitRateLimiter[T]) Forget(item T) { r.limiter.Forget(item) }

// DefaultTypedControllerRateLimiter returns the limiter of most controllers: for each item 5ms, doubled up to 1000s,
// and for all items together 10 retries a second, with a hundred at once after a pause. It mirrors
// workqueue.DefaultTypedControllerRateLimiter.
func DefaultTypedControllerRateLimiter[T comparable]() workqueue.TypedRateLimiter[T] {
	return NewTypedMaxOfRateLimiter(
		NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second),
		&TypedBucketRateLimiter[T]{Limiter: rate.NewLimiter(rate.Limit(10), 100)},
	)
}

// DefaultTypedItemBasedRateLimiter returns a limiter that counts for each item alone: 1ms, doubled up to 1000s. It
// mirrors workqueue.DefaultTypedItemBasedRateLimiter.
//
//workshop:keep
func DefaultTypedItemBasedRateLimiter[T comparable]() workqueue.TypedRateLimiter[T] {
	return NewTypedItemExponentialFailureRateLimiter[T](time.Millisecond, 1000*time.Second)
}
