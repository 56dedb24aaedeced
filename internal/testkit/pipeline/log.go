package pipeline

// This file is the log of a run. Appending is cheap, because the run waits for it: a step is copied into a ring, and a
// step that it replaces is folded into the first state. Readers copy some steps and fold them without the lock.

import (
	"math"
	"sync"
	"time"
)

const (
	// block is how many steps a reader copies at a time.
	block = 1000
	// Limit is how many steps a Log of show keeps.
	Limit = 100 * block
)

// Log is the steps of a run. Any goroutine may call its methods.
type Log struct {
	start time.Time
	keep  int64

	mu       sync.Mutex
	ring     []Step
	begin, n int64  // the numbers of the step before the first one that is kept, and of the last one
	first    *State // after step begin
	origin   int64  // the number of the step before the first of all
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
	if l.n-l.begin <= l.keep {
		l.ring = append(l.ring, *step)
		return
	}
	oldest := l.step(l.begin + 1)
	l.first.Apply(oldest)
	l.begin, *oldest = l.begin+1, *step
}

// step returns a kept step. The caller holds mu.
func (l *Log) step(n int64) *Step { return &l.ring[(n-l.origin-1)%l.keep] }

// Now returns the time since the start of the log.
func (l *Log) Now() time.Duration { return time.Since(l.start) }

// Range returns the numbers of the first and the last step that can be looked at.
func (l *Log) Range() (first, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begin, l.n
}

// each calls f for the kept steps after step n, up to step to. A step is valid during the call.
func (l *Log) each(n, to int64, f func(*Step)) {
	steps := make([]Step, 0, min(block, max(0, to-n)))
	for {
		l.mu.Lock()
		n = max(n, l.begin)
		steps = steps[:0]
		for ; n < min(to, l.n) && len(steps) < block; n++ {
			steps = append(steps, *l.step(n + 1))
		}
		l.mu.Unlock()
		if len(steps) == 0 {
			return
		}
		for i := range steps {
			f(&steps[i])
		}
	}
}

// since returns the kept steps after step n, up to step to.
func (l *Log) since(n, to int64) (steps []Step) {
	l.each(n, to, func(step *Step) { steps = append(steps, *step) })
	return steps
}

// Until returns the number of the last step up to a time.
func (l *Log) Until(at time.Duration) int64 {
	n, _ := l.Range()
	l.each(n, math.MaxInt64, func(step *Step) {
		if step.At <= at {
			n = step.N
		}
	})
	return n
}

// WaitOf returns how long the wait takes that the Reflector of a kind is in after step n, or 0 if the log does not have
// its end.
func (l *Log) WaitOf(kind string, n int64, since time.Duration) (wait time.Duration) {
	l.each(n, math.MaxInt64, func(step *Step) {
		begins := step.Verb == Run || step.Verb == List || step.Verb == Watch
		if wait == 0 && begins && step.Seam == Reflector && step.Kind == kind {
			wait = step.At - since
		}
	})
	return wait
}

// Steps returns the last steps up to a step, at most so many, oldest first.
func (l *Log) Steps(to int64, most int) []Step { return l.since(max(0, to-int64(most)), to) }

// Way returns the last steps about a key up to a step, at most so many, oldest first.
func (l *Log) Way(key string, to int64, most int) (way []Step) {
	l.each(0, to, func(step *Step) {
		if step.Key == key {
			way = append(way, *step)
		}
	})
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
		if s == nil || s.N < l.begin {
			s = l.first.Clone()
		}
		last := min(to, l.n)
		l.mu.Unlock()
		l.each(s.N, last, func(step *Step) {
			if step.N == s.N+1 { // none was forgotten meanwhile
				s.Apply(step)
			}
		})
		if s.N >= last {
			return s
		}
	}
}

// At returns the state after step n, or after the nearest step that the log has.
func (l *Log) At(n int64) *State { return l.fold(nil, n) }
