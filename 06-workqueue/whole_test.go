package workqueue_test

// This file makes calls overlap that rarely overlap by chance. If a method releases its lock too early, the next call
// runs at that moment. The tests compare the results with those of the same calls one after the other.

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

// scenario is a set of calls that overlap in one queue.
type scenario struct {
	name    string
	prepare []move
	moves   []move
	end     func(q plainQueue) // ends the calls that wait
}

type plainQueue = clientgo.TypedInterface[string]

// move is a call with a name. It returns the call's result.
type move struct {
	name string
	do   func(q plainQueue) string
}

func add(item string) move {
	return move{"Add " + item, func(q plainQueue) string { q.Add(item); return returned }}
}

func done(item string) move {
	return move{"Done " + item, func(q plainQueue) string { q.Done(item); return returned }}
}

var (
	get      = move{"Get", func(q plainQueue) string { return answer(q.Get()) }}
	shutDown = move{"ShutDown", func(q plainQueue) string { q.ShutDown(); return returned }}
	drain    = move{"ShutDownWithDrain", func(q plainQueue) string { q.ShutDownWithDrain(); return returned }}
)

// meet runs the scenario in lockstep, and requires the same outcome as some order of the calls.
func meet(t *guard.T, pulse *atomic.Int64, s scenario) {
	t.Story(8)
	var serial []string
	for _, order := range permutations(len(s.moves)) {
		serial = append(serial, s.outcome(t, func(_ *gate, q plainQueue, calls []*call) {
			for _, i := range order {
				calls[i] = start(t, func() string { return s.moves[i].do(q) })
				synctest.Wait()
			}
		}))
	}
	for _, m := range s.prepare {
		t.Did("%s", m.name)
	}
	t.Did("%s; each starts when the one before it releases the lock", s.name)
	got := s.outcome(t, func(g *gate, q plainQueue, calls []*call) { s.inTurns(t, pulse, g, q, calls) })
	slices.Sort(serial)
	if serial = slices.Compact(serial); !slices.Contains(serial, got) {
		require.Equal(t, strings.Join(serial, "\nor "), got, "the outcome of "+s.name)
	}
}

// outcome prepares a queue, lets run make the calls, and returns the results of the calls and the items that are left.
func (s scenario) outcome(t *guard.T, run func(g *gate, q plainQueue, calls []*call)) string {
	g := &gate{Queue: workqueue.DefaultQueue[string]()}
	q := workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: g})
	for _, m := range s.prepare {
		m.do(q)
	}
	calls := make([]*call, len(s.moves))
	run(g, q, calls)
	var results []string
	for i, m := range s.moves {
		if result := calls[i].result(); result != returned {
			results = append(results, m.name+": "+result)
		}
	}
	results = append(results, fmt.Sprint("in the queue: ", rest(t, q)))
	q.Done("web")
	results = append(results, fmt.Sprint("after Done web: ", rest(t, q)))
	for range calls {
		s.end(q)
	}
	synctest.Wait()
	return strings.Join(results, "; ")
}

// rest takes the items that are in the queue.
func rest(t *guard.T, q plainQueue) []string {
	synctest.Wait()
	var items []string
	for range q.Len() {
		items = append(items, start(t, func() string { return answer(q.Get()) }).result())
	}
	return items
}

// inTurns starts the calls one after the other while another call holds the lock. They wait for more than a
// millisecond. Then sync.Mutex gives the lock to the goroutine that has waited longest, even if one of them releases
// the lock and takes it again. The results are right in any order, so a queue without a mutex, or with another kind,
// passes too.
func (s scenario) inTurns(t *guard.T, pulse *atomic.Int64, g *gate, q plainQueue, calls []*call) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	g.closed.Store(2)
	holder := start(t, func() string {
		q.Len()
		q.Len() // gets the lock before the calls that wait, so they have waited for too long
		return returned
	})
	yield(func() bool { return g.waiting.Load() == 1 })
	for i, m := range s.moves {
		calls[i] = start(t, func() string { return m.do(q) })
		yield(func() bool { return false })
	}
	for then := pulse.Load() + 3; pulse.Load() < then; {
		runtime.Gosched()
	}
	g.closed.Add(-1)
	yield(func() bool { return g.waiting.Load() == 2 })
	yield(func() bool { return false })
	g.closed.Add(-1)
	holder.result()
}

// gate is a Queue for the config that stops its caller in Len. The first two calls have to wait.
type gate struct {
	clientgo.Queue[string]
	closed, waiting atomic.Int32
}

func (g *gate) Len() int {
	if closed := g.closed.Load(); closed > 0 {
		g.waiting.Add(1)
		for g.closed.Load() >= closed {
			runtime.Gosched()
		}
	}
	return g.Queue.Len()
}

// yield lets other goroutines run until enough returns true, or for many turns.
func yield(enough func() bool) {
	for range 300 {
		if enough() {
			return
		}
		runtime.Gosched()
	}
}

// during makes a call on another goroutine, and reports whether it has returned after many turns.
func during(t *guard.T, name string, f func()) string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so f runs whenever this goroutine yields
	var ended atomic.Bool
	t.Go(func() {
		f()
		ended.Store(true)
	})
	if yield(ended.Load); !ended.Load() {
		return name + " waits"
	}
	return name + " has returned"
}

// inLine lets four goroutines call f while a lock is held, and returns when they are finished. As in inTurns, the lock
// is then handed from one to the next, even between two holds of one call. It is held by several calls of hold in a
// row, for an item that takes longer to find in a map than the 10ms after which the other goroutines get their turn.
func inLine(t *guard.T, hold func(item any), f func(worker int)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	item := slow()
	var waiting atomic.Bool
	calls := []*call{start(t, func() string {
		for i, more := 0, 3; i < 8 && more > 0; i++ {
			hold(item)
			if waiting.Load() {
				more--
			}
		}
		return returned
	})}
	runtime.Gosched()
	for worker := range 4 {
		calls = append(calls, start(t, func() string { f(worker); return returned }))
	}
	runtime.Gosched()
	waiting.Store(true)
	results(calls...)
}

// slow returns an item that takes long to find in a map: its hash reads more than a million strings.
func slow() any {
	item := any("web")
	for range 3 {
		var items [112]any
		for i := range items {
			items[i] = item
		}
		item = items
	}
	return item
}

// milliseconds counts the milliseconds of real time. A bubble has a clock of its own.
func milliseconds(t *testing.T) *atomic.Int64 {
	var n atomic.Int64
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				n.Add(1)
			}
		}
	}()
	return &n
}

// permutations returns all orders of the numbers from 0 to n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), i, n-1))
		}
	}
	return all
}

func TestTask1_Every_method_changes_all_or_nothing(t *testing.T) {
	pulse := milliseconds(t)
	guard.Test(t, "Every method may be called from any goroutine: each makes its whole change under one hold of the "+
		"lock.", func(t *guard.T) {
		end := func(q plainQueue) { q.Add(fmt.Sprint("for a Get that waits, number ", q.Len())) }
		for _, s := range []scenario{
			{"Get, Add web, Get", []move{add("web")}, []move{get, add("web"), get}, end},
			{"Get, Get, Add db", []move{add("web")}, []move{get, get, add("db")}, end},
			{"Add web, Add web", nil, []move{add("web"), add("web")}, end},
			{"Add web, Get, Add web", nil, []move{add("web"), get, add("web")}, end},
			{"Done web, Add web", []move{add("web"), get}, []move{done("web"), add("web")}, end},
			{"Add web, Done web", []move{add("web"), get}, []move{add("web"), done("web")}, end},
			{"Done web, Get, Add web", []move{add("web"), get, add("web")}, []move{done("web"), get, add("web")}, end},
		} {
			meet(t, pulse, s)
		}
	})
}

func TestTask2_Every_method_changes_all_or_nothing(t *testing.T) {
	pulse := milliseconds(t)
	guard.Test(t, "Every method may be called from any goroutine: each makes its whole change under one hold of "+
		"the lock. No worker would take an item that is added after a Get has returned "+
		"shutdown.", func(t *guard.T) {
		end := func(q plainQueue) { q.ShutDown() }
		for _, s := range []scenario{
			{"Add web, ShutDown, Get", nil, []move{add("web"), shutDown, get}, end},
			{"Add web, ShutDownWithDrain, Get", nil, []move{add("web"), drain, get}, end},
			{"Get, ShutDown, Get", []move{add("web")}, []move{get, shutDown, get}, end},
			{"Add web, ShutDown, Done web", []move{add("web"), get}, []move{add("web"), shutDown, done("web")}, end},
			{"Done web, ShutDownWithDrain", []move{add("web"), get, add("web")}, []move{done("web"), drain}, end},
			{"Get, ShutDownWithDrain", []move{add("web")}, []move{get, drain}, end},
			{"ShutDownWithDrain, Done web", []move{add("web"), get}, []move{drain, done("web")}, end},
			{"ShutDownWithDrain, ShutDown", []move{add("web"), get}, []move{drain, shutDown}, end},
		} {
			meet(t, pulse, s)
		}
	})
}
