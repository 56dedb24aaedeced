package guard

// This file is the state of one guarded test, shared by the goroutines inside its bubble and the test's own goroutine
// outside. Inside, things are noted; outside, when the test is over, they are printed.
//
// A test that cannot end by itself is abandoned: it is reported from outside while its goroutines still exist. From then
// on every guarded call inside freezes its goroutine, since the testing.T behind it belongs to a test that is over.

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"client-go-workshop/internal/course"
)

const (
	stepsKept    = 8  // of Did, unless the test tells a story
	failuresKept = 10 // a loop of assertions may fail thousands of times
)

// run is one guarded test.
type run struct {
	outer   *testing.T // outside the bubble
	where   place      // what the functions of the test and of the chapter look like
	start   string     // where Test was called: "indexer_test.go:70"
	child   *diary     // set in the process that Race started: what its parent reads
	reached chan struct{}
	stuck   chan struct{} // closed when the simulated time is used up
	frozen  chan struct{} // never closed; made outside the bubble, so waiting for it stops the bubble's clock

	mu        sync.Mutex // guards all below; never held while something else is waited for
	inner     *T
	bubble    int // 0 when there is none
	main      int // the goroutine of the test's function
	steps     []string
	kept      int // how many steps are
	skipped   int // steps no longer kept
	failures  []failure
	more      int // failures not kept
	holes     []hole
	leaving   map[int]bool // goroutines that end on purpose: FailNow, or a hole
	helpers   map[uintptr]bool
	bodyDone  bool // the test's function has ended
	mainDone  bool // so have its cleanups, and the goroutines of Go
	abandoned bool
	dump      []goroutine // what all were doing when the simulated time was used up
}

func newRun(t *testing.T) *run {
	r := &run{
		outer:   t,
		kept:    stepsKept,
		reached: make(chan struct{}, 1),
		stuck:   make(chan struct{}),
		frozen:  make(chan struct{}),
		leaving: map[int]bool{},
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

// close forgets the run. Holes that its goroutines still reach panic from now on, so an abandoned run stays known.
func (r *run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.abandoned {
		runs.Delete(r.bubble)
	}
}

// leave remembers that the calling goroutine is about to end on purpose.
func (r *run) leave() {
	id, _ := self()
	r.mu.Lock()
	r.leaving[id] = true
	r.mu.Unlock()
}

func (r *run) leaves() bool {
	id, _ := self()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaving[id]
}

func (r *run) did(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.steps) == r.kept {
		r.steps = slices.Delete(r.steps, 0, 1)
		r.skipped++
	}
	r.steps = append(r.steps, step)
	r.child.did(step)
}

func (r *run) forgetSteps() {
	r.mu.Lock()
	r.steps, r.skipped = nil, 0
	r.mu.Unlock()
}

// fail notes a failure, at the line of the test that the calling goroutine is at, unless it says where. Only the first
// one tells the steps and what to read: what follows happened in the same test. One that is there already is counted.
func (r *run) fail(f failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.at == "" {
		f.at = r.position()
	}
	if len(r.failures) == failuresKept || slices.ContainsFunc(r.failures, f.sameAs) {
		r.more++
		return
	}
	if len(r.failures) == 0 {
		f.did, f.earlier = slices.Clone(r.steps), r.skipped
		f.read = r.read(r.task())
	}
	r.failures = append(r.failures, f)
}

// settled says that the test has failed already, in a way that explains why what waits for it now waits in vain.
func (r *run) settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.holes) > 0 || r.bodyDone && len(r.failures) > 0
}

func (r *run) bodyEnded() {
	r.mu.Lock()
	r.bodyDone = true
	r.mu.Unlock()
}

// mainEnded is the last thing that the test's goroutine does inside the bubble.
func (r *run) mainEnded() {
	r.freezeIfAbandoned()
	r.mu.Lock()
	r.mainDone = true
	r.mu.Unlock()
}

func (r *run) abandon() {
	r.mu.Lock()
	r.abandoned = true
	r.mu.Unlock()
}

// freezeIfAbandoned does not return once the run is abandoned.
func (r *run) freezeIfAbandoned() {
	r.mu.Lock()
	abandoned := r.abandoned
	r.mu.Unlock()
	if abandoned {
		<-r.frozen
	}
}

// report prints what was noted, and ends the test accordingly. It runs on the test's goroutine, outside the bubble. A
// hole explains everything else, so it stands alone.
func (r *run) report() {
	text, skipped := r.text()
	r.child.ended(text, skipped)
	fmt.Fprint(r.outer.Output(), text)
	switch {
	case text != "" || r.outer.Failed():
		r.outer.FailNow()
	case skipped:
		r.outer.SkipNow()
	}
}

func (r *run) text() (text string, skipped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.holes) > 0 {
		return r.holeFailure().String(), false
	}
	for _, f := range r.failures {
		text += f.String()
	}
	if r.more > 0 {
		text += fmt.Sprintf("%s: … %s\n", r.start, count(r.more, "more failure"))
	}
	return text, r.inner != nil && r.inner.Skipped()
}

var taskInName = regexp.MustCompile(`^TestTask(\d+)`)

// task is the task that the test's name says, 0 if it says none.
func (r *run) task() int { return taskOf(r.outer.Name()) }

func taskOf(test string) int {
	m := taskInName.FindStringSubmatch(test)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits, says the pattern
	return n
}

// read says where a task is explained.
func (r *run) read(task int) string {
	readme := filepath.Base(startDir) + "/README.md"
	if task == 0 {
		return readme
	}
	if known, ok := anchors.Load(task); ok {
		return known.(string)
	}
	where := fmt.Sprintf("%s, Task %d", readme, task)
	if anchor, ok := course.TaskAnchor(filepath.Join(startDir, "README.md"), task); ok {
		where = readme + "#" + anchor
	}
	anchors.Store(task, where)
	return where
}

// anchors keeps what read has found, by task: over a stub a hundred tests ask for the same five places, and to look for them
// took half of the time.
var anchors sync.Map
