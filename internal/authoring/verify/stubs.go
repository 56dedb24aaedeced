package verify

// This file checks what a learner starts from: the stubs, and the commands shown for the tasks. It runs the shown
// commands themselves, over the stubs as they are made from the solution.

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

// PassesOnStub is the file, in a solution's folder, that lists tests which a stub may pass: "TestName: why".
const PassesOnStub = "passes-on-stub.txt"

func stubs(r *run) (string, []string) {
	layer, err := r.stubLayer()
	if err != nil {
		return "made from the solution", []string{err.Error()}
	}
	_, err = keep(r, "vet of the stubs "+r.inputs.all(), []overlay.Layer{layer}, always, func() (bool, error) {
		return true, r.vet(layer)
	})
	if err != nil {
		return "compiled", []string{err.Error()}
	}
	if err := r.runTasks(); err != nil {
		return "tested", []string{err.Error()}
	}
	allowed, err := r.passesOnStub()
	if err != nil {
		return "", []string{err.Error()}
	}
	var p problems
	for name := range allowed {
		if fails(name, r.stubRuns) {
			p.add("%s is listed in %s and fails on the stubs all the same: take it off the list", name, PassesOnStub)
		}
	}
	failed := p.wantCode("the stubs", r.chapter.Tasks, r.stubRuns, allowed)
	return fmt.Sprintf("%d tests fail for want of code", failed), p
}

// vet compiles and vets the stubs.
func (r *run) vet(stubs overlay.Layer) error {
	if err := r.compile(stubs); err != nil {
		return err
	}
	vet, err := r.command(stubs, "vet", r.pkg())
	if err != nil {
		return err
	}
	if out, err := vet.CombinedOutput(); err != nil {
		return fmt.Errorf("go vet of the stubs: %s", strings.TrimSpace(string(out)))
	}
	return nil
}

// passesOnStub returns the tests that a stub may pass, with the reasons.
func (r *run) passesOnStub() (map[string]string, error) {
	return r.list(filepath.Join(r.root, r.chapter.Solution(), PassesOnStub))
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
		if res.BuildFailed() || len(res.Tests) == 0 {
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

// runTasks runs each task's command, as shown, over the stubs. It does so once for all truths.
func (r *run) runTasks() error {
	if r.stubRuns != nil {
		return nil
	}
	layer, err := r.stubLayer()
	if err != nil {
		return err
	}
	r.stubRuns, err = r.runTasksOver(layer, r.stubProgram)
	return err
}

// stubProgram builds the tests over the stubs once.
func (r *run) stubProgram() (program, error) {
	if r.stubs.path != "" {
		return r.stubs, nil
	}
	layer, err := r.stubLayer()
	if err == nil {
		r.stubs, err = r.build(layer)
	}
	return r.stubs, err
}

// runTasksOver runs each task's command, as shown, over a layer. It returns the results by the task's number. build
// builds the binary for all commands that only choose tests by -run.
func (r *run) runTasksOver(layer overlay.Layer, build func() (program, error)) (map[int]gotest.Result, error) {
	allowed, err := r.passesOnStub()
	if err != nil {
		return nil, err
	}
	good := func(t gotest.Test) bool {
		_, mayPass := allowed[t.Name]
		return t.Todo() != nil || mayPass && passes(t)
	}
	runs := map[int]gotest.Result{}
	for _, t := range r.chapter.Tasks {
		args, err := testArgs(t.Command)
		if err != nil {
			return nil, err
		}
		if r.onlyPattern(args) {
			runs[t.Number], err = r.tested("tasks", layer, args[2], good, func(skip string) (gotest.Result, error) {
				built, err := build()
				if err != nil {
					return gotest.Result{}, err
				}
				return gotest.Run(r.ctx, r.start(built, "-test.run="+args[2], "-test.skip="+skip))
			})
		} else {
			runs[t.Number], err = r.test(layer, args...)
		}
		if err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// onlyPattern reports whether args do no more than choose tests of the chapter by -run.
func (r *run) onlyPattern(args []string) bool {
	return len(args) == 3 && args[0] == r.pkg() && args[1] == "-run"
}

// testArgs returns the arguments of a go test command.
func testArgs(command string) ([]string, error) {
	fields := strings.Fields(command)
	if len(fields) < 3 || fields[0] != "go" || fields[1] != "test" {
		return nil, fmt.Errorf("the command %q is not a go test", command)
	}
	return fields[2:], nil
}

var testOfTask = regexp.MustCompile(`^TestTask(\d+)_`)

func reached(r *run) (string, []string) {
	if err := r.runTasks(); err != nil {
		return "", []string{err.Error()}
	}
	names, err := keep(r, "names of the tests "+r.inputs.all(), nil, always, r.testNames)
	if err != nil {
		return "", []string{err.Error()}
	}
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
		p.command(task, r.stubRuns[task.Number], wanted[task.Number])
	}
	if err := r.judgeSections(&p, slices.Concat(slices.Collect(maps.Values(wanted))...)); err != nil {
		p.add("%v", err)
	}
	todos, err := r.judgeTodos(&p)
	if err != nil {
		p.add("%v", err)
	}
	return fmt.Sprintf("%d tests and %d todos in %d tasks", len(names), todos, len(r.chapter.Tasks)), p
}

// testNames asks the tests over the stubs for their names.
func (r *run) testNames() ([]string, error) {
	built, err := r.stubProgram()
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(r.ctx, built.path, "-test.list=^Test").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("list the tests: %w\n%s", err, out)
	}
	names := strings.Fields(string(out))
	if end := slices.IndexFunc(names, func(name string) bool { return !strings.HasPrefix(name, "Test") }); end >= 0 {
		names = names[:end] // a TestMain may print more
	}
	return names, nil
}

// linesToTest is how far below its heading a task shows its command and its first test.
const linesToTest = 12

var namedTest = regexp.MustCompile(`\bTestTask(\d+)_\w+`)

// judgeSections checks that each task begins with its command and names a test, and that each named test exists.
func (r *run) judgeSections(p *problems, tests []string) error {
	text, err := os.ReadFile(filepath.Join(r.root, r.chapter.Dir, "README.md"))
	if err != nil {
		return fmt.Errorf("read the tasks: %w", err)
	}
	lines := strings.Split(string(text), "\n")
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
	return nil
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

// judgeTodos checks that each todo belongs to a task, and that each task has todos and two hints or more. It returns
// the number of todos.
func (r *run) judgeTodos(p *problems) (todos int, err error) {
	solution, err := r.solution()
	if err != nil {
		return 0, err
	}
	written := map[int]bool{}
	for _, f := range solution.Files {
		found, err := stub.Todos(f.Name, f.Content)
		if err != nil {
			return 0, err
		}
		todos += len(found)
		for _, h := range found {
			written[h.Task] = true
			if _, known := r.chapter.Task(h.Task); !known {
				p.add("%s:%d: %s is to be written in task %d, which the README does not have",
					filepath.Join(r.chapter.Solution(), f.Name), h.Line, h.Symbol, h.Task)
			}
		}
	}
	hints, err := course.Hints(r.root, r.chapter.Dir)
	if err != nil {
		return todos, err
	}
	for _, t := range r.chapter.Tasks {
		if !written[t.Number] {
			p.add("task %d leaves nothing to write: no function of the solution is marked for it", t.Number)
		}
		if n := len(hints[t.Number]); n < 2 {
			p.add("hints.md has %d hints for task %d; it takes two or three, from where to look to the shape", n, t.Number)
		}
	}
	return todos, nil
}
