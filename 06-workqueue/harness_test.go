package workqueue_test

// This file has the helpers of the tests of chapter 06: a queue that records each call, calls that may wait, and
// measures of memory. Tests use exported names only, so they run over your code, the solution and client-go.
//
// A test runs in a bubble (package synctest), in which time passes only when every goroutine waits, so
// time.Sleep(time.Hour) takes no time. synctest.Wait returns when all other goroutines wait. A call that has not
// returned by then never returns by itself.

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
	"weak"

	clientgo "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

// loggedQueue is a queue that records each call as a step of the test. Its Get never waits.
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
	t.Cleanup(func() { endQueue(t, q) })
	return loggedQueue{q, t}
}

// newRateLimitingQueue makes a rate-limiting queue, which is shut down at the end of the test.
func newRateLimitingQueue(t *guard.T, limiter clientgo.TypedRateLimiter[string]) loggedQueue {
	q := workqueue.NewTypedRateLimitingQueue(limiter)
	t.Cleanup(func() { endQueue(t, q) })
	return loggedQueue{q, t}
}

// endQueue shuts a queue down at the end of the test.
func endQueue(t *guard.T, q clientgo.TypedInterface[string]) {
	t.Rule("ShutDown and ShutDownWithDrain leave no goroutine and no timer behind.")
	q.ShutDown()
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
	q.delayed().AddAfter(item, delay)
}

// delayed returns the queue itself, whose calls are not recorded.
func (q loggedQueue) delayed() clientgo.TypedDelayingInterface[string] {
	return q.TypedInterface.(clientgo.TypedDelayingInterface[string])
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

// Get returns the result of the queue's Get: an item or shutdown. It returns waits if the call does not return.
func (q loggedQueue) Get() string { return q.GetLater().result() }

// GetLater calls Get on a new goroutine.
func (q loggedQueue) GetLater() *call {
	q.t.Did("Get")
	return start(q.t, func() string { return answer(q.TypedInterface.Get()) })
}

// DrainLater calls ShutDownWithDrain on a new goroutine.
func (q loggedQueue) DrainLater() *call {
	q.t.Did("ShutDownWithDrain")
	return start(q.t, func() string { q.TypedInterface.ShutDownWithDrain(); return returned })
}

// All gets the items that are in the queue, and calls Done for none of them. It ends at a Get that waits, because then
// Len counts items that are not queued.
func (q loggedQueue) All() []string {
	items := []string{}
	for q.TypedInterface.Len() > 0 {
		item := q.Get()
		items = append(items, item)
		if item == waits {
			break
		}
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
	switch {
	case down && item != "":
		return shutdown + ", with the item " + item
	case down:
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

// result returns the result of the call. It returns waits if the call cannot return before the test does more.
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

// ordered is a Queue for the config. It returns items in alphabetical order, and records the touched items. It needs no
// lock, because the lock of Typed guards it.
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

// crowded is a Queue for the config that counts its calls. It starts rival calls in the middle of a call, and records
// those that overlap with another one.
type crowded struct {
	clientgo.Queue[string]
	t      *guard.T
	rivals []func()
	before int // how many calls of a method pass before the rivals start
	passed int
	inside atomic.Int32
	met    []string
	calls  int
}

// crowd makes a call and starts the rivals in the middle of it. It returns when their calls have ended too. If the call
// does not use the queue so often, no rival starts.
func (c *crowded) crowd(t *guard.T, rivals []func(), call func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the rivals run whenever the call yields
	c.t, c.rivals, c.passed = t, rivals, 0
	call()
	synctest.Wait()
	c.rivals = nil
}

func (c *crowded) enter(name string) (leave func()) {
	c.calls++
	if c.inside.Add(1) > 1 {
		c.met = append(c.met, name)
	}
	var rivals []func()
	if c.passed++; c.passed > c.before {
		rivals, c.rivals = c.rivals, nil
	}
	for _, rival := range rivals {
		c.t.Go(rival)
	}
	if rivals != nil {
		yield(func() bool { return false })
	}
	return func() { c.inside.Add(-1) }
}

func (c *crowded) Touch(item string) { defer c.enter("Touch")(); c.Queue.Touch(item) }
func (c *crowded) Push(item string)  { defer c.enter("Push")(); c.Queue.Push(item) }
func (c *crowded) Pop() string       { defer c.enter("Pop")(); return c.Queue.Pop() }
func (c *crowded) Len() int          { defer c.enter("Len")(); return c.Queue.Len() }

// hooked is a layer below that calls functions of the test: hook before each of its methods, and after at their end.
// Both get the method's name.
type hooked struct {
	clientgo.TypedInterface[string]
	hook, after func(method string)
}

// once returns a hook that calls f in the first call of a method.
func once(method string, f func()) func(string) {
	var called atomic.Bool
	return func(name string) {
		if name == method && called.CompareAndSwap(false, true) {
			f()
		}
	}
}

// enter calls hook, and returns the layer and the call of after.
func (h *hooked) enter(method string) (below clientgo.TypedInterface[string], leave func()) {
	if h.hook != nil {
		h.hook(method)
	}
	return h.TypedInterface, func() {
		if h.after != nil {
			h.after(method)
		}
	}
}

func (h *hooked) Add(item string) {
	below, leave := h.enter("Add")
	below.Add(item)
	leave()
}

func (h *hooked) ShuttingDown() bool {
	below, leave := h.enter("ShuttingDown")
	defer leave()
	return below.ShuttingDown()
}

func (h *hooked) ShutDown() {
	below, leave := h.enter("ShutDown")
	below.ShutDown()
	leave()
}

func (h *hooked) ShutDownWithDrain() {
	below, leave := h.enter("ShutDownWithDrain")
	below.ShutDownWithDrain()
	leave()
}

// countedClock is the bubble's clock. It counts the calls of its methods.
type countedClock struct {
	clock clock.RealClock
	calls atomic.Int64
}

func (c *countedClock) count() clock.RealClock { c.calls.Add(1); return c.clock }

func (c *countedClock) Now() time.Time                         { return c.count().Now() }
func (c *countedClock) Since(t time.Time) time.Duration        { return c.count().Since(t) }
func (c *countedClock) After(d time.Duration) <-chan time.Time { return c.count().After(d) }
func (c *countedClock) NewTimer(d time.Duration) clock.Timer   { return c.count().NewTimer(d) }
func (c *countedClock) NewTicker(d time.Duration) clock.Ticker { return c.count().NewTicker(d) }
func (c *countedClock) Tick(d time.Duration) <-chan time.Time  { return c.count().Tick(d) }
func (c *countedClock) Sleep(d time.Duration)                  { c.count().Sleep(d) }
func (c *countedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.count().AfterFunc(d, f)
}
