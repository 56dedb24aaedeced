package workqueue_test

// This file is what the tests of chapter 06 are written with: a queue that tells what was done to it, calls that may
// wait, and clocks that wait for nobody. Tests see exported names only, so they run over your code, the solution and
// client-go.
//
// A test runs in a bubble (package synctest), in which time passes only when everybody waits. synctest.Wait returns when
// all others wait, so a call that has not returned by then never will by itself. And time.Sleep(time.Hour) takes no time.

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

// told is a queue that notes each call, so that a failing test can tell how it got there. Its Get never waits.
type told struct {
	clientgo.TypedInterface[string]
	t *guard.T
}

// newQueue makes a plain queue and adds items to it.
func newQueue(t *guard.T, items ...string) told {
	q := told{workqueue.NewTyped[string](), t}
	for _, item := range items {
		q.Add(item)
	}
	return q
}

// newDelayingQueue makes a delaying queue, which is shut down when the test is over.
func newDelayingQueue(t *guard.T) told {
	return delaying(t, clientgo.TypedDelayingQueueConfig[string]{})
}

func delaying(t *guard.T, config clientgo.TypedDelayingQueueConfig[string]) told {
	q := workqueue.NewTypedDelayingQueueWithConfig(config)
	t.Cleanup(q.ShutDown)
	return told{q, t}
}

// newRateLimitingQueue makes a rate-limiting queue, which is shut down when the test is over.
func newRateLimitingQueue(t *guard.T, limiter clientgo.TypedRateLimiter[string]) told {
	q := workqueue.NewTypedRateLimitingQueue(limiter)
	t.Cleanup(q.ShutDown)
	return told{q, t}
}

func (q told) Add(item string) {
	q.t.Did("Add %s", item)
	q.TypedInterface.Add(item)
}

func (q told) Done(item string) {
	q.t.Did("Done %s", item)
	q.TypedInterface.Done(item)
}

func (q told) ShutDown() {
	q.t.Did("ShutDown")
	q.TypedInterface.ShutDown()
}

func (q told) Len() int {
	q.t.Did("Len")
	return q.TypedInterface.Len()
}

func (q told) AddAfter(item string, delay time.Duration) {
	q.t.Did("AddAfter %s, %v", item, delay)
	q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter(item, delay)
}

func (q told) AddRateLimited(item string) {
	q.t.Did("AddRateLimited %s", item)
	q.limited().AddRateLimited(item)
}

func (q told) Forget(item string) {
	q.t.Did("Forget %s", item)
	q.limited().Forget(item)
}

func (q told) NumRequeues(item string) int {
	q.t.Did("NumRequeues %s", item)
	return q.limited().NumRequeues(item)
}

func (q told) limited() clientgo.TypedRateLimitingInterface[string] {
	return q.TypedInterface.(clientgo.TypedRateLimitingInterface[string])
}

// Get says what Get returns: an item, shutdown, or that it waits, if it does.
func (q told) Get() string { return q.GetLater().result() }

// GetLater calls Get on a goroutine of its own.
func (q told) GetLater() *call {
	q.t.Did("Get")
	return start(q.t, func() string { return answer(q.TypedInterface.Get()) })
}

// DrainLater calls ShutDownWithDrain on a goroutine of its own.
func (q told) DrainLater() *call {
	q.t.Did("ShutDownWithDrain")
	return start(q.t, func() string { q.TypedInterface.ShutDownWithDrain(); return returned })
}

// All takes whatever is there, without giving anything back.
func (q told) All() []string {
	items := []string{}
	for q.TypedInterface.Len() > 0 {
		items = append(items, q.Get())
	}
	return items
}

// pass lets time pass, and whatever is due then happen.
func (q told) pass(d time.Duration) {
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

// result is what the call has come to, when everybody has done what they can.
func (c *call) result() string {
	synctest.Wait()
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.answer
}

// results are those of several calls, sorted, since nobody can say which of them is served first.
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

// stillHeld says how many of the payloads are still in memory: "0 of 64 still in memory".
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

// memory is how much is in use, in bytes, after all that can be freed was freed.
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

// ordered is a Queue of the kind that the config's field is for: the item that comes first in the alphabet goes first,
// and what is touched is noted. It has no lock, as it should need none.
type ordered struct {
	items   []string
	touched []string
}

func (o *ordered) Touch(item string) { o.touched = append(o.touched, item) }
func (o *ordered) touches() string   { return fmt.Sprint("calls of Touch: ", o.touched) }
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
