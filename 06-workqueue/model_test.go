package workqueue_test

// This file is a model of a queue: the simplest correct code, without goroutines, locks or a clock. Tests make random
// calls to it and to a real queue, and compare the two.

import (
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/modeltest"
)

// model describes how a queue should behave.
type model struct {
	queue      [][]string // in order; items that became due at the same moment come in any order
	dirty      map[string]bool
	processing map[string]bool
	waiting    map[string]time.Duration // when each item is due
	failures   map[string]int
	now        time.Duration
	down       bool
	timed      bool // an item was delayed
}

func newModel() *model {
	return &model{
		dirty: map[string]bool{}, processing: map[string]bool{},
		waiting: map[string]time.Duration{}, failures: map[string]int{},
	}
}

// enter is Add for items that come at the same moment.
func (m *model) enter(items ...string) {
	var next []string
	for _, item := range items {
		if !m.down && !m.dirty[item] {
			m.dirty[item] = true
			if !m.processing[item] {
				next = append(next, item)
			}
		}
	}
	if next != nil {
		m.queue = append(m.queue, next)
	}
}

func (m *model) length() (n int) {
	for _, items := range m.queue {
		n += len(items)
	}
	return n
}

// later is AddAfter for a delay of more than 0.
func (m *model) later(item string, delay time.Duration) {
	m.timed = true
	if due, waits := m.waiting[item]; !m.down && (!waits || m.now+delay < due) {
		m.waiting[item] = m.now + delay
	}
}

// to moves the clock forward.
func (m *model) to(then time.Duration) {
	for m.now < then {
		m.now = then
		for _, due := range m.waiting {
			m.now = min(m.now, due)
		}
		var ripe []string
		for _, item := range sortedItems(m.waiting) {
			if m.waiting[item] == m.now {
				ripe = append(ripe, item)
				delete(m.waiting, item)
			}
		}
		m.enter(ripe...)
	}
}

func item(s *modeltest.T) string { return modeltest.Pick(s, "item", "web", "db", "cdn") }

// call makes a call that must return. The name is the method's.
func (m *model) call(s *modeltest.T, name string, f func()) {
	s.Rule("%s does not wait for other goroutines.", name)
	require.True(s, s.Returns(f), "%s returns", name)
}

func (m *model) add(s *modeltest.T, q clientgo.TypedInterface[string]) {
	it := item(s)
	s.Did("Add %s", it)
	m.enter(it)
	m.call(s, "Add", func() { q.Add(it) })
}

func (m *model) get(s *modeltest.T, q clientgo.TypedInterface[string]) {
	if len(m.queue) == 0 && !m.down {
		s.Skip("it would wait")
	}
	s.Did("Get")
	answers, got := make(chan string, 1), waits
	if s.Returns(func() { answers <- answer(q.Get()) }) {
		got = <-answers
	}
	if len(m.queue) == 0 {
		s.Rule("Get still returns the queued items after ShutDown, and then every Get returns shutdown and the zero item.")
		require.Equal(s, shutdown, got, "Get")
		return
	}
	next := m.queue[0]
	switch {
	case len(next) == 1:
		s.Rule("First in, first out. The README's table shows when an item enters the queue.")
		require.Equal(s, next[0], got, "Get")
	case !slices.Contains(next, got):
		s.Rule("Items are added in the order of their due times. Those with the same due time may come in any order.")
		require.Equal(s, strings.Join(next, ", or "), got, "Get")
	}
	m.queue[0] = slices.DeleteFunc(next, func(it string) bool { return it == got })
	if len(m.queue[0]) == 0 {
		m.queue = m.queue[1:]
	}
	delete(m.dirty, got)
	m.processing[got] = true
}

func (m *model) done(s *modeltest.T, q clientgo.TypedInterface[string]) {
	if len(m.processing) == 0 {
		s.Skip("no item is being processed")
	}
	it := modeltest.Pick(s, "item being processed", sortedItems(m.processing)...)
	s.Did("Done %s", it)
	delete(m.processing, it)
	if m.dirty[it] {
		m.queue = append(m.queue, []string{it})
	}
	m.call(s, "Done", func() { q.Done(it) })
}

func (m *model) shutDown(s *modeltest.T, q clientgo.TypedInterface[string]) {
	if len(m.queue) < 2 {
		s.Skip("later, or every sequence is a short one")
	}
	s.Did("ShutDown")
	m.down = true
	clear(m.waiting)
	m.call(s, "ShutDown", q.ShutDown)
}

func (m *model) checkLen(s *modeltest.T, q clientgo.TypedInterface[string]) {
	synctest.Wait()
	s.Rule("%s", m.rule())
	require.Equal(s, m.length(), q.Len(), "Len")
}

// rule returns the rules that determine Len. It leaves out those that the sequence has not used.
func (m *model) rule() string {
	rule := "Len returns how many items are queued."
	if m.timed {
		rule += " A delayed item is added when it is due: at the earliest time that it was given, even if " +
			"Add comes before."
	}
	if len(m.failures) > 0 {
		rule += " Its wait doubles with each failure, from 1ms up to 4ms."
	}
	if m.down {
		rule += " After ShutDown, Add has no effect. But if an item was added before, while it was being " +
			"processed, Done still queues it."
	}
	return rule
}

func (m *model) addAfter(s *modeltest.T, q clientgo.TypedDelayingInterface[string]) {
	it := item(s)
	delay := modeltest.Pick(s, "delay", time.Millisecond, 2*time.Millisecond, 3*time.Millisecond, 0, -time.Millisecond)
	s.Did("AddAfter %s, %v", it, delay)
	if delay <= 0 {
		m.enter(it)
	} else {
		m.later(it, delay)
	}
	m.call(s, "AddAfter", func() { q.AddAfter(it, delay) })
}

func (m *model) pass(s *modeltest.T) {
	d := modeltest.Pick(s, "time", time.Millisecond, 2*time.Millisecond, time.Millisecond/2)
	s.Did("%v pass", d)
	m.to(m.now + d)
	time.Sleep(d)
}

// The limiter of the sequences: 1ms, doubled up to 4ms.
const baseDelay, maxDelay = time.Millisecond, 4 * time.Millisecond

func (m *model) addRateLimited(s *modeltest.T, q clientgo.TypedRateLimitingInterface[string]) {
	it := item(s)
	s.Did("AddRateLimited %s", it)
	m.later(it, min(baseDelay<<min(m.failures[it], 10), maxDelay))
	m.failures[it]++
	m.call(s, "AddRateLimited", func() { q.AddRateLimited(it) })
	m.checkFailures(s, q, it)
}

func (m *model) forget(s *modeltest.T, q clientgo.TypedRateLimitingInterface[string]) {
	it := item(s)
	s.Did("Forget %s", it)
	delete(m.failures, it)
	m.call(s, "Forget", func() { q.Forget(it) })
	m.checkFailures(s, q, it)
}

func (m *model) checkFailures(s *modeltest.T, q clientgo.TypedRateLimitingInterface[string], it string) {
	s.Rule("AddRateLimited counts a failure of the item, and Forget drops its failures.")
	require.Equal(s, m.failures[it], q.NumRequeues(it), "NumRequeues of %s", it)
}
