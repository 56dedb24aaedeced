package pipeline

// This file is the log of a run. Appending is cheap, because the run waits for it; nothing is folded until somebody
// looks.

import (
	"sync"
	"time"
)

const (
	// chunk is how many steps are kept together. The log forgets whole chunks.
	chunk = 1000
	// Limit is how many steps a Log keeps. Older ones are in its first state.
	Limit = 100 * chunk
	// snapshotEvery is the distance of two states that are kept to rewind fast.
	snapshotEvery = 10 * chunk
)

// Log is the steps of a run. Any goroutine may call its methods.
type Log struct {
	start time.Time

	mu     sync.Mutex
	chunks [][]Step // all but the last have chunk steps
	first  *State   // the state before the first chunk
	n      int64

	// folding guards the snapshots, so that a reader does not hold up the run.
	folding   sync.Mutex
	snapshots map[int64]*State
}

// NewLog returns an empty log. Its time starts now.
func NewLog() *Log {
	return &Log{start: time.Now(), first: NewState(), snapshots: map[int64]*State{}}
}

// Append adds a step, and sets its number and time. It returns the number.
func (l *Log) Append(step Step) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	step.At = time.Since(l.start)
	return l.append(step)
}

// Do calls f and adds the step that it returns. No other step comes between. f must not use the log.
func (l *Log) Do(f func() Step) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	step := f()
	step.At = time.Since(l.start)
	return l.append(step)
}

// append adds a step with its time. The caller holds mu.
func (l *Log) append(step Step) int64 {
	l.n++
	step.N = l.n
	if last := len(l.chunks) - 1; last < 0 || len(l.chunks[last]) == chunk {
		l.chunks = append(l.chunks, make([]Step, 0, chunk))
		if len(l.chunks) > Limit/chunk {
			for _, old := range l.chunks[0] {
				l.first.Apply(old)
			}
			l.chunks = l.chunks[1:]
		}
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, step)
	return l.n
}

// Now returns the time since the start of the log.
func (l *Log) Now() time.Duration { return time.Since(l.start) }

// Range returns the numbers of the first and the last step that can be looked at.
func (l *Log) Range() (first, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first.N, l.n
}

// since returns the kept steps after step n, up to step to. They must not be changed.
func (l *Log) since(n, to int64) (steps []Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.chunks {
		if len(c) == 0 || c[len(c)-1].N <= n || c[0].N > to {
			continue
		}
		from := max(0, n-c[0].N+1)
		steps = append(steps, c[from:min(int64(len(c)), to-c[0].N+1)]...)
	}
	return steps
}

// Steps returns the last steps up to a step, at most so many, oldest first.
func (l *Log) Steps(to int64, most int) []Step { return l.since(max(0, to-int64(most)), to) }

// Way returns the last steps about a key up to a step, at most so many, oldest first.
func (l *Log) Way(key string, to int64, most int) []Step {
	var way []Step
	for _, step := range l.since(0, to) {
		if step.Key == key {
			way = append(way, step)
		}
	}
	return way[max(0, len(way)-most):]
}

// Follow applies to a state the steps that were appended since. It returns a new state if the log has forgotten some
// of them.
func (l *Log) Follow(s *State) *State {
	l.mu.Lock()
	if s == nil || s.N < l.first.N {
		s = l.first.Clone()
	}
	n := l.n
	l.mu.Unlock()
	for _, step := range l.since(s.N, n) {
		s.Apply(step)
	}
	return s
}

// At returns the state after step n, or after the nearest step that the log has.
func (l *Log) At(n int64) *State {
	l.folding.Lock()
	defer l.folding.Unlock()
	l.mu.Lock()
	first, last := l.first.N, l.n
	var s *State
	n = min(max(n, first), last)
	from := first
	for at := range l.snapshots {
		if at < first {
			delete(l.snapshots, at)
		} else if at <= n && at > from {
			from = at
		}
	}
	if known := l.snapshots[from]; known != nil {
		s = known.Clone()
	} else {
		s = l.first.Clone()
	}
	l.mu.Unlock()
	for _, step := range l.since(s.N, n) {
		s.Apply(step)
		if s.N%snapshotEvery == 0 && s.N < n {
			l.snapshots[s.N] = s.Clone()
		}
	}
	return s
}
