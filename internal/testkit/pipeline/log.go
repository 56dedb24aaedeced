package pipeline

// This file is the log of a run. Appending is cheap, because the run waits for it: a step is copied into memory that is
// used again. Other goroutines fold the steps, without the lock that Append takes.

import (
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// chunk is how many steps are kept together. The log forgets whole chunks.
	chunk = 1000
	// Limit is how many steps a Log of show keeps.
	Limit = 100 * chunk
	// snapshotEvery is the distance of two states that are kept to rewind fast.
	snapshotEvery = 10 * chunk
)

// Log is the steps of a run. Any goroutine may call its methods.
type Log struct {
	start time.Time
	limit int // how many chunks it keeps

	mu         sync.Mutex
	chunks     [][]Step // all but the last have chunk steps
	free       []Step   // the memory of a forgotten chunk
	begin, n   int64    // the numbers of the step before the first chunk, and of the last step
	forgetting bool

	// folding guards what is folded, and the steps while they are read without mu. It is locked before mu.
	folding   sync.Mutex
	first     *State // after step begin
	snapshots map[int64]*State
}

// NewLog returns an empty log, whose time starts now. It keeps so many steps, rounded up to thousands; older ones are
// in its first state. While a goroutine forgets steps, there are up to twice as many; then Append waits.
func NewLog(keep int) *Log {
	return &Log{start: time.Now(), limit: max(1, (keep+chunk-1)/chunk), first: NewState(), snapshots: map[int64]*State{}}
}

// Append adds a step, and sets its number and time. It returns the number.
func (l *Log) Append(step Step) int64 {
	l.lock()
	defer l.mu.Unlock()
	step.At = time.Since(l.start)
	return l.append(&step)
}

// lock locks mu to append a step.
func (l *Log) lock() {
	l.mu.Lock()
	for len(l.chunks) > 2*l.limit {
		l.mu.Unlock()
		l.forget()
		l.mu.Lock()
	}
}

// append adds a step with its time. The caller holds mu.
func (l *Log) append(step *Step) int64 {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == chunk {
		if l.free == nil {
			l.free = make([]Step, 0, chunk)
		}
		l.chunks, l.free, last = append(l.chunks, l.free), nil, last+1
		if len(l.chunks) > l.limit && !l.forgetting {
			l.forgetting = true
			go func() {
				for l.forget() {
				}
			}()
		}
	}
	l.n++
	step.N = l.n
	l.chunks[last] = append(l.chunks[last], *step)
	return l.n
}

// forget folds the oldest chunk into the first state, if there are too many. It reports whether there were.
func (l *Log) forget() bool {
	l.folding.Lock()
	defer l.folding.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.chunks) <= l.limit {
		l.forgetting = false
		return false
	}
	oldest := l.chunks[0]
	l.mu.Unlock()
	for i := range oldest {
		l.first.apply(&oldest[i])
	}
	l.mu.Lock()
	l.chunks, l.free, l.begin = slices.Delete(l.chunks, 0, 1), oldest[:0], l.first.N
	return true
}

// Now returns the time since the start of the log.
func (l *Log) Now() time.Duration { return time.Since(l.start) }

// Range returns the numbers of the first and the last step that can be looked at.
func (l *Log) Range() (first, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begin, l.n
}

// each calls f for the kept steps after step n, up to step to. The caller holds folding.
func (l *Log) each(n, to int64, f func(*Step)) {
	l.mu.Lock()
	begin, n, to := l.begin, max(n, l.begin), min(to, l.n)
	var chunks [][]Step // their elements do not change
	if n < to {
		chunks = slices.Clone(l.chunks[(n-begin)/chunk : (to-begin+chunk-1)/chunk])
	}
	l.mu.Unlock()
	for at := n - begin; at < to-begin; at++ {
		f(&chunks[at/chunk-(n-begin)/chunk][at%chunk])
	}
}

// since returns the kept steps after step n, up to step to.
func (l *Log) since(n, to int64) (steps []Step) {
	l.folding.Lock()
	defer l.folding.Unlock()
	l.each(n, to, func(step *Step) { steps = append(steps, *step) })
	return steps
}

// Until returns the number of the last step up to a time.
func (l *Log) Until(at time.Duration) int64 {
	first, last := l.Range()
	steps := l.since(0, last)
	n, _ := slices.BinarySearchFunc(steps, at, func(s Step, at time.Duration) int {
		if s.At <= at {
			return -1
		}
		return 1
	})
	return first + int64(n)
}

// WaitOf returns how long the wait takes that the Reflector of a kind is in after step n, or 0 if the log does not have
// its end.
func (l *Log) WaitOf(kind string, n int64, since time.Duration) (wait time.Duration) {
	l.folding.Lock()
	defer l.folding.Unlock()
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
	l.folding.Lock()
	defer l.folding.Unlock()
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
		l.lock()
		step.At = state.At
		l.append(&step)
		l.mu.Unlock()
	}
}

// Follow applies to a state the steps that were appended since. It returns a new state if the log has forgotten some
// of them.
func (l *Log) Follow(s *State) *State {
	l.folding.Lock()
	defer l.folding.Unlock()
	first, last := l.Range()
	if s == nil || s.N < first {
		s = l.first.Clone()
	}
	l.each(s.N, last, s.apply)
	return s
}

// At returns the state after step n, or after the nearest step that the log has.
func (l *Log) At(n int64) *State {
	l.folding.Lock()
	defer l.folding.Unlock()
	first, last := l.Range()
	n = min(max(n, first), last)
	nearest := l.first
	for at, snapshot := range l.snapshots {
		if at < first {
			delete(l.snapshots, at)
		} else if at <= n && at > nearest.N {
			nearest = snapshot
		}
	}
	s := nearest.Clone()
	l.each(s.N, n, func(step *Step) {
		if s.apply(step); s.N%snapshotEvery == 0 && s.N < n {
			l.snapshots[s.N] = s.Clone()
		}
	})
	return s
}
