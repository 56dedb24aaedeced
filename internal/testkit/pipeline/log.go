package pipeline

// This file is the log of a run. Appending is cheap, because the run waits for it: a step is copied into a ring, which
// grows by blocks and moves nothing, and a step that it replaces is folded into the first state. Readers copy some
// steps and fold them without the lock.

import (
	"iter"
	"math"
	"sync"
	"time"
)

const (
	// block is how many steps a reader copies at a time, and how many the ring grows by.
	block = 1000
	// Limit is how many steps a Log of show keeps.
	Limit = 100 * block
)

// Log is the steps of a run. Any goroutine may call its methods.
type Log struct {
	start time.Time
	keep  int64

	mu     sync.Mutex
	ring   [][]Step // of blocks
	n      int64    // the number of the last step
	first  *State   // before the first step that is kept
	origin int64    // the number of the step before the first of all
}

// NewLog returns an empty log, whose time starts now. It keeps so many steps; older ones are in its first state.
func NewLog(keep int) *Log {
	return &Log{start: time.Now(), keep: max(1, int64(keep)), first: NewState()}
}

// Append adds a step, and sets its number and time.
func (l *Log) Append(step Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	step.At = time.Since(l.start)
	l.append(&step)
}

// append adds a step with its time. The caller holds mu.
func (l *Log) append(step *Step) {
	l.n++
	step.N = l.n
	if l.n-l.first.N > l.keep {
		l.first.Apply(l.step(l.first.N + 1))
	} else if kept := l.n - l.origin - 1; kept%block == 0 {
		l.ring = append(l.ring, make([]Step, min(block, l.keep-kept)))
	}
	*l.step(l.n) = *step
}

// step returns a kept step. The caller holds mu.
func (l *Log) step(n int64) *Step {
	at := (n - l.origin - 1) % l.keep
	return &l.ring[at/block][at%block]
}

// Now returns the time since the start of the log.
func (l *Log) Now() time.Duration { return time.Since(l.start) }

// Range returns the numbers of the first and the last step that can be looked at.
func (l *Log) Range() (first, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first.N, l.n
}

// each returns the kept steps after step n, up to step to. A step is valid until the next one.
func (l *Log) each(n, to int64) iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		steps := make([]Step, 0, min(block, max(0, to-n)))
		for {
			l.mu.Lock()
			n = max(n, l.first.N)
			steps = steps[:0]
			for ; n < min(to, l.n) && len(steps) < block; n++ {
				steps = append(steps, *l.step(n + 1))
			}
			l.mu.Unlock()
			for i := range steps {
				if !yield(&steps[i]) {
					return
				}
			}
			if len(steps) == 0 {
				return
			}
		}
	}
}

// all returns the kept steps.
func (l *Log) all() iter.Seq[*Step] { return l.each(0, math.MaxInt64) }

// since returns the kept steps after step n, up to step to.
func (l *Log) since(n, to int64) (steps []Step) {
	for step := range l.each(n, to) {
		steps = append(steps, *step)
	}
	return steps
}

// Until returns the number of the last step up to a time.
func (l *Log) Until(at time.Duration) int64 {
	n, _ := l.Range()
	for step := range l.all() {
		if step.At > at {
			break
		}
		n = step.N
	}
	return n
}

// WaitOf returns how long the wait takes that the Reflector of a kind is in after step n, or 0 if the log does not have
// its end.
func (l *Log) WaitOf(kind string, n int64, since time.Duration) time.Duration {
	for step := range l.each(n, math.MaxInt64) {
		begins := step.Verb == Run || step.Verb == List || step.Verb == Watch
		if begins && step.Seam == Reflector && step.Kind == kind {
			return step.At - since
		}
	}
	return 0
}

// Steps returns the last steps up to a step, at most so many, oldest first.
func (l *Log) Steps(to int64, most int) []Step { return l.since(max(0, to-int64(most)), to) }

// Way returns the last steps about a key up to a step, at most so many, oldest first.
func (l *Log) Way(key string, to int64, most int) (way []Step) {
	for step := range l.each(0, to) {
		if step.Key == key {
			way = append(way, *step)
		}
	}
	return way[max(0, len(way)-most):]
}

// NoteOverdue ends the log of a run that nothing held: it appends what handlers were owed and did not receive in time.
func (l *Log) NoteOverdue() {
	state := l.Follow(nil)
	for _, step := range state.Overdue() {
		l.mu.Lock()
		step.At = state.At
		l.append(&step)
		l.mu.Unlock()
	}
}

// Follow applies to a state the steps that were appended since. It returns a new state if the log has forgotten some
// of them.
func (l *Log) Follow(s *State) *State { return l.fold(s, math.MaxInt64) }

// fold is Follow, up to a step. It begins with the first state if s is nil.
func (l *Log) fold(s *State, to int64) *State {
	for {
		l.mu.Lock()
		if s == nil || s.N < l.first.N {
			s = l.first.Clone()
		}
		last := min(to, l.n)
		l.mu.Unlock()
		for step := range l.each(s.N, last) {
			if step.N != s.N+1 { // some were forgotten meanwhile
				break
			}
			s.Apply(step)
		}
		if s.N >= last {
			return s
		}
	}
}

// At returns the state after step n, or after the nearest step that the log has.
func (l *Log) At(n int64) *State { return l.fold(nil, n) }
