package workqueue_test

// This file has the helpers of the tests of chapter 06: a queue that notes each call, calls that may wait, and measures
// of memory. Tests see exported names only, so they run over your code, the solution and client-go.
//
// A test runs in a bubble (package synctest), in which time passes only when every goroutine waits. synctest.Wait
// returns when all other goroutines wait, so a call that has not returned by then never will by itself. And
// time.Sleep(time.Hour) takes no time.

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing/synctest"
	"time"
	"weak"

	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

// loggedQueue is a queue that notes each call as a step of the test. Its Get never waits.
type loggedQueue struct {
	clientgo.TypedInterface[string]
	t *guard.T
}

// newQueue makes a plain queue and adds items to it.
func newQueue(t *guard.T, items ...string) loggedQueue {
	q := loggedQueue{workqueue.NewTyped[string](), t}
	for _, item := range items {
		q.Add(item)
	}
	return q
}

// newDelayingQueue makes a delaying queue, which is shut down at the end of the test.
func newDelayingQueue(t *guard.T) loggedQueue {
	return delaying(t, clientgo.TypedDelayingQueueConfig[string]{})
}

func delaying(t *guard.T, config clientgo.TypedDelayingQueueConfig[string]) loggedQueue {
	q := workqueue.NewTypedDelayingQueueWithConfig(config)
	t.Cleanup(q.ShutDown)
	return loggedQueue{q, t}
}

// newRateLimitingQueue makes a rate-limiting queue, which is shut down at the end of the test.
func newRateLimitingQueue(t *guard.T, limiter clientgo.TypedRateLimiter[string]) loggedQueue {
	q := workqueue.NewTypedRateLimitingQueue(limiter)
	t.Cleanup(q.ShutDown)
	return loggedQueue{q, t}
}

func (q loggedQueue) Add(item string) {
	q.t.Did("Add %s", item)
	q.TypedInterface.Add(item)
}

func (q loggedQueue) Done(item string) {
	q.t.Did("Done %s", item)
	q.TypedInterface.Done(item)
}

func (q loggedQueue) ShutDown() {
	q.t.Did("ShutDown")
	q.TypedInterface.ShutDown()
}

func (q loggedQueue) Len() int {
	q.t.Did("Len")
	return q.TypedInterface.Len()
}

func (q loggedQueue) AddAfter(item string, delay time.Duration) {
	q.t.Did("AddAfter %s, %v", item, delay)
	q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter(item, delay)
}

func (q loggedQueue) AddRateLimited(item string) {
	q.t.Did("AddRateLimited %s", item)
	q.limited().AddRateLimited(item)
}

func (q loggedQueue) Forget(item string) {
	q.t.Did("Forget %s", item)
	q.limited().Forget(item)
}

func (q loggedQueue) NumRequeues(item string) int {
	q.t.Did("NumRequeues %s", item)
	return q.limited().NumRequeues(item)
}

func (q loggedQueue) limited() clientgo.TypedRateLimitingInterface[string] {
	return q.TypedInterface.(clientgo.TypedRateLimitingInterface[string])
}

// Get returns the item that the queue's Get returns, shutdown, or waits if the call does not return.
func (q loggedQueue) Get() string { return q.GetLater().result() }

// GetLater calls Get on a goroutine of its own.
func (q loggedQueue) GetLater() *call {
	q.t.Did("Get")
	return start(q.t, func() string { return answer(q.TypedInterface.Get()) })
}

// DrainLater calls ShutDownWithDrain on a goroutine of its own.
func (q loggedQueue) DrainLater() *call {
	q.t.Did("ShutDownWithDrain")
	return start(q.t, func() string { q.TypedInterface.ShutDownWithDrain(); return returned })
}

// All takes the items that are in the queue, and gives none of them back.
func (q loggedQueue) All() []string {
	items := []string{}
	for q.TypedInterface.Len() > 0 {
		items = append(items, q.Get())
	}
	return items
}

// pass lets time pass, and waits until the goroutines have done everything that is due.
func (q loggedQueue) pass(d time.Duration) {
	q.t.Did("%v pass", d)
	time.Sleep(d)
	synctest.Wait()
}

const (
	waits    = "nothing: it waits"
	shutdown = "shutdown"
	returned = "returned"
)

func answer(item string, down bool) string {
	if down {
		return shutdown
	}
	return item
}

// call is a call that may wait.
type call struct {
	lock   sync.Mutex
	answer string
}

func start(t *guard.T, f func() string) *call {
	c := &call{answer: waits}
	t.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				c.set(fmt.Sprintf("panic: %v", v))
			}
		}()
		c.set(f())
	})
	return c
}

func (c *call) set(answer string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.answer = answer
}

// result returns the result of the call, or waits if it cannot return without help from the test.
func (c *call) result() string {
	synctest.Wait()
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.answer
}

// results returns the results of several calls, sorted, since any of them may be served first.
func results(calls ...*call) []string {
	var all []string
	for _, c := range calls {
		all = append(all, c.result())
	}
	slices.Sort(all)
	return all
}

// payload is an item of some size.
type payload [1 << 10]byte

// stillHeld counts the payloads that are still in memory: "0 of 64 still in memory".
func stillHeld(all []weak.Pointer[payload]) string {
	held := 0
	for range 3 {
		runtime.GC()
		held = 0
		for _, p := range all {
			if p.Value() != nil {
				held++
			}
		}
	}
	if held <= 2 { // a register or a stack may hold one for a while
		held = 0
	}
	return fmt.Sprintf("%d of %d still in memory", held, len(all))
}

// memory returns the bytes in use after a garbage collection.
func memory() int {
	least := 0
	for i := range 3 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if inUse := int(stats.HeapAlloc); i == 0 || inUse < least {
			least = inUse
		}
	}
	return least
}

// ordered is a Queue for the config: it hands out items in alphabetical order, and notes those that are touched.
// It has no lock, because the queue's own guards it.
type ordered struct {
	items   []string
	touched []string
}

func (o *ordered) Touch(item string) { o.touched = append(o.touched, item) }
func (o *ordered) Push(item string) {
	o.items = append(o.items, item)
	slices.Sort(o.items)
}
func (o *ordered) Len() int { return len(o.items) }
func (o *ordered) Pop() string {
	first := o.items[0]
	o.items = o.items[1:]
	return first
}
