package guard

// This file watches a test from outside, in real time. A bubble notices by itself when all its goroutines wait for each
// other, except when one waits for a lock of package sync: the bubble takes that for a moment's wait, keeps its clock
// still, and hangs. It does not notice an endless loop either. Here both are seen, from goroutine dumps.
//
// Dumps stop the world, so there is none in the first second, longer than which hardly a test runs.

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/failure"
)

const (
	firstLook  = time.Second
	lookEvery  = 250 * time.Millisecond
	deadlocked = 2 * time.Second // so long must nothing move,
	looksAlike = 4               // and so many looks must show the same
	longestGap = time.Second     // between two looks: the rest of a longer one, the machine was asleep
	todoGrace  = time.Second     // for a test to end after a todo was reached
	starved    = 4               // so many limits may pass for a test that runs and gets hardly any processor time
)

// simulatedLimit is how far the clock of a bubble may run: a month, when the longest scenario takes a week. A component
// with a ticker of ten seconds gets there in a fifth of a second. At a moment so odd, no ticker is due.
const simulatedLimit = 30*24*time.Hour + 123456789

// realLimit is how long a test may wait in real time, and how much processor time it may take; a third of the latter if
// it does no step meanwhile, as an endless loop does. Time in which other processes have the processors does not count
// against a test that runs. The environment variable WORKSHOP_TEST_LIMIT ("2m") changes the limit.
var realLimit, limitChosen = func() (time.Duration, bool) {
	if d, err := time.ParseDuration(os.Getenv(env.TestLimit)); err == nil && d > 0 {
		return d, true
	}
	if RaceDetector {
		return time.Minute, false
	}
	return 30 * time.Second, false
}()

// One call that never returns hangs most tests of a chapter, and the whole time for each of them is too long.
// So after the first hang a test has a third of the time, and after some no test is run at all: those that hung come
// first.
const hungEnough = 3

// hung counts the tests of this process that were stopped because they hung.
var hung atomic.Int32

func limit() time.Duration {
	if hung.Load() > 0 && !limitChosen {
		return realLimit / 3
	}
	return realLimit
}

// stepLimit is how much processor time a test that runs may take without a step. After a hang it is half of that: the
// code that hung may still keep a core busy, which counts here.
func stepLimit() time.Duration {
	if hung.Load() > 0 && !limitChosen {
		return realLimit / 6
	}
	return realLimit / 3
}

// parent is the process that started this one.
var parent = os.Getppid()

// pointless says whether enough tests hung before this one, or one took too much memory, and fails it if so.
func (r *run) pointless() bool {
	f := failure.Failure{Kind: failure.NotRun, At: r.start, Wanted: "the test runs"}
	switch n := hung.Load(); {
	case tooLarge.Load():
		f.Problem = "not run: an earlier test took too much memory; fix that first"
		f.Got = "code of an earlier test that still runs and takes memory"
		f.Why = "No code can stop another goroutine, so no test runs beside one that takes more and more memory."
	case n >= hungEnough:
		f.Problem = fmt.Sprintf("not run: %d earlier tests hung; fix those first", n)
		f.Got = "calls in earlier tests that never return"
		f.Why = "A call that hangs in one test hangs in most. This test runs when the others no longer hang."
	default:
		return false
	}
	r.fail(f)
	r.report()
	return true
}

// watch returns when the test is over, one way or the other. It runs on the test's goroutine, outside the bubble.
func (r *run) watch(ended <-chan struct{}) {
	look := time.NewTimer(firstLook)
	defer look.Stop()
	memory := time.NewTicker(memoryEvery)
	defer memory.Stop()
	used := processorTime()
	w := watchdog{latest: time.Now(), start: used, step: used}
	for {
		select {
		case <-ended:
			return
		case <-memory.C:
			if os.Getppid() != parent {
				os.Exit(1) // the go command was killed, so no process reads what the tests report
			}
			if bytes, over := overLimit(); over {
				r.abandoned.Store(true)
				r.usesTooMuch(bytes)
				return
			}
		case <-r.reached:
			// The test fails for the todo. Code that is not written may keep the test from ending: do not wait.
			select {
			case <-ended:
				return
			case <-r.stuck:
			case <-time.After(todoGrace):
			}
			r.abandoned.Store(true)
			return
		case <-r.stuck:
			r.abandoned.Store(true)
			if !r.settled() {
				r.neverReturned(r.dump, "")
			}
			return
		case <-look.C:
			dump := recentGoroutines()
			if report := w.look(r, dump, time.Now(), processorTime()); report != nil {
				r.abandoned.Store(true)
				if !r.settled() {
					report()
				}
				hung.Add(1)
				return
			}
			w.tellPlace(r, dump)
			look.Reset(lookEvery)
		}
	}
}

// recentGoroutines returns nil while there are so many goroutines that a dump of them stops the world for seconds, in
// which a loop that starts more of them would go unseen.
func recentGoroutines() []goroutine {
	if runtime.NumGoroutine() > manyGoroutines {
		return nil
	}
	return allGoroutines()
}

// watchdog is what was seen so far.
type watchdog struct {
	latest time.Time
	clock  time.Duration // that the test has had
	last   string        // what a deadlock looked like at the latest look, "" if there was none
	alike  int           // looks in a row at which it looked so
	since  time.Duration // the first of them
	start  time.Duration // processor time when the test began,
	step   time.Duration // and when it was first seen to have done
	steps  int           // so many steps
	place  failure.Place // where the test was when that was told
	told   time.Duration // when it was
}

// look takes a look. A nil dump shows nothing. When it is clear that the test will never end, it returns what reports
// that.
func (w *watchdog) look(r *run, dump []goroutine, now time.Time, used time.Duration) func() {
	w.clock += min(now.Sub(w.latest), longestGap)
	w.latest = now
	seen := r.deadlockOnLock(dump)
	if seen != w.last {
		w.last, w.alike, w.since = seen, 0, w.clock
	}
	w.alike++
	if steps := r.stepsDone(); steps != w.steps {
		w.steps, w.step = steps, used
	}
	switch {
	case seen != "" && w.alike >= looksAlike && w.clock-w.since >= deadlocked:
		return func() { r.lockNeverFree(dump) }
	case used-w.step >= stepLimit() && r.runs(dump):
		return func() { r.stillRunning(orAll(dump), fmt.Sprintf("%v of processor time", stepLimit())) }
	case used-w.start >= realLimit && r.runs(dump):
		return func() { r.stillRunning(orAll(dump), fmt.Sprintf("%v of processor time", realLimit)) }
	case w.clock >= limit() && !r.runs(dump), w.clock >= starved*limit():
		return func() { r.stillRunning(orAll(dump), limit().String()) }
	}
	return nil
}

// runs says whether a goroutine of the test can go on. It can when there are too many for a dump.
func (r *run) runs(dump []goroutine) bool {
	return dump == nil || slices.ContainsFunc(r.members(dump), goroutine.isRunning)
}

func orAll(dump []goroutine) []goroutine {
	if dump == nil {
		return allGoroutines()
	}
	return dump
}

// deadlockOnLock describes the goroutines of the test if all of them wait and at least one waits for a lock; otherwise
// it returns "".
func (r *run) deadlockOnLock(dump []goroutine) string {
	var b strings.Builder
	locked := false
	for _, g := range r.members(dump) {
		locked = locked || g.waitsForLock()
		if !g.waitsForLock() && !g.durable && !(r.child != nil && g.waitsForOthers()) {
			return ""
		}
		fmt.Fprint(&b, g.id, g.state, g.frames) // equal as long as it does not move
	}
	if !locked {
		return ""
	}
	return b.String()
}

// members are the goroutines that the test consists of.
func (r *run) members(dump []goroutine) []goroutine {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []goroutine
	for _, g := range dump {
		_, chapter := r.where.inChapter(g.frames)
		_, test := r.where.inTest(g.frames)
		if g.bubble != r.bubble || r.bubble == 0 && !chapter && !test {
			continue
		}
		if r.child != nil && g.isWatcher() {
			continue
		}
		out = append(out, g)
	}
	return out
}

// isWatcher says whether this is the goroutine in watch, which in a process of its own is no goroutine of the test.
func (g goroutine) isWatcher() bool {
	return slices.ContainsFunc(g.frames, func(f frame) bool { return f.function == guardPackage+".(*run).watch" })
}

var (
	lockStates  = []string{"sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock", "semacquire"}
	otherStates = []string{"chan receive", "chan send", "sync.Cond.Wait", "sync.WaitGroup.Wait"}
)

func (g goroutine) waitsForLock() bool { return slices.Contains(lockStates, g.state) }

// waitsForOthers says, without a bubble, whether a goroutine waits for others and not for time or the world outside.
func (g goroutine) waitsForOthers() bool { return slices.Contains(otherStates, g.state) }

// stillRunning reports a test that goes on and on. Who runs need not be to blame: it may ask again and again for what
// another one does, that waits with a lock locked.
func (r *run) stillRunning(dump []goroutine, limit string) {
	blocked, others := r.blocked(dump)
	if len(blocked) > 0 && slices.ContainsFunc(others, func(w waiter) bool { return w.waitsForOthers() }) {
		r.lockNeverFree(dump)
		return
	}
	for _, w := range r.waiters(dump) {
		if !w.isRunning() {
			continue
		}
		name := w.call.short(r.where)
		r.fail(failure.Failure{
			Kind:    failure.Hang,
			At:      r.lineOf(w),
			Code:    r.where.codeLine(w.call),
			Problem: fmt.Sprintf("%s is still running after %s", name, limit),
			Wanted:  name + " returns",
			Got:     r.is(w) + "; it keeps a core busy until this test run ends",
			Why:     "A loop needs a way out, and it waits for its next turn instead of polling without a pause.",
		})
		return
	}
	r.neverReturned(dump, "still so after "+limit)
}
