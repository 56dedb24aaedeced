package workqueue

// This file says how long a failed item waits for its next try. It stands beside the queues: a limiter only answers
// with a time, and rate_limiting_queue.go lets the item wait. It mirrors client-go's
// util/workqueue/default_rate_limiters.go, without TypedItemFastSlowRateLimiter.

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/todo"
)

// TypedItemExponentialFailureRateLimiter implements workqueue.TypedRateLimiter. Each failure of an item doubles its
// wait, up to a maximum, and no item knows of the others. Its methods may be called from any goroutine.
type TypedItemExponentialFailureRateLimiter[T comparable] struct {
	baseDelay time.Duration
	maxDelay  time.Duration

	// lock guards failures.
	lock sync.Mutex
	// failures counts how often When was asked for an item since its last Forget. An item without failures is not in it.
	failures map[T]int
}

// NewTypedItemExponentialFailureRateLimiter returns a limiter whose waits for an item are baseDelay, 2·baseDelay,
// 4·baseDelay and so on, and never more than maxDelay. Mirrors workqueue.NewTypedItemExponentialFailureRateLimiter.
func NewTypedItemExponentialFailureRateLimiter[T comparable](
	baseDelay, maxDelay time.Duration,
) workqueue.TypedRateLimiter[T] {
	return &TypedItemExponentialFailureRateLimiter[T]{baseDelay: baseDelay, maxDelay: maxDelay, failures: map[T]int{}}
}

// When counts one more failure of item, and says how long it waits for its next try. It never overflows, however often
// it is called.
func (r *TypedItemExponentialFailureRateLimiter[T]) When(item T) time.Duration {
	panic(todo.Task(4, "TypedItemExponentialFailureRateLimiter.When"))
}

// NumRequeues says how many failures of item were counted since the last Forget.
func (r *TypedItemExponentialFailureRateLimiter[T]) NumRequeues(item T) int {
	panic(todo.Task(4, "TypedItemExponentialFailureRateLimiter.NumRequeues"))
}

// Forget drops what was counted for item: it starts from baseDelay again.
func (r *TypedItemExponentialFailureRateLimiter[T]) Forget(item T) {
	panic(todo.Task(4, "TypedItemExponentialFailureRateLimiter.Forget"))
}

// TypedBucketRateLimiter implements workqueue.TypedRateLimiter: a token bucket that all items share. It knows no item,
// so it has nothing to forget.
type TypedBucketRateLimiter[T comparable] struct {
	*rate.Limiter
}

// When reserves the next token, and says how long it takes until it is there.
func (r *TypedBucketRateLimiter[T]) When(item T) time.Duration {
	panic(todo.Task(4, "TypedBucketRateLimiter.When"))
}

// NumRequeues is always 0.
func (r *TypedBucketRateLimiter[T]) NumRequeues(item T) int { return 0 }

// Forget does nothing.
func (r *TypedBucketRateLimiter[T]) Forget(item T) {}

// TypedMaxOfRateLimiter implements workqueue.TypedRateLimiter: the strictest of several.
type TypedMaxOfRateLimiter[T comparable] struct {
	limiters []workqueue.TypedRateLimiter[T]
}

// NewTypedMaxOfRateLimiter returns a limiter that asks all the given ones. Mirrors workqueue.NewTypedMaxOfRateLimiter.
func NewTypedMaxOfRateLimiter[T comparable](limiters ...workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimiter[T] {
	return &TypedMaxOfRateLimiter[T]{limiters: limiters}
}

// When asks every limiter, since each has to count the failure, and says the longest of their waits. Without limiters
// that is 0.
func (r *TypedMaxOfRateLimiter[T]) When(item T) time.Duration {
	panic(todo.Task(4, "TypedMaxOfRateLimiter.When"))
}

// NumRequeues says the largest number that one of the limiters has counted.
func (r *TypedMaxOfRateLimiter[T]) NumRequeues(item T) int {
	panic(todo.Task(4, "TypedMaxOfRateLimiter.NumRequeues"))
}

// Forget lets every limiter forget item.
func (r *TypedMaxOfRateLimiter[T]) Forget(item T) {
	panic(todo.Task(4, "TypedMaxOfRateLimiter.Forget"))
}

// TypedWithMaxWaitRateLimiter implements workqueue.TypedRateLimiter: another limiter, but no wait of it is longer than
// a maximum.
type TypedWithMaxWaitRateLimiter[T comparable] struct {
	limiter  workqueue.TypedRateLimiter[T]
	maxDelay time.Duration
}

// NewTypedWithMaxWaitRateLimiter returns limiter with its waits cut at maxDelay. Mirrors
// workqueue.NewTypedWithMaxWaitRateLimiter.
func NewTypedWithMaxWaitRateLimiter[T comparable](
	limiter workqueue.TypedRateLimiter[T], maxDelay time.Duration,
) workqueue.TypedRateLimiter[T] {
	return &TypedWithMaxWaitRateLimiter[T]{limiter: limiter, maxDelay: maxDelay}
}

// When says what the limiter says, and at most the maximum.
func (r TypedWithMaxWaitRateLimiter[T]) When(item T) time.Duration {
	panic(todo.Task(4, "TypedWithMaxWaitRateLimiter.When"))
}

// NumRequeues says what the limiter says.
func (r TypedWithMaxWaitRateLimiter[T]) NumRequeues(item T) int {
	panic(todo.Task(4, "TypedWithMaxWaitRateLimiter.NumRequeues"))
}

// Forget lets the limiter forget item.
func (r TypedWithMaxWaitRateLimiter[T]) Forget(item T) {
	panic(todo.Task(4, "TypedWithMaxWaitRateLimiter.Forget"))
}

// DefaultTypedControllerRateLimiter returns what most controllers use: for each item 5ms, doubled up to 1000s, and for
// all together 10 tries a second, with a hundred at once after a rest. Mirrors
// workqueue.DefaultTypedControllerRateLimiter.
func DefaultTypedControllerRateLimiter[T comparable]() workqueue.TypedRateLimiter[T] {
	panic(todo.Task(4, "DefaultTypedControllerRateLimiter"))
}

// DefaultTypedItemBasedRateLimiter returns a limiter for each item alone: 1ms, doubled up to 1000s. Mirrors
// workqueue.DefaultTypedItemBasedRateLimiter.
func DefaultTypedItemBasedRateLimiter[T comparable]() workqueue.TypedRateLimiter[T] {
	panic(todo.Task(4, "DefaultTypedItemBasedRateLimiter"))
}
