// Package runner runs a chapter's tests over the learner's code and reports the state of each task.
//
// It calls the same `go test` that the chapter's text shows, sorts the results by task, and picks the failure to look
// at first. It never writes into a chapter's folder, and it stops code that loops or prints without end. Layout is in
// tui/style, and stored results are in workspace/progress.
package runner

import (
	"fmt"
	"maps"
	"math"
	"path"
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
	Open    State = "open"    // not begun: no function is written, or nothing but todos fails and nothing passes
	Failing State = "failing" // begun
	Passed  State = "passed"
	Bonus   State = "bonus"   // skipped: it is optional
	Unknown State = "unknown" // the tests did not run, or not to their end; a task without any code is Open then
)

// States are all states of a task.
var States = []State{Open, Failing, Passed, Bonus, Unknown}

// Verdict is what became of a run.
type Verdict struct {
	Chapter course.Chapter
	Tasks   []Task
	Build   []string       // the compiler's messages, or the go command's; then nothing ran, unless
	Vetted  bool           // all tests passed, and these are vet's
	Stopped string         // why the run was stopped before its end, as in gotest.Result
	Crash   string         // what the runtime printed when it ended the test binary
	Todos   []failure.Todo // what is still to be written, in all tasks, in the order of the files
	Only    string         // the one test that was to run; "" if all were
	Command string         // what was run, as one would type it
	Took    time.Duration
	Cut     bool // the tests of later tasks did not end within LaterTime
}

// Task is one task's share of a Verdict.
type Task struct {
	course.Task
	State State
	Tests []Test
	// Untouched reports whether every function that the task asks for is still to be written.
	Untouched bool
	Green     bool // it has passed in an earlier run; the caller of Run fills it in
}

// Test is one test.
type Test struct {
	Name     string
	Status   gotest.Status
	Failures []failure.Failure
}

// Count returns how many of the task's tests passed, and how many there are.
func (t Task) Count() (passed, all int) { return t.with(gotest.Passed), len(t.Tests) }

// Result returns what is known about the task's tests, such as "3/5 tests".
func (t Task) Result() string {
	passed, all := t.Count()
	switch {
	case t.notRun() == all:
		return "not run"
	case t.State == Unknown:
		return "stopped before the end"
	}
	return fmt.Sprintf("%d/%d tests", passed, all)
}

// notRun counts the tests that were left out, or that could not run on the layers below.
func (t Task) notRun() (n int) {
	left := func(f failure.Failure) bool { return f.Kind == failure.NotRun || f.Todo != nil && f.Todo.Chapter != "" }
	for _, test := range t.Tests {
		if slices.ContainsFunc(test.Failures, left) {
			n++
		}
	}
	return n
}

// with counts the tests with a status.
func (t Task) with(status gotest.Status) (n int) {
	for _, test := range t.Tests {
		if test.Status == status {
			n++
		}
	}
	return n
}

// Green reports whether everything passed that everybody has to do.
func (v Verdict) Green() bool {
	if len(v.Tasks) == 1 && v.Tasks[0].Bonus && v.Tasks[0].State != Passed && v.Tasks[0].State != Bonus {
		return false // a bonus task alone was asked for
	}
	return v.greenUpTo(math.MaxInt) && v.Only == "" && len(v.Tasks) > 0
}

// greenUpTo reports whether each task up to a number has passed, except for bonus tasks.
func (v Verdict) greenUpTo(number int) bool {
	open := func(t Task) bool { return t.Number <= number && t.State != Passed && !t.Bonus }
	return !slices.ContainsFunc(v.Tasks, open) && len(v.Build) == 0 && v.Stopped == "" && v.Crash == ""
}

// passed reports whether the task of a number, if there is one, has passed.
func (v Verdict) passed(number int) bool {
	return !slices.ContainsFunc(v.Tasks, func(t Task) bool { return t.Number == number && t.State != Passed })
}

// markUntouched marks the tasks without any code. They are not begun, although some of their tests may pass on a stub.
// A bonus that has only been looked at, in which nothing but todos fails, is not begun either.
func (v *Verdict) markUntouched(dir, solution string) {
	untouched := untouched(v.Todos, dir, solution)
	for i, t := range v.Tasks {
		v.Tasks[i].Untouched = untouched[t.Number]
		if (t.State == Unknown || t.State == Failing) && untouched[t.Number] || t.State == Open && len(v.Tasks) > 1 {
			v.Tasks[i].State = NotBegun(t.Task)
		}
	}
}

// NotBegun returns the state of a task without any code.
func NotBegun(t course.Task) State {
	if t.Bonus {
		return Bonus
	}
	return Open
}

// Untouched has the tasks, by their numbers, of which every function is still to be written: the chapter in dir has as
// many todos for them as the untouched stubs, or as the bare stub if dir began with it. Without a solution no task is
// untouched.
func Untouched(dir, solution string) map[int]bool { return untouched(todos(dir), dir, solution) }

func untouched(present []failure.Todo, dir, solution string) map[int]bool {
	none := map[int]bool{}
	if len(present) == 0 {
		return none
	}
	start := stub.Dir
	if files, _ := course.Code(dir); stub.IsBare(files) {
		start = stub.BareDir
	}
	made, _ := start(solution)
	left, all := map[int]int{}, map[int]int{} // by task
	for _, h := range present {
		left[h.Task]++
	}
	for _, h := range todosIn(made) {
		all[h.Task]++
	}
	for task, n := range left {
		none[task] = n == all[task]
	}
	return none
}

var todoPattern = regexp.MustCompile(`panic\(todo\.Task\((\d+), "([^"]+)"\)\)`)

// todos finds the functions that are not written yet. It ignores errors, because the tests report them.
func todos(dir string) []failure.Todo {
	files, _ := course.Code(dir)
	return todosIn(files)
}

// todosIn finds the functions that are not written yet in files, which it receives by name.
func todosIn(files map[string][]byte) (all []failure.Todo) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		number := 0
		for line := range strings.Lines(string(files[name])) {
			number++
			if m := todoPattern.FindStringSubmatch(line); m != nil && !strings.HasPrefix(strings.TrimSpace(line), "//") {
				task, _ := strconv.Atoi(m[1]) // digits, says the pattern
				at := failure.Position{File: name, Line: number}
				all = append(all, failure.Todo{Symbol: m[2], At: at, Task: task})
			}
		}
	}
	return all
}

// Judge sorts what a run came to.
func Judge(c course.Chapter, o Options, res gotest.Result) Verdict {
	v := Verdict{Chapter: c, Stopped: res.Stopped, Took: res.Took, Only: o.Only}
	switch {
	case res.BuildFailed():
		v.Build = compilerLines(res.Outside)
	case res.Early:
		v.Crash = strings.TrimSpace(endedEarly + "\n" + short(res.Outside))
	case len(res.Tests) > 0 || v.Stopped != "":
	case died.MatchString(res.Outside): // before its first test
		v.Crash = short(res.Outside)
	case res.Began && !strings.Contains(res.Outside, "no tests to run"):
		v.Build = append([]string{fmt.Sprintf("the test binary ended with exit code %d before its first test. Does an init "+
			"function, or the value of a package variable, call os.Exit or log.Fatal, or close standard output?", res.Exit)},
			compilerLines(res.Outside)...)
	default:
		if v.Build = compilerLines(res.Outside); len(v.Build) == 0 {
			v.Build = []string{fmt.Sprintf("go test ran no test and printed nothing (exit code %d)", res.Exit)}
		}
	}
	for _, task := range c.Tasks {
		if o.Task.Number > 0 && o.Task.Number != task.Number {
			continue
		}
		t := Task{Task: task}
		pattern := regexp.MustCompile(task.Pattern()) // go test has compiled it too
		for _, test := range res.Tests {
			if !pattern.MatchString(test.Name) {
				continue
			}
			t.Tests = append(t.Tests, Test{test.Name, test.Status, failures(c, test, v.Stopped != "")})
			if test.Crashed() && v.Stopped == "" && !res.Early {
				v.Crash = short(test.Text() + res.Outside)
			}
		}
		t.State = t.judge(res.Stopped != "" || v.Crash != "" && len(t.Tests) == 0)
		v.Tasks = append(v.Tasks, t)
	}
	return v
}

const endedEarly = "the test binary ended with exit code 0 before the end of its tests"

const stillRunning = "it was still running when the run was stopped"

// ofGoTest is a line that go test prints about a test.
var ofGoTest = regexp.MustCompile(`^ *--- (FAIL|PASS|SKIP): `)

// failures returns the failures of a test, each with a link to the task that explains it. Everything else that the test
// printed belongs to the last one. If it failed and reported nothing, there is one failure, with the printed lines.
func failures(c course.Chapter, test gotest.Test, stopped bool) []failure.Failure {
	switch {
	case test.Status == gotest.Broken && stopped:
		problem := stillRunning
		if test.Place != nil {
			problem += ", in " + test.Place.String()
		}
		return []failure.Failure{{
			Test: test.Name, Kind: failure.Hang, Problem: problem, Rest: strings.Split(short(test.Text()), "\n"),
		}}
	case test.Status != gotest.Failed && test.Status != gotest.Broken:
		return nil
	}
	all := slices.Clone(test.Failures)
	for i, f := range all {
		if f.Read != "" {
			all[i].Read = ReadLink(c, f)
		}
	}
	printed := slices.DeleteFunc(strings.Split(short(test.Output), "\n"), func(line string) bool {
		return strings.TrimSpace(line) == "" || ofGoTest.MatchString(line)
	})
	switch last := len(all) - 1; {
	case len(printed) == 0:
	case last >= 0:
		all[last].Rest = slices.Concat(all[last].Rest, printed)
	default:
		f := failure.Failure{Test: test.Name, Kind: failure.Other, Problem: strings.TrimSpace(printed[0]), Rest: printed[1:]}
		if problem, code := crashed(c, test.Output); problem != "" {
			f.Problem, f.Code, f.Rest = problem, code, printed
		}
		all = []failure.Failure{f}
	}
	return all
}

// crashed returns what ended a test binary, by what the runtime has printed, and the innermost line of the chapter's
// code. A handler of panics may have printed a log before. The problem is empty if there is no such line.
func crashed(c course.Chapter, output string) (problem string, code failure.Position) {
	begin := died.FindStringIndex(output)
	if begin == nil {
		return "", code
	}
	dump := output[begin[0]:]
	for _, m := range dumpedCall.FindAllStringSubmatch(dump, -1) {
		if path.Base(m[2]) != path.Base(c.Dir) || strings.HasSuffix(m[3], "_test.go") {
			continue
		}
		number, _ := strconv.Atoi(m[4]) // digits, says the pattern
		code = failure.Position{File: m[3], Line: number}
		_, function, _ := strings.Cut(path.Base(m[1]), ".")
		problem, _, _ = strings.Cut(dump, "\n")
		problem, _, _ = strings.Cut(problem, " [recovered")
		return fmt.Sprintf("%s, at %v in %s", problem, code, function), code
	}
	return "", code
}

// dumpedCall is a call in a dump: the function, and the folder, file and line.
var dumpedCall = regexp.MustCompile(`(?m)^(\S+)\(.*\)\n\s+(\S*)/([^/\n]+\.go):(\d+)`)

// ReadLink returns the place that explains a failure: a task's heading in the chapter's README, or all of it.
func ReadLink(c course.Chapter, f failure.Failure) string {
	number := f.Task
	if f.Todo != nil {
		number = f.Todo.Task
	}
	if f.Todo != nil && f.Todo.Chapter != "" {
		return f.Read
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
		all = append(append(slices.Clone(all[:lines]), fmt.Sprintf("… %d lines omitted …", n)), all[len(all)-lines:]...)
	}
	for i, line := range all {
		if len(line) > wide {
			all[i] = strings.ToValidUTF8(line[:wide], "") + "…"
		}
	}
	return strings.Join(all, "\n")
}

func (t Task) judge(stopped bool) State {
	n, passed, skipped, todos := len(t.Tests), t.with(gotest.Passed), t.with(gotest.Skipped), 0
	notRun := t.notRun()
	for _, test := range t.Tests {
		if test.onlyTodos() {
			todos++
		}
	}
	switch {
	case n == 0, notRun > 0 && passed+skipped+notRun == n, stopped && passed == n:
		return Unknown
	case passed+skipped == n && passed > 0:
		return Passed
	case skipped == n && t.Bonus:
		return Bonus
	case todos+skipped == n:
		return Open
	}
	return Failing
}

// aroundCompiler is a line that go test prints around the compiler's messages.
var aroundCompiler = regexp.MustCompile(`^(# |FAIL|go: downloading|$)`)

// compilerLines takes the compiler's messages out of the output of go test.
func compilerLines(outside string) (lines []string) {
	for line := range strings.Lines(outside) {
		if line = strings.TrimRight(line, "\r\n"); !aroundCompiler.MatchString(line) {
			lines = append(lines, strings.TrimPrefix(line, "vet: "))
		}
	}
	return lines
}
