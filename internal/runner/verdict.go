// Package runner runs a chapter's tests over what the learner has written and says how each task stands.
//
// It stands between the go command and the screens: it calls the same `go test` that the chapter's text shows, sorts
// the outcome by task, and picks the failure to look at first. It never writes into a chapter's folder, and it stops
// code that loops or prints without end. It leaves out layout (tui/style) and what was known before (workspace/progress).
package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
)

// State is how a task stands.
type State string

const (
	Open    State = "open"    // nothing but holes fails, and nothing passes
	Failing State = "failing" // begun
	Passed  State = "passed"
	Bonus   State = "bonus"   // skipped: it is optional
	Unknown State = "unknown" // the tests did not run, or not to their end
)

// Verdict is what became of a run.
type Verdict struct {
	Chapter course.Chapter
	Tasks   []Task
	Build   []string       // the compiler's messages, or the go command's; then nothing ran, unless
	Vetted  bool           // all tests passed, and these are vet's
	Stopped string         // why the run was stopped before its end, as in gotest.Result
	Crash   string         // what the runtime printed when it ended the test binary
	Holes   []failure.Hole // what is still to be written, in all tasks, in the order of the files
	Command string         // what was run, as one would type it
	Took    time.Duration
}

// Task is one task's share of a Verdict.
type Task struct {
	course.Task
	State State
	Tests []Test
	// Untouched tells that all is still to be written that the task asks for.
	Untouched bool
}

// Test is one test.
type Test struct {
	Name     string
	Status   gotest.Status
	Failures []failure.Failure
}

// Count tells how many of the task's tests passed, and how many there are.
func (t Task) Count() (passed, all int) {
	for _, test := range t.Tests {
		if test.Status == gotest.Passed {
			passed++
		}
	}
	return passed, len(t.Tests)
}

// Green tells whether everything passed that everybody has to do.
func (v Verdict) Green() bool {
	alone := len(v.Tasks) == 1 // a bonus task alone was asked for
	for _, t := range v.Tasks {
		if t.State != Passed && !(t.Bonus && (t.State == Bonus || !alone)) {
			return false
		}
	}
	return len(v.Build) == 0 && v.Stopped == "" && len(v.Tasks) > 0
}

// markUntouched compares what is to be written with what was at the beginning. Without a solution nothing is known.
func (v *Verdict) markUntouched(solution string) {
	all := map[int]int{}
	paths, _ := filepath.Glob(filepath.Join(solution, "*.go")) // the only error is a bad pattern
	for _, path := range paths {
		src, _ := os.ReadFile(path)
		made, _ := stub.Holes(path, src)
		for _, h := range made {
			all[h.Task]++
		}
	}
	for i, t := range v.Tasks {
		left := 0
		for _, h := range v.Holes {
			if h.Task == t.Number {
				left++
			}
		}
		v.Tasks[i].Untouched = left > 0 && left == all[t.Number]
	}
}

var holePattern = regexp.MustCompile(`panic\(todo\.Task\((\d+), "([^"]+)"\)\)`)

// holes finds what is not written yet. A file that cannot be read has none: the tests have said more about it.
func holes(dir string) (all []failure.Hole) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the only error is a bad pattern
	for _, path := range paths {
		content, _ := os.ReadFile(path)
		number := 0
		for line := range strings.Lines(string(content)) {
			number++
			if m := holePattern.FindStringSubmatch(line); m != nil && !strings.HasPrefix(strings.TrimSpace(line), "//") {
				task, _ := strconv.Atoi(m[1]) // digits, says the pattern
				at := failure.Position{File: filepath.Base(path), Line: number}
				all = append(all, failure.Hole{Symbol: m[2], At: at, Task: task})
			}
		}
	}
	return all
}

// Judge sorts what a run came to.
func Judge(c course.Chapter, o Options, res gotest.Result) Verdict {
	v := Verdict{Chapter: c, Stopped: res.Stopped, Took: res.Took}
	switch {
	case res.BuildFailed():
		v.Build = compilerLines(res.Outside)
	case len(res.Tests) > 0 || v.Stopped != "":
	case died.MatchString(res.Outside): // before its first test
		v.Crash = short(res.Outside)
	default:
		if v.Build = compilerLines(res.Outside); len(v.Build) == 0 {
			v.Build = []string{fmt.Sprintf("go test ran no test and said nothing (exit code %d)", res.Exit)}
		}
	}
	for _, task := range c.Tasks {
		if o.Task.Number > 0 && o.Task.Number != task.Number {
			continue
		}
		t := Task{Task: task}
		mine := regexp.MustCompile(task.Pattern()) // go test has compiled it too
		for _, test := range res.Tests {
			if !mine.MatchString(test.Name) {
				continue
			}
			out := Test{Name: test.Name, Status: test.Status}
			if test.Status == gotest.Failed || test.Status == gotest.Broken {
				out.Failures = reported(c, test)
			}
			if test.Status == gotest.Broken && v.Stopped != "" {
				out.Failures = []failure.Failure{{
					Test: test.Name, Kind: failure.Hang, Problem: "it was still running when the run was stopped",
					Rest: strings.Split(short(test.Text()), "\n"),
				}}
			}
			if test.Crashed() && v.Stopped == "" {
				v.Crash = short(test.Text() + res.Outside)
			}
			t.Tests = append(t.Tests, out)
		}
		t.State = t.judge(res.Stopped != "" || v.Crash != "" && len(t.Tests) == 0)
		v.Tasks = append(v.Tasks, t)
	}
	return v
}

// ofGoTest is a line that go test prints about a test.
var ofGoTest = regexp.MustCompile(`^ *--- (FAIL|PASS|SKIP): `)

// reported returns the failures of a test, each with a link to the task that explains it. What the test printed besides
// belongs to the last one. A test that failed and reported nothing has one failure, which is what it printed.
func reported(c course.Chapter, test gotest.Test) []failure.Failure {
	all := slices.Clone(test.Failures)
	for i := range all {
		if all[i].Read != "" {
			all[i].Read = ReadLink(c, all[i])
		}
	}
	var printed []string
	for line := range strings.SplitSeq(short(test.Output), "\n") {
		if strings.TrimSpace(line) != "" && !ofGoTest.MatchString(line) {
			printed = append(printed, line)
		}
	}
	switch {
	case len(printed) == 0:
	case len(all) == 0:
		all = []failure.Failure{{
			Test: test.Name, Kind: failure.Other, Problem: strings.TrimSpace(printed[0]), Rest: printed[1:],
		}}
	default:
		last := &all[len(all)-1]
		last.Rest = append(slices.Clone(last.Rest), printed...)
	}
	return all
}

// ReadLink returns the place that explains a failure: a task's heading in the chapter's README, or all of it.
func ReadLink(c course.Chapter, f failure.Failure) string {
	number := f.Task
	if f.Hole != nil {
		number = f.Hole.Task
	}
	readme := c.Dir + "/README.md"
	if task, ok := c.Task(number); ok {
		return readme + "#" + task.Anchor
	}
	return readme
}

// died is how a dump begins of a test binary that ended before it told of a test.
var died = regexp.MustCompile(`(?m)^(panic: |fatal error: )`)

// short leaves out the middle of a very long text: a loop that prints, a dump of ten thousand goroutines.
func short(text string) string {
	const lines, wide = 100, 1000 // at each end; of each
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if n := len(all) - 2*lines; n > 1 {
		all = append(append(slices.Clone(all[:lines]), fmt.Sprintf("… %d lines left out …", n)), all[len(all)-lines:]...)
	}
	for i, line := range all {
		if len(line) > wide {
			all[i] = strings.ToValidUTF8(line[:wide], "") + "…"
		}
	}
	return strings.Join(all, "\n")
}

func (t Task) judge(stopped bool) State {
	passed, skipped, holes := 0, 0, 0
	for _, test := range t.Tests {
		switch {
		case test.Status == gotest.Passed:
			passed++
		case test.Status == gotest.Skipped:
			skipped++
		case test.onlyHoles():
			holes++
		}
	}
	switch n := len(t.Tests); {
	case n == 0, stopped && passed == n:
		return Unknown
	case passed+skipped == n && passed > 0:
		return Passed
	case skipped == n && t.Bonus:
		return Bonus
	case holes+skipped == n:
		return Open
	}
	return Failing
}

func (t Test) failed() bool { return t.Status == gotest.Failed || t.Status == gotest.Broken }

func (t Test) onlyHoles() bool {
	for _, f := range t.Failures {
		if f.Hole == nil {
			return false
		}
	}
	return t.failed() && len(t.Failures) > 0
}

// First finds the task to work at: number, if there is such a task and it has not passed, or else the first that has
// not. ok is false when nothing is left.
func (v Verdict) First(number int) (task Task, ok bool) {
	for _, t := range v.Tasks {
		if t.Number == number && t.State != Passed {
			return t, true
		}
	}
	for _, t := range v.Tasks {
		if t.State != Passed && t.State != Bonus {
			return t, true
		}
	}
	return Task{}, false
}

// Matters finds the failure of the task to look at first: what runs and is wrong comes before what is not written yet,
// because it is about the code that was just typed; unless nothing of the task is written. Among equals the order is
// that of the tests, which is the text's.
func (t Task) Matters() (f failure.Failure, ok bool) {
	order := []bool{false, true} // whether of tests that met nothing but holes
	if t.Untouched {
		order = []bool{true, false}
	}
	for _, holes := range order {
		for _, test := range t.Tests {
			if !test.failed() || test.onlyHoles() != holes {
				continue
			}
			for _, f := range test.Failures {
				if (f.Hole != nil) == holes {
					return f, true
				}
			}
			return failure.Failure{
				Test: test.Name, Kind: failure.Other, Problem: "the test binary ended before this test did",
			}, true
		}
	}
	return failure.Failure{}, false
}

// Failures are all failures of the task, in the order of its tests.
func (t Task) Failures() (all []failure.Failure) {
	for _, test := range t.Tests {
		all = append(all, test.Failures...)
	}
	return all
}

// compilerLines takes the compiler's messages out of what go test prints around them.
func compilerLines(outside string) (lines []string) {
	for line := range strings.Lines(outside) {
		line = strings.TrimRight(line, "\r\n")
		isFrame := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
		if line == "" || slices.ContainsFunc([]string{"# ", "FAIL", "go: downloading"}, isFrame) {
			continue
		}
		lines = append(lines, strings.TrimPrefix(line, "vet: "))
	}
	return lines
}
