package verify

// This file checks what a learner starts from: the stubs, and the commands shown for the tasks. It runs the shown
// commands themselves, over the stubs as they are made from the solution.

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

// PassesOnStub is the file, in a solution's folder, that lists tests which a stub may pass: "TestName: why".
const PassesOnStub = "passes-on-stub.txt"

func stubs(r *run) (string, []string) {
	if err := r.vet(r.stub, r.pkg()); err != nil {
		return "compiled", []string{err.Error()}
	}
	runs := r.stubRuns()
	var p problems
	for name := range r.mayPass {
		if fails(name, runs) {
			p.add("%s is listed in %s and fails on the stubs all the same: take it off the list", name, PassesOnStub)
		}
	}
	failed := p.wantCode("the stubs", r.chapter.Tasks, runs, r.mayPass)
	return fmt.Sprintf("%d tests fail for want of code", failed), p
}

// vet compiles and vets packages over generated stubs, with their tests. If a stub does not compile, the error names
// the line of the solution that stays in it and needs something that does not.
func (r *run) vet(stubs overlay.Layer, args ...string) error {
	key := r.key(stubs, append(args, "vet", r.inputs.files)...)
	_, err := keep(r, key, func(bool) bool { return true }, func() (bool, error) {
		cmd, err := r.command(stubs, "vet", args...)
		if err != nil {
			return false, err
		}
		out, err := cmd.CombinedOutput()
		if err == nil {
			return true, nil
		}
		for _, m := range compileError.FindAllSubmatch(out, -1) {
			for _, f := range stubs.Files {
				number, _ := strconv.Atoi(string(m[2])) // the pattern has digits here
				path := filepath.Join(r.chapter.Solution(), f.Name)
				solution, err := os.ReadFile(filepath.Join(r.root, path))
				if f.Name == string(m[1]) && err == nil {
					line, text := lineOf(string(solution), strings.Split(string(f.Content), "\n")[:number])
					return false, fmt.Errorf("%s:%d: the %s would not compile: %s (in %q, which stays in the stub)",
						path, line, stubs.Name, m[3], text)
				}
			}
		}
		return false, fmt.Errorf("go vet of the %s: %s", stubs.Name, strings.TrimSpace(string(out)))
	})
	return err
}

var compileError = regexp.MustCompile(`(?m)^(?:.*[/\\])?([^/\\\s]+\.go):(\d+):(?:\d+:)? (.*)$`)

// lineOf returns the number and the text of the line in the solution that is the last one of the lines, which are the
// stub's. It looks for as many of them as it takes to find one place.
func lineOf(solution string, lines []string) (number int, text string) {
	for n := 1; n <= len(lines); n++ {
		before, after, found := strings.Cut(solution, strings.Join(lines[len(lines)-n:], "\n")+"\n")
		if found && (n == len(lines) || !strings.Contains(after, strings.Join(lines[len(lines)-n:], "\n")+"\n")) {
			number = strings.Count(before, "\n") + n
			break
		}
	}
	return number, strings.TrimSpace(lines[len(lines)-1])
}

// fails reports whether a test failed in the runs of the tasks.
func fails(name string, runs map[int]gotest.Result) bool {
	for _, res := range runs {
		if t, _ := res.Test(name); t.Status == gotest.Failed {
			return true
		}
	}
	return false
}

// stackDump is how the runtime begins to report a goroutine. No learner should begin with that.
var stackDump = regexp.MustCompile(`(?m)^\s*goroutine \d+ `)

// wantCode checks that every test fails over what, because code of its own task or an earlier one is missing, and
// returns how many do. runs holds the tasks' commands by number. A test in allowed may also pass.
func (p *problems) wantCode(
	what string, tasks []course.Task, runs map[int]gotest.Result, allowed map[string]string,
) (failed int) {
	for _, task := range tasks {
		res := runs[task.Number]
		if len(res.Tests) == 0 {
			p.add("`%s` over %s runs no test:\n%s", task.Command, what, res.Outside)
		}
		for _, t := range res.Tests {
			todo := t.Todo()
			_, mayPass := allowed[t.Name]
			switch {
			case stackDump.MatchString(t.Text()):
				p.add("%s prints a stack dump over %s:\n%s", t.Name, what, t.Text())
			case mayPass && t.Status != gotest.Failed:
			case t.Status != gotest.Failed:
				p.add("%s %s on %s: a learner would think that the work is done", t.Name, t.Status, what)
			case todo == nil:
				p.add("%s fails on %s for another reason than code that is not written yet:\n%s", t.Name, what, t.Text())
			case todo.Task > task.Number:
				p.add("%s belongs to task %d and needs %s, which is only written in task %d",
					t.Name, task.Number, todo.Symbol, todo.Task)
			default:
				failed++
			}
		}
	}
	return failed
}

// runTasks runs each task's command, as shown, over code of which most tests want more. It returns the results by the
// task's number.
func (r *run) runTasks(over code) map[int]gotest.Result {
	good := func(t gotest.Test) bool {
		_, mayPass := r.mayPass[t.Name]
		return t.Todo() != nil || mayPass && passes(t)
	}
	runs := map[int]gotest.Result{}
	for _, t := range r.chapter.Tasks {
		if quotes.Replace(t.Command) != fmt.Sprintf("go test %s -run %s", r.pkg(), t.Pattern()) {
			runs[t.Number] = gotest.Result{Outside: fmt.Sprintf("it is not `go test %s -run PATTERN`", r.pkg())}
			continue
		}
		runs[t.Number] = r.test(over, t.Pattern(), good)
	}
	return runs
}

var testOfTask = regexp.MustCompile(`^TestTask(\d+)_`)

func reached(r *run) (string, []string) {
	runs := r.stubRuns()
	names := r.inputs.names
	var p problems
	wanted := map[int][]string{}
	for _, name := range names {
		m := testOfTask.FindStringSubmatch(name)
		if m == nil {
			p.add("%s belongs to no task: its name does not begin with TestTask and a number", name)
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if _, known := r.chapter.Task(n); !known {
			p.add("%s belongs to task %d, which the README does not have", name, n)
		}
		wanted[n] = append(wanted[n], name)
	}
	for _, task := range r.chapter.Tasks {
		p.command(task, runs[task.Number], wanted[task.Number])
	}
	r.judgeSections(&p, slices.Concat(slices.Collect(maps.Values(wanted))...))
	r.judgeTodos(&p)
	return fmt.Sprintf("%d tests and %d todos in %d tasks", len(names), len(r.todos), len(r.chapter.Tasks)), p
}

// linesToTest is how far below its heading a task shows its command and its first test.
const linesToTest = 12

var namedTest = regexp.MustCompile(`\bTestTask(\d+)_\w+`)

// judgeSections checks that each task begins with its command and names a test, and that each named test exists.
func (r *run) judgeSections(p *problems, tests []string) {
	lines := strings.Split(string(must(os.ReadFile(filepath.Join(r.root, r.chapter.Dir, "README.md")))), "\n")
	for i, line := range lines {
		for _, name := range namedTest.FindAllString(line, -1) {
			if !slices.Contains(tests, name) {
				p.add("%s/README.md:%d: there is no test %s", r.chapter.Dir, i+1, name)
			}
		}
	}
	for _, t := range r.chapter.Tasks {
		top := strings.Join(lines[t.Line:min(t.Line+linesToTest, len(lines))], "\n")
		if !strings.Contains(top, t.Command) || !strings.Contains(top, fmt.Sprintf("TestTask%d_", t.Number)) {
			p.add("%s/README.md:%d: task %d shows its command and its first test within %d lines", r.chapter.Dir, t.Line,
				t.Number, linesToTest)
		}
	}
}

// command compares the tests that a task's command ran with the tests of that task.
func (p *problems) command(task course.Task, res gotest.Result, wanted []string) {
	for _, name := range wanted {
		if _, ran := res.Test(name); !ran {
			p.add("`%s` does not run %s, which belongs to task %d", task.Command, name, task.Number)
		}
	}
	for _, t := range res.Tests {
		if !slices.Contains(wanted, t.Name) {
			p.add("`%s` is shown for task %d and also runs %s", task.Command, task.Number, t.Name)
		}
	}
	if res.Exit == 0 {
		p.add("`%s` over the stubs exits 0: a failure that no script would notice", task.Command)
	}
}

// judgeTodos checks that each todo belongs to a task, and that each task has todos and two hints or more.
func (r *run) judgeTodos(p *problems) {
	written := map[int]bool{}
	for _, t := range r.todos {
		written[t.Task] = true
		if _, known := r.chapter.Task(t.Task); !known {
			p.add("%s:%d: %s is to be written in task %d, which the README does not have", t.file, t.Line, t.Symbol, t.Task)
		}
	}
	hints := must(course.Hints(r.root, r.chapter.Dir))
	for _, t := range r.chapter.Tasks {
		if !written[t.Number] {
			p.add("task %d leaves nothing to write: no function of the solution is marked for it", t.Number)
		}
		if n := len(hints[t.Number]); n < 2 {
			p.add("hints.md has %d hints for task %d; it takes two or three, from where to look to the shape", n, t.Number)
		}
	}
}
