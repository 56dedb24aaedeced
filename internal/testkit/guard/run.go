package guard

// This file is the state of one guarded test, shared by the goroutines inside its bubble and the test's own goroutine
// outside. Inside, things are noted; outside, when the test is over, they are printed.
//
// A test that cannot end by itself is abandoned: it is reported from outside while its goroutines still exist. From
// then on every guarded call inside freezes its goroutine, since the testing.T behind it belongs to a test that is
// over.

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/failure"
)

const (
	stepsKept    = 8  // of Did, unless the test tells a story
	failuresKept = 10 // a loop of assertions may fail thousands of times
)

// run is one guarded test.
type run struct {
	outer   *testing.T       // outside the bubble
	where   place            // what the functions of the test and of the chapter look like
	start   failure.Position // where Test was called
	child   *journal         // set in the process that Race started: what its parent reads
	reached chan struct{}
	stuck   chan struct{} // closed when the simulated time is used up
	frozen  chan struct{} // never closed; made outside the bubble, so waiting for it stops the bubble's clock

	leaving   sync.Map    // the numbers of goroutines that end on purpose: FailNow, or a todo
	bodyDone  atomic.Bool // the test's function has ended
	mainDone  atomic.Bool // so have its cleanups, and the goroutines of Go
	abandoned atomic.Bool

	mu       sync.Mutex // guards all below; never held while something else is waited for
	inner    *T
	bubble   int      // 0 when there is none
	main     int      // the goroutine of the test's function
	rule     string   // the rule that the test checks now
	apart    bool     // a child process runs the test, because of panics
	crashes  string   // the panic that must end the child process, if one must
	see      string   // the command that shows a recording
	steps    []string // a line each, see did
	kept     int      // how many steps are
	skipped  int      // steps no longer kept
	last     string   // the latest step,
	times    int      // which was done so often in a row
	done     int      // steps in all
	failures []failure.Failure
	more     int // failures not kept
	todos    []met
	helpers  map[uintptr]bool
	dump     []goroutine // what all were doing when the simulated time was used up
}

func newRun(t *testing.T, rule string) *run {
	r := &run{
		outer:   t,
		rule:    rule,
		kept:    stepsKept,
		reached: make(chan struct{}, 1),
		stuck:   make(chan struct{}),
		frozen:  make(chan struct{}),
		helpers: map[uintptr]bool{},
	}
	r.where, r.start = callerPlace()
	return r
}

// enter is called by the goroutine of the test's function, before that function.
func (r *run) enter(t *T) {
	id, bubble := self()
	r.mu.Lock()
	r.inner, r.main, r.bubble = t, id, bubble
	r.mu.Unlock()
	runs.Store(bubble, r)
}

// close forgets the run. Todos that its goroutines still reach panic from now on, so an abandoned run stays known.
func (r *run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.abandoned.Load() {
		runs.Delete(r.bubble)
	}
}

// locked calls f with the lock held.
func (r *run) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// leave remembers that the calling goroutine is about to end on purpose.
func (r *run) leave() {
	id, _ := self()
	r.leaving.Store(id, true)
}

func (r *run) leaves() bool {
	id, _ := self()
	_, on := r.leaving.Load(id)
	return on
}

// did notes a step. Equal ones in a row are one line.
func (r *run) did(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.last == step && len(r.steps) > 0 {
		r.times++
		r.steps[len(r.steps)-1] = fmt.Sprintf("%s (%d times)", step, r.times)
	} else {
		if len(r.steps) == r.kept {
			r.steps = slices.Delete(r.steps, 0, 1)
			r.skipped++
		}
		r.steps = append(r.steps, step)
		r.last, r.times = step, 1
	}
	r.child.note(func(now *record) { now.Steps, now.Earlier = slices.Clone(r.steps), r.skipped })
}

// stepsDone is how many steps the test has done.
func (r *run) stepsDone() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// fail notes a failure, at the line of the test that the calling goroutine is at, unless f has a line. The first one
// alone carries the steps and what to read: the others happened in the same test. A failure that is noted already is
// counted.
func (r *run) fail(f failure.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.At == (failure.Position{}) {
		f.At = r.position()
	}
	f.Rule = r.rule
	f.Why = cmp.Or(f.Why, r.rule)
	if len(r.failures) == failuresKept || slices.ContainsFunc(r.failures, f.SameAs) {
		r.more++
		return
	}
	f.Task = r.task()
	if len(r.failures) == 0 {
		f.Did, f.EarlierSteps = slices.Clone(r.steps), r.skipped
		f.Read, f.See = read(f.Task), r.see
	}
	r.failures = append(r.failures, f)
}

// settled says that the test has failed already, in a way that explains why what waits for it now waits in vain.
func (r *run) settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.todos) > 0 || r.bodyDone.Load() && len(r.failures) > 0
}

// freezeIfAbandoned does not return once the run is abandoned.
func (r *run) freezeIfAbandoned() {
	if r.abandoned.Load() {
		<-r.frozen
	}
}

// report passes on what was noted, and ends the test accordingly. It runs on the test's goroutine, outside the bubble.
func (r *run) report() {
	all, skipped := r.outcome()
	if r.child != nil {
		r.child.note(func(now *record) { now.Failures, now.Skipped, now.Ended = all, skipped, true })
	} else {
		for _, f := range all {
			if asAttributes {
				f.Emit(r.outer.Attr)
			} else {
				fmt.Fprint(r.outer.Output(), f)
			}
		}
	}
	switch {
	case len(all) > 0 || r.outer.Failed():
		r.outer.FailNow()
	case skipped:
		r.outer.SkipNow()
	}
}

// asAttributes is true when a program reads the failures.
var asAttributes = os.Getenv(env.Failures) == "1"

// outcome returns the failures of the test, and whether it was skipped. A todo explains everything else, so it stands
// alone.
func (r *run) outcome() (all []failure.Failure, skipped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.todos) > 0 {
		return []failure.Failure{r.todoFailure()}, false
	}
	all = slices.Clone(r.failures)
	if r.more > 0 {
		all[len(all)-1].More = r.more
	}
	return all, r.inner != nil && r.inner.Skipped()
}

// task is the task that the test's name says, 0 if it says none.
func (r *run) task() int { return taskOf(r.outer.Name()) }

func taskOf(test string) (task int) {
	_, _ = fmt.Sscanf(test, "TestTask%d", &task)
	return task
}

// read says where a task is explained. The runner replaces it by a link to the task's heading.
func read(task int) string {
	readme := chapterFolder() + "/README.md"
	if task == 0 {
		return readme
	}
	return fmt.Sprintf("%s, task %d", readme, task)
}
