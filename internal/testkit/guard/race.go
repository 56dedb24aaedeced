package guard

// This file runs a test in a process of its own: one of locking, or one whose mistakes end the process. A data race
// cannot be caught: at best the runtime notices that a map is used by two goroutines at once, and ends the whole
// program; under -race, the detector writes a report of many lines. In a child process both are harmless, and its
// output says which two calls met (crash.go).
//
// The child keeps a journal, a file, of what its parent cannot see in the output: the steps of the test, its rule, the
// todos it reached, and how it ended. What is in there when the child dies is what the parent knows.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"client-go-workshop/internal/testkit/failure"
)

const (
	raceTimeout  = 5 * time.Minute // the child gives up first, since only it can say what hangs
	childJournal = "WORKSHOP_RACE_JOURNAL"
	childTest    = "WORKSHOP_RACE_TEST"
	outputLines  = 60
)

// Race runs f in real time, without a bubble, in a child process that runs just this test, and fails if two goroutines
// meet in the same memory. So f should have several goroutines call the code under test in a loop, all at once, and end
// by itself. With -race a meeting is found every time if each goroutine makes some thousand calls; after far more, the
// race detector forgets the early ones. Without -race it is found only in a map, and only if two are in there at the
// same instant, which is likely and no more than that. The failure gives the rule.
//
// f reports as under Test; what it says is passed on. A call that never returns, or a process that ends for any other
// reason, fails as well. Race blocks until the child has ended, for five minutes at most. It must be called on the
// test's own goroutine. Each child runs the test from its beginning, so f must not depend on what another run of it
// did.
func Race(t *testing.T, rule string, f func(t *T)) {
	r := newRun(t, rule)
	r.inProcess(r.runChildren, func() {
		// A subtest gives it cleanups and a context of its own, which end before what was noted is printed.
		r.outer.Run("child", func(inner *testing.T) { r.body(inner, f) })
	})
}

// Apart is Test in a child process. It is for a mistake that ends the process, such as a panic on a goroutine of the
// code under test, which nothing can recover: the failure gives the rule, and the other tests run.
func Apart(t *testing.T, rule string, f func(t *T)) {
	r := newRun(t, rule)
	r.apart = true
	r.inProcess(r.runChild, func() { r.inBubble(f) })
}

// Crash is Apart for a panic that must end the process: it passes if a panic with this message does so. f makes the
// code under test panic on a goroutine that nobody guards, and waits. If f returns, the test fails.
func Crash(t *testing.T, rule, message string, f func(t *T)) {
	r := newRun(t, rule)
	r.apart, r.crashes = true, message
	r.inProcess(r.runChild, func() {
		r.inBubble(func(t *T) {
			f(t)
			r.survived(t, rule)
		})
	})
}

// inProcess calls start, which starts child processes, and in the child process of this test it runs the test.
func (r *run) inProcess(start, test func()) {
	if r.pointless() {
		return
	}
	switch os.Getenv(childTest) {
	case "":
		start()
	case r.outer.Name():
		file, err := os.OpenFile(os.Getenv(childJournal), os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			r.outer.Fatalf("open the journal for the parent process: %v", err)
		}
		defer file.Close()
		r.child = &journal{file: file}
		r.conduct(test)
	}
}

// runChildren starts a child, and then more of them for a moment as long as all is well. Whether two goroutines meet is
// up to chance: a busy machine may run one after the other, and then not even the race detector sees every race.
func (r *run) runChildren() {
	attempts := 5
	if Brief {
		attempts = 1
	}
	const patience = 100 * time.Millisecond
	start := time.Now()
	for range attempts {
		r.runChild()
		if time.Since(start) > patience {
			return
		}
	}
}

// runChild starts a child, and returns if the test passed there. Otherwise it reports why not, and ends the test.
func (r *run) runChild() {
	journalPath := filepath.Join(r.outer.TempDir(), "journal")
	output, err := r.spawn(journalPath)
	last, readErr := readJournal(journalPath)
	if readErr != nil {
		r.outer.Fatalf("read the record of the test's own process: %v", readErr)
	}
	switch {
	case last.Todo != nil:
		r.passOn([]failure.Failure{*last.Todo}, "")
	case last.Ended && len(last.Failures) > 0 && r.crashes != "":
		r.passOn(last.Failures, "") // it also wrote about the panic
	case last.Ended && len(last.Failures) > 0:
		r.passOn(last.Failures, unexplained(output))
	case last.Ended && last.Skipped:
		r.outer.SkipNow()
	case last.Ended && err == nil:
		return
	case !last.Ended && r.crashes != "" && crashedWith(r.crashes, output):
		return
	}
	r.steps, r.skipped, r.rule = last.Steps, last.Earlier, cmp.Or(last.Rule, r.rule)
	if last.Ended {
		r.fail(r.notUnderstood(output, err))
	} else {
		r.fail(r.crash(output, err))
	}
	r.report()
}

// spawn runs this test binary for this test alone, and waits for it.
func (r *run) spawn(journalPath string) (output string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the test binary, to run it again for this test: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), raceTimeout)
	defer cancel()
	var names []string
	for name := range strings.SplitSeq(r.outer.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	cmd := exec.CommandContext(ctx, self, "-test.run="+strings.Join(names, "/"), "-test.count=1", "-test.timeout=0")
	cmd.Env = append(os.Environ(),
		childJournal+"="+journalPath,
		childTest+"="+r.outer.Name(),
		"GOTRACEBACK=all", // who else was there when it crashed
		// Without atexit_sleep_ms the detector sleeps for a second at the end.
		"GORACE="+os.Getenv("GORACE")+" log_path=stderr halt_on_error=1 exitcode=66 atexit_sleep_ms=0",
		// More threads than cores, so that the system interrupts a goroutine amid a change even where there is one core.
		fmt.Sprintf("GOMAXPROCS=%d", max(4, runtime.NumCPU())),
	)
	cmd.WaitDelay = time.Second // a process that the code under test has started may hold the output open for long
	ended, followed := make(chan struct{}), make(chan struct{})
	go func() { defer close(followed); r.followJournal(journalPath, ended) }()
	text, err := cmd.CombinedOutput()
	close(ended)
	<-followed // no attribute after the end of the test
	if ctx.Err() != nil {
		err = fmt.Errorf("stopped after %v: %w", raceTimeout, err)
	}
	return string(text), err
}

// passOn reports the failures of the child, and anything else that it wrote, as this test's own.
func (r *run) passOn(all []failure.Failure, more string) {
	r.failures = all
	if more != "" {
		fmt.Fprintf(r.outer.Output(), "%s: the test's own process also wrote:\n%s\n", r.start, capLines(more, outputLines))
	}
	r.report()
}

// unexplained is what a child wrote beyond the lines that go test writes about a failed test.
func unexplained(output string) string {
	var rest []string
	for line := range strings.Lines(output) {
		switch bare := strings.TrimSpace(line); {
		case bare == "", bare == "FAIL", strings.HasPrefix(bare, "--- FAIL: "):
		case bare == "testing: warning: no tests to run": // the child hung in its only one
		default:
			rest = append(rest, strings.TrimRight(line, "\r\n"))
		}
	}
	return strings.Join(rest, "\n")
}

// record has the facts that the output does not show to the parent. It is the whole journal, written again at each
// change.
type record struct {
	Rule     string            `json:",omitempty"` // the one that T.Rule gave last
	Steps    []string          `json:",omitempty"` // the last ones
	Earlier  int               `json:",omitempty"` // how many steps came before
	Todo     *failure.Failure  `json:",omitempty"` // about the todos reached so far
	Place    *failure.Place    `json:",omitempty"` // where the test is, because it takes long
	Failures []failure.Failure `json:",omitempty"` // all of them
	Skipped  bool              `json:",omitempty"`
	Ended    bool              `json:",omitempty"` // the test came to its end
}

// journal is the file of a child's record. On nil, note does nothing.
type journal struct {
	lock sync.Mutex
	file *os.File
	now  record
}

func (j *journal) note(change func(now *record)) {
	if j == nil {
		return
	}
	j.lock.Lock()
	defer j.lock.Unlock()
	change(&j.now)
	line, err := json.Marshal(j.now)
	if err == nil {
		_, err = j.file.WriteAt(append(line, '\n'), 0) // one write, so that a crash leaves no half line
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "write the journal for the parent process: %v\n", err)
	}
}

// readJournal returns the record, which is empty if the child never got as far as the test; its output says why.
func readJournal(path string) (now record, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return now, nil
	}
	if err == nil {
		line, _, _ := bytes.Cut(data, []byte("\n")) // the rest is of a longer record before
		err = json.Unmarshal(line, &now)
	}
	return now, err
}
