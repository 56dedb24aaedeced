package deltafifo_test

// Task 5, concurrent calls: they find a lock that is released too early. The tests of the whole chapter are in
// task5_whole_test.go.

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

// meeting is a queue for two concurrent calls, and its store.
type meeting struct {
	recordedQueue
	known  *store
	popped []string // written by process functions
}

// aCall is a call on the queue of a meeting.
type aCall struct {
	name string
	run  func(m *meeting) error
}

// meetingCalls returns the calls that change the queue.
func meetingCalls() []aCall {
	event := func(name string, call func(q cache.Queue, obj any) error, obj string) aCall {
		return aCall{name + " " + obj, func(m *meeting) error { return call(m.Queue, deploy(obj)) }}
	}
	return []aCall{
		event("Add", cache.Queue.Add, "default/new@7"),
		event("Update", cache.Queue.Update, "default/known@7"),
		event("Delete", cache.Queue.Delete, "default/a@8"),
		event("Delete", cache.Queue.Delete, "default/known@8"),
		event("Delete", cache.Queue.Delete, "default/listed@8"), // not known, unless Replace comes first
		{"Replace with [default/b@9 default/listed@9]", func(m *meeting) error {
			return m.Queue.Replace(deploys("default/b@9", "default/listed@9"), "9")
		}},
		{"Replace with []", func(m *meeting) error { return m.Queue.Replace(nil, "9") }},
		{"Resync", func(m *meeting) error { return m.Queue.Resync() }},
		{"Close", func(m *meeting) error { m.Close(); return nil }},
		{"Pop", func(m *meeting) error {
			_, err := m.Pop(func(obj any, initial bool) error {
				line := fmt.Sprintf("%s (first list: %t)", showDeltas(obj), initial)
				m.popped = append(m.popped, line)
				m.known.take(obj)
				return nil
			})
			return err
		}},
	}
}

// newMeeting makes a queue without a list or event. Its first three keys are for hold; then come the pending ones. It
// replaces the known objects by those of known.
func newMeeting(t *guard.T, new func(known *store) recordedQueue, pending, known []string) *meeting {
	m := &meeting{known: storeOf()}
	m.recordedQueue = new(m.known)
	for _, key := range append([]string{"hold/1", "hold/2", "hold/3"}, pending...) { // Resync has no order
		m.known.objs[key] = deploy(key + "@1")
		require.NoError(t, m.Queue.Resync(), "the error of Resync")
	}
	m.known.objs = storeOf(known...).objs
	return m
}

// hold pops a key and calls during with the lock held.
func (m *meeting) hold(during func()) {
	_, _ = m.Pop(func(any, bool) error { during(); return nil })
}

// outcome returns everything that a consumer can see after the calls: what was popped, and what is left. Replace and
// Resync queue their deletions and Syncs in any order, so it sorts neighbours that begin with one of these.
func (m *meeting) outcome() []string {
	m.popped = append(m.popped, fmt.Sprintf("synced: %t", m.HasSynced()))
	left := m.drain()
	anyOrder := func(i int) bool {
		_, deltas, _ := strings.Cut(left[i], ": ")
		return strings.HasPrefix(deltas, "Deleted tombstone") || strings.HasPrefix(deltas, "Sync")
	}
	for from := 0; from < len(left); from++ {
		to := from
		for to < len(left) && anyOrder(to) {
			to++
		}
		slices.Sort(left[from:to])
		from = to
	}
	return append(m.popped, left...)
}

// meet makes calls wait for the queue's lock, in this order. They wait for more than a millisecond, so Go's Mutex hands
// the lock over to the next waiting goroutine. If one call releases the lock in the middle, the next gets it there. On
// a busy machine the handover may fail: met is false then.
func (m *meeting) meet(t *guard.T, pause func(), calls ...aCall) (errs []error, met bool) {
	errs = make([]error, len(calls))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	held := false
	m.hold(func() {
		t.Go(func() { m.hold(func() { met = held }) })
		yield()
		pause()
	})
	m.hold(func() {
		held = true
		yield() // the waiting goroutine finds the lock taken, and asks for a handover
		for i, call := range calls {
			t.Go(func() { errs[i] = call.run(m) })
			yield()
		}
		pause()
	})
	synctest.Wait()
	return errs, met
}

// untilMet calls try until its calls have met, three times at most. With a lock that is not a Mutex they may meet, and
// try does not know.
func untilMet(try func() (met bool)) {
	for range 3 {
		if try() {
			return
		}
	}
}

// yield lets the other goroutines run until they wait. It is for one processor.
func yield() {
	for range 100 {
		runtime.Gosched()
	}
}

// realPause returns a function that blocks for more than a millisecond of real time, in a bubble too.
func realPause(t *testing.T) (pause func()) {
	asked, over := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(asked) })
	go func() {
		for range asked {
			time.Sleep(1200 * time.Microsecond)
			over <- struct{}{}
		}
	}()
	return func() {
		asked <- struct{}{}
		<-over
	}
}

// checkMeetings requires that any two concurrent calls have the same effect as if one came after the other.
func checkMeetings(t *guard.T, pause func(), new func(known *store) recordedQueue) {
	for _, first := range meetingCalls() {
		for _, second := range meetingCalls() {
			others := []string{"default/known@1"}
			if first.name == "Resync" { // with one known object it would have no middle; this one is listed first
				others = append(others, "default/0@1")
			}
			checkMeeting(t, pause, new, append(others, "default/a@1"), first, second)
			if first.name == "Pop" || second.name == "Pop" { // Pop puts a into the store
				checkMeeting(t, pause, new, append(others, "default/a@0"), first, second)
				checkMeeting(t, pause, new, others, first, second)
			}
		}
	}
}

func checkMeeting(t *guard.T, pause func(), new func(*store) recordedQueue, others []string, first, second aCall) {
	pending, known := []string{"default/a", "default/b"}, append(others, "default/b@1")
	var oneByOne [][]string
	for _, order := range [][]aCall{{first, second}, {second, first}} {
		m := newMeeting(t, new, pending, known)
		for range 3 {
			m.hold(func() {})
		}
		for _, call := range order {
			require.NoError(t, call.run(m), "the error of %s", call.name)
		}
		oneByOne = append(oneByOne, m.outcome())
	}
	untilMet(func() bool {
		t.Story(8)
		m := newMeeting(t, new, pending, known)
		t.Did("known objects: [%s]", m.known)
		t.Did("%s; from another goroutine, at the same time: %s", first.name, second.name)
		errs, met := m.meet(t, pause, first, second)
		require.NoError(t, errs[0], "the error of %s", first.name)
		require.NoError(t, errs[1], "the error of %s", second.name)
		if got := m.outcome(); !slices.Equal(got, oneByOne[1]) {
			require.Equal(t, oneByOne[0], got, "what was popped, and what is left, if %s comes first (the result of "+
				"the other order is another one too)", first.name)
		}
		return met
	})
}

func TestTask5_Calls_that_meet_run_one_after_the_other(t *testing.T) {
	pause := realPause(t)
	guard.Test(t, "Concurrent calls have the same effect as if one came after the other.", func(t *guard.T) {
		checkMeetings(t, pause, func(known *store) recordedQueue {
			opts := options{KnownObjects: known, EmitDeltaTypeReplaced: true}
			return recordedQueue{deltafifo.NewDeltaFIFOWithOptions(opts), t}
		})
	})
}

func TestTask5_No_Pop_sleeps_beside_a_key(t *testing.T) {
	pause := realPause(t)
	guard.Test(t, "Each new key wakes one Pop, and Close wakes all. A Pop that has seen an empty queue, but does not "+
		"wait yet, must notice it too.", func(t *guard.T) {
		checkSleepers(t, pause, func(known *store) recordedQueue {
			return recordedQueue{deltafifo.NewDeltaFIFOWithOptions(options{KnownObjects: known}), t}
		})
	})
}

// checkSleepers lets two Pops and then other calls wait for the lock. If a Pop releases the lock before it can be
// woken, the next call gets it there. Both Pops must end.
func checkSleepers(t *guard.T, pause func(), new func(known *store) recordedQueue) {
	t.Helper()
	call := func(name string, run func(q cache.Queue) error) aCall {
		return aCall{name, func(m *meeting) error { return run(m.Queue) }}
	}
	for _, next := range [][]aCall{
		{
			call("Add a", func(q cache.Queue) error { return q.Add(deploy("default/a@1")) }),
			call("Update b", func(q cache.Queue) error { return q.Update(deploy("default/b@1")) }),
		},
		{call("Replace with [a b]", func(q cache.Queue) error {
			return q.Replace(deploys("default/a@1", "default/b@1"), "1")
		})},
		{call("Resync of two objects", cache.Queue.Resync)},
		{call("Close", func(q cache.Queue) error { q.Close(); return nil })},
	} {
		for _, panics := range []bool{false, true} {
			untilMet(func() bool {
				t.Story(8)
				m := newMeeting(t, new, nil, nil)
				if strings.HasPrefix(next[0].name, "Resync") {
					m.known.objs = storeOf("default/a@1", "default/b@1").objs
				}
				pop, ended := popThatEnds(panics)
				t.Did("two Pops find the queue empty; process panics in the first: %t", panics)
				for _, c := range next {
					t.Did("%s, before the Pops wait", c.name)
				}
				_, met := m.meet(t, pause, append([]aCall{pop, pop}, next...)...)
				require.Equal(t, int64(2), ended.Load(), "Pops that have ended")
				return met
			})
		}
	}
}

// popThatEnds returns a Pop and the number of its calls that have ended. If panics is true, process panics in the first
// of them, and the caller of Pop recovers.
func popThatEnds(panics bool) (aCall, *atomic.Int64) {
	var ended atomic.Int64
	return aCall{"Pop", func(m *meeting) error {
		defer func() {
			if v := recover(); v != nil && v != any(errBug) {
				panic(v)
			}
			ended.Add(1)
		}()
		_, err := m.Pop(func(any, bool) error {
			if panics {
				panics = false
				panic(errBug)
			}
			return nil
		})
		return err
	}}, &ended
}

func TestTask5_Long_calls_are_one_step(t *testing.T) {
	pause := realPause(t)
	guard.Test(t, "Concurrent calls have the same effect as if one came after the other. That is true for long lists "+
		"too.", func(t *guard.T) {
		checkLongCalls(t, pause, func(known *store) recordedQueue {
			opts := options{KnownObjects: known, EmitDeltaTypeReplaced: true}
			return recordedQueue{deltafifo.NewDeltaFIFOWithOptions(opts), t}
		})
	})
}

// checkLongCalls requires that no call takes effect in the middle of a Replace or a Resync of 1001 objects. Otherwise
// some of the objects have other deltas than the rest.
func checkLongCalls(t *guard.T, pause func(), new func(known *store) recordedQueue) {
	t.Helper()
	var many []string
	for i := range 1_001 {
		many = append(many, fmt.Sprintf("long/%d@1", i))
	}
	for _, first := range []aCall{
		{"Replace with 1001 objects", func(m *meeting) error { return m.Queue.Replace(deploys(many...), "8") }},
		{"Resync of 1001 objects", func(m *meeting) error { return m.Queue.Resync() }},
	} {
		second := aCall{"Replace with []", func(m *meeting) error { return m.Queue.Replace(nil, "9") }}
		untilMet(func() bool {
			t.Story(8)
			m := newMeeting(t, new, nil, nil)
			if strings.HasPrefix(first.name, "Resync") {
				m.known.objs = storeOf(many...).objs
			}
			t.Did("%s; from another goroutine, at the same time: %s", first.name, second.name)
			errs, met := m.meet(t, pause, first, second)
			require.NoError(t, errs[0], "the error of %s", first.name)
			require.NoError(t, errs[1], "the error of %s", second.name)
			deltas := map[string]string{} // by key
			for _, popped := range m.drain() {
				if key, change, _ := strings.Cut(popped, ": "); strings.HasPrefix(key, "long/") {
					deltas[key] += change + " "
				}
			}
			different := slices.Compact(slices.Sorted(maps.Values(deltas)))
			require.Len(t, different, 1, "different deltas of the 1001 objects")
			return met
		})
	}
}
