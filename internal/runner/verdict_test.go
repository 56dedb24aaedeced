package runner

// These tests judge runs that they make up: what each task's state is, and which failure is shown first. What the go
// command really prints is in run_test.go.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
)

// box has two tasks and a bonus.
var box = course.Chapter{Dir: "01-box", Number: 1, Topic: "box", Tasks: []course.Task{
	{Number: 1, Title: "Put", ID: "box/put", Command: "go test ./01-box -run Task1"},
	{Number: 2, Title: "Empty", ID: "box/empty", Command: "go test ./01-box -run Task2"},
	{Number: 3, Title: "Lid", ID: "box/lid", Command: "go test ./01-box -run Task3", Bonus: true},
}}

func test(name string, status gotest.Status, output ...string) gotest.Test {
	return gotest.Test{Name: name, Status: status, Output: strings.Join(output, "")}
}

func failed(name string, all ...failure.Failure) gotest.Test {
	t := test(name, gotest.Failed, "--- FAIL: "+name+" (0.00s)\n")
	t.Failures = all
	return t
}

func todo(name string) gotest.Test {
	return failed(name, failure.Failure{
		Test: name, Kind: failure.NotWritten, Read: "01-box/README.md, task 1",
		Todo: &failure.Todo{Symbol: "Box.Put", At: failure.Position{File: "box.go", Line: 11}, Task: 1},
	})
}

func wrong(name string) gotest.Test {
	return failed(name, failure.Failure{
		Test: name, Kind: failure.Assertion, Value: "the number", Problem: "not equal", Wanted: "1", Got: "0", Why: "what is put in is in",
		Task: 2, Read: "01-box/README.md, task 2",
	})
}

func judge(tests ...gotest.Test) Verdict { return Judge(box, Options{}, gotest.Result{Tests: tests}) }

func states(v Verdict) (all []State) {
	for _, t := range v.Tasks {
		all = append(all, t.State)
	}
	return all
}

func TestJudge_tells_how_each_task_stands(t *testing.T) {
	pass, skip := func(n int) gotest.Test {
		return test(fmt.Sprintf("TestTask%d_a", n),
			gotest.Passed)
	}, func(n int) gotest.Test { return test(fmt.Sprintf("TestTask%d_s", n), gotest.Skipped) }
	for name, c := range map[string]struct {
		tests  []gotest.Test
		states []State
		green  bool
	}{
		"nothing begun": {[]gotest.Test{todo("TestTask1_a"), todo("TestTask2_a"), skip(3)},
			[]State{Open, Open, Bonus}, false},
		"one passes": {[]gotest.Test{pass(1), todo("TestTask2_a"), skip(3)}, []State{Passed, Open, Bonus},
			false},
		"all that one has to do": {[]gotest.Test{pass(1), pass(2), skip(3)}, []State{Passed, Passed, Bonus}, true},
		"a test that is skipped": {[]gotest.Test{pass(1), skip(1), pass(2), skip(3)}, []State{Passed, Passed, Bonus},
			true},
		"only skipped, and no bonus": {[]gotest.Test{skip(1), pass(2)}, []State{Open, Passed, Unknown}, false},
		"begun: one passes of two": {[]gotest.Test{pass(1), todo("TestTask1_b"), todo("TestTask2_a")},
			[]State{Failing, Open, Unknown}, false},
		"wrong": {[]gotest.Test{wrong("TestTask1_a"), todo("TestTask2_a"), skip(3)},
			[]State{Failing, Open, Bonus}, false},
		"the bonus passes": {[]gotest.Test{pass(1), pass(2), pass(3)}, []State{Passed, Passed, Passed}, true},
		"the bonus is begun": {[]gotest.Test{pass(1), pass(2), wrong("TestTask3_a")},
			[]State{Passed, Passed, Failing}, true},
		"a task has no tests": {[]gotest.Test{pass(1)}, []State{Passed, Unknown, Unknown}, false},
		"a test that belongs to no task fails": {[]gotest.Test{pass(1), pass(2), wrong("TestBug_mine")},
			[]State{Passed, Passed, Unknown}, true},
		"the binary died with a test": {[]gotest.Test{pass(1), test("TestTask2_a", gotest.Broken, "panic: gone\n")},
			[]State{Passed, Failing, Unknown}, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(c.tests...)
			require.Equal(t, c.states, states(v))
			require.Equal(t, c.green, v.Green())
		})
	}
}

func TestJudge_of_one_task_has_that_one_alone(t *testing.T) {
	v := Judge(box, Options{Task: box.Tasks[1]}, gotest.Result{Tests: []gotest.Test{test("TestTask2_a", gotest.Passed)}})
	require.Equal(t, []State{Passed}, states(v))
	require.True(t, v.Green())
}

// A bonus task that runs alone has a verdict.
func TestGreen_of_a_bonus_alone_means_that_it_passes(t *testing.T) {
	only := Options{Task: box.Tasks[2]}
	require.False(t, Judge(box, only, gotest.Result{Tests: []gotest.Test{wrong("TestTask3_a")}}).Green())
	require.True(t, Judge(box, only, gotest.Result{Tests: []gotest.Test{test("TestTask3_a", gotest.Passed)}}).Green())
	require.False(t, Verdict{}.Green(), "no verdict is not green")
}

func TestJudge_of_code_that_does_not_compile_gives_the_compilers_lines_alone(t *testing.T) {
	v := Judge(box, Options{}, gotest.Result{Exit: 1,
		Outside: "go: downloading k8s.io/x v1\n# client-go-workshop/01-box " +
			"[client-go-workshop/01-box.test]\r\n01-box/box.go:9:2: undefined: x\r\n\nFAIL\tclient-go-workshop/01-box [build " +
			"failed]\nFAIL\n"})
	require.Equal(t, []string{"01-box/box.go:9:2: undefined: x"}, v.Build)
	require.Equal(t, []State{Unknown, Unknown, Unknown}, states(v))
	require.False(t, v.Green())
}

func TestJudge_of_vet_leaves_its_name_out(t *testing.T) {
	v := Judge(box, Options{}, gotest.Result{Outside: "# client-go-workshop/01-box\n# " +
		"[client-go-workshop/01-box]\nvet: 01-box/box.go:9:2: x declared and not used\nFAIL\tclient-go-workshop/01-box " +
		"[build failed]\n"})
	require.Equal(t, []string{"01-box/box.go:9:2: x declared and not used"}, v.Build)
}

func TestJudge_of_a_run_without_tests_says_what_the_go_command_said(t *testing.T) {
	v := Judge(box, Options{}, gotest.Result{Outside: "?   \tclient-go-workshop/01-box\t[no test files]\n"})
	require.Equal(t, []string{"?   \tclient-go-workshop/01-box\t[no test files]"}, v.Build)
	v = Judge(box, Options{}, gotest.Result{Exit: 3})
	require.Equal(t, []string{"go test ran no test and printed nothing (exit code 3)"}, v.Build)
}

// A package variable may panic, before there is any test.
func TestJudge_of_a_binary_that_died_before_its_first_test_is_no_build_error(t *testing.T) {
	dump := "panic: too early\n\ngoroutine 1 [running]:\nclient-go-workshop/01-box.init()\n\t/w/01-box/box.go:8 " +
		"+0x1d\nFAIL\tclient-go-workshop/01-box\t0.01s\n"
	v := Judge(box, Options{}, gotest.Result{Outside: dump})
	require.Empty(t, v.Build)
	require.Contains(t, v.Crash, "panic: too early")
	require.Equal(t, []State{Unknown, Unknown, Unknown}, states(v))
	require.False(t, v.Green())
}

func TestJudge_of_a_run_that_was_stopped_knows_only_what_failed(t *testing.T) {
	v := Judge(box, Options{}, gotest.Result{Stopped: "it ran for 5m0s", Tests: []gotest.Test{
		test("TestTask1_a", gotest.Passed), // there may be more of them, which did not run
		test("TestTask2_a", gotest.Broken, "again\n", "and again\n"),
	}})
	require.Equal(t, []State{Unknown, Failing, Unknown}, states(v))
	require.Empty(t, v.Build)
	require.Empty(t, v.Crash, "we have ended it, so it did not crash")
	require.False(t, v.Green())
	f, ok := v.Tasks[1].Matters()
	require.True(t, ok)
	require.Equal(t, "it was still running when the run was stopped", f.Problem)
	require.Equal(t, []string{"again", "and again"}, f.Rest)
}

// A package variable that prints without end is not a compiler that says much.
func TestJudge_of_a_run_that_was_stopped_before_its_first_test_has_no_build_errors(t *testing.T) {
	v := Judge(box, Options{}, gotest.Result{Stopped: "it printed more than 64 MB",
		Outside: strings.Repeat("again\n", 10_000)})
	require.Empty(t, v.Build)
	require.Equal(t, []State{Unknown, Unknown, Unknown}, states(v))
}

func left(name string) gotest.Test {
	return failed(name, failure.Failure{Test: name, Kind: failure.NotRun, Problem: "not run: 3 earlier tests hung"})
}

// After some hangs no test is run, which says nothing about the tasks behind.
func TestJudge_of_tests_that_were_left_out_knows_nothing(t *testing.T) {
	v := judge(wrong("TestTask1_a"), left("TestTask1_b"), left("TestTask2_a"), left("TestTask2_b"),
		test("TestTask3_a", gotest.Passed), left("TestTask3_b"))
	require.Equal(t, []State{Failing, Unknown, Unknown}, states(v))
	require.Equal(t, "0/2 tests", v.Tasks[0].Result())
	require.Equal(t, "not run", v.Tasks[1].Result())
	require.Equal(t, "stopped before the end", v.Tasks[2].Result())
	require.Equal(t, "not run", judge().Tasks[0].Result(), "not 0/0 tests")
}

// A todo of another chapter says nothing about a task of this one.
func TestJudge_of_a_todo_in_a_layer_below_knows_nothing(t *testing.T) {
	below := todo("TestTask1_a")
	below.Failures[0].Todo.Chapter, below.Failures[0].Read = "05-indexer", "05-indexer/README.md"
	v := judge(below)
	require.Equal(t, Unknown, v.Tasks[0].State)
	require.Equal(t, "not run", v.Tasks[0].Result())
	require.Equal(t, "05-indexer/README.md", v.Tasks[0].Failures()[0].Read)
}

func TestJudge_of_a_crash_keeps_the_dump(t *testing.T) {
	v := Judge(box, Options{}, gotest.Result{Outside: "exit status 2\n", Tests: []gotest.Test{
		test("TestTask1_a", gotest.Passed), test("TestTask2_a", gotest.Broken,
			"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select]:\n"),
	}})
	require.Contains(t, v.Crash, "fatal error: all goroutines are asleep")
	require.Contains(t, v.Crash, "exit status 2")
	f, ok := v.Tasks[1].Matters()
	require.True(t, ok)
	require.Equal(t, "fatal error: all goroutines are asleep - deadlock!", f.Problem)
}

// The code under test runs on goroutines of its own, whose panics end the test binary.
func TestJudge_of_a_crash_in_the_chapter_names_its_line_first(t *testing.T) {
	v := judge(test("TestTask2_a", gotest.Broken, `E0101 "Observed a panic" panic="close of closed channel"
panic: close of closed channel [recovered, repanicked]

goroutine 40 [running]:
k8s.io/apimachinery/pkg/util/runtime.handleCrash({0x1, 0x2}, {0x3})
	/mod/apimachinery/pkg/util/runtime/runtime.go:96 +0xd1
panic({0xc9e1e0?, 0xe0a2d0?})
	/go/src/runtime/panic.go:860 +0x13a
client-go-workshop/01-box.(*lid).close(0xc0001a2000)
	/w/01-box/lid.go:146 +0x5c
client-go-workshop/01-box_test.run(...)
	/w/01-box/box_test.go:9 +0x2f
`))
	f, ok := v.Tasks[1].Matters()
	require.True(t, ok)
	require.Equal(t, "panic: close of closed channel, at lid.go:146 in (*lid).close", f.Problem)
	require.Equal(t, "lid.go:146", f.Code.String())
	require.Contains(t, f.Rest, `E0101 "Observed a panic" panic="close of closed channel"`)
}

func TestJudge_shortens_what_nobody_would_read(t *testing.T) {
	long := strings.Repeat("é", 10_000) + "\n" + strings.Repeat("again and again\n", 10_000) + "the end\n"
	v := judge(test("TestTask1_a", gotest.Failed, long))
	f, ok := v.Tasks[0].Matters()
	require.True(t, ok)
	require.Len(t, f.Rest, 200, "100 lines at each end, one in between, and the first is the title")
	require.Equal(t, strings.Repeat("é", 500)+"…", f.Problem)
	require.Contains(t, f.Rest, "… 9802 lines omitted …")
	require.Equal(t, "the end", f.Rest[199])
}

func TestMatters_is_what_runs_and_is_wrong_before_what_is_not_written(t *testing.T) {
	v := judge(todo("TestTask1_a"), wrong("TestTask1_b"), wrong("TestTask1_c"))
	f, ok := v.Tasks[0].Matters()
	require.True(t, ok)
	require.Equal(t, "TestTask1_b", f.Test, "the order among equals is that of the tests")
	require.Nil(t, f.Todo)

	v = judge(todo("TestTask1_a"), todo("TestTask1_b"))
	f, ok = v.Tasks[0].Matters()
	require.True(t, ok)
	require.Equal(t, "TestTask1_a", f.Test)
	require.Equal(t, "Box.Put", f.Todo.Symbol)

	// One test that is wrong and then meets a todo: what is wrong is shown.
	v = judge(failed("TestTask1_a", todo("TestTask1_a").Failures[0], wrong("TestTask1_a").Failures[0]))
	f, ok = v.Tasks[0].Matters()
	require.True(t, ok)
	require.Equal(t, "not equal", f.Problem)
	require.Equal(t, Failing, v.Tasks[0].State)

	v = judge(test("TestTask1_a", gotest.Passed))
	_, ok = v.Tasks[0].Matters()
	require.False(t, ok)
}

func TestJudge_links_each_failure_to_its_task(t *testing.T) {
	linked := box
	linked.Tasks = slices.Clone(box.Tasks)
	linked.Tasks[0].Anchor, linked.Tasks[1].Anchor = "task-1-put", "task-2-empty"
	v := Judge(linked, Options{}, gotest.Result{Tests: []gotest.Test{todo("TestTask1_a"), wrong("TestTask1_b")}})
	var links []string
	for _, f := range v.Tasks[0].Failures() {
		links = append(links, f.Read)
	}
	require.Equal(t, []string{"01-box/README.md#task-1-put", "01-box/README.md#task-2-empty"}, links)
}

func TestJudge_keeps_what_a_failing_test_printed(t *testing.T) {
	one := wrong("TestTask1_a")
	one.Output += "    --- PASS: TestTask1_a/sub (0.00s)\nprinted by the code\n\n"
	require.Equal(t, []string{"printed by the code"}, judge(one).Tasks[0].Failures()[0].Rest)
	require.Empty(t, one.Failures[0].Rest, "the run's own result stays as it is")
}

func TestMatters_of_a_test_that_said_nothing_says_that_it_did_not_end(t *testing.T) {
	f, ok := judge(test("TestTask1_a", gotest.Broken)).Tasks[0].Matters()
	require.True(t, ok)
	require.Equal(t, "the test binary ended before this test did", f.Problem)
}

func TestFailures_are_those_of_all_tests_in_order(t *testing.T) {
	v := judge(wrong("TestTask1_a"), test("TestTask1_b", gotest.Passed), todo("TestTask1_c"))
	var names []string
	for _, f := range v.Tasks[0].Failures() {
		names = append(names, f.Test)
	}
	require.Equal(t, []string{"TestTask1_a", "TestTask1_c"}, names)
	passed, all := v.Tasks[0].Count()
	require.Equal(t, "1 of 3", fmt.Sprintf("%d of %d", passed, all))
}

func TestFirst_is_the_task_asked_for_or_the_first_that_has_not_passed(t *testing.T) {
	first := func(v Verdict, number int) int {
		task, ok := v.First(number)
		require.Equal(t, ok, task.Number > 0)
		return task.Number
	}
	v := judge(test("TestTask1_a", gotest.Passed), todo("TestTask2_a"), test("TestTask3_a", gotest.Skipped))
	require.Equal(t, 2, first(v, 0))
	require.Equal(t, 2, first(v, 1), "it has passed")
	require.Equal(t, 2, first(v, 9), "there is no such task")
	require.Equal(t, 3, first(v, 3), "a bonus task comes last")
	v = judge(test("TestTask1_a", gotest.Passed), test("TestTask2_a", gotest.Passed), test("TestTask3_a", gotest.Skipped))
	require.Equal(t, 0, first(v, 0), "a bonus is nothing that is left to do")
	v = judge(wrong("TestTask1_a"), wrong("TestTask2_a"))
	require.Equal(t, 1, first(v, 0))
	require.Equal(t, 2, first(v, 2))
}

func TestMarkUntouched_compares_with_the_stub_that_the_learner_began_with(t *testing.T) {
	dir, solution := t.TempDir(), t.TempDir()
	src := "// Package box counts.\npackage box\n\nfunc New() int { return hidden() }\n\n" +
		"//workshop:task 1\nfunc hidden() int { return 1 }\n\n//workshop:task 2\nfunc Two() {}\n"
	require.NoError(t, os.WriteFile(filepath.Join(solution, "box.go"), []byte(src), 0o644))
	for _, start := range []func(string) (map[string][]byte, error){stub.Dir, stub.BareDir} {
		files, err := start(solution)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "box.go"), files["box.go"], 0o644))
		v := judge(test("TestTask2_a", gotest.Passed), todo("TestTask2_b"))
		require.Equal(t, Failing, v.Tasks[1].State)
		v.Todos = todos(dir)
		v.markUntouched(dir, solution)
		require.True(t, v.Tasks[0].Untouched)
		require.True(t, v.Tasks[1].Untouched)
		require.Equal(t, Open, v.Tasks[1].State, "a test that passes over a stub does not begin a task")
		v.Todos = v.Todos[1:]
		v.markUntouched(dir, solution)
		require.False(t, v.Tasks[0].Untouched)
		require.True(t, v.Tasks[1].Untouched)
	}
}

func TestFirst_is_behind_the_last_green_task_unless_a_green_one_is_broken(t *testing.T) {
	chapter := box
	chapter.Tasks = []course.Task{box.Tasks[0], box.Tasks[1],
		{Number: 3, Title: "Len", ID: "box/len", Command: "go test ./01-box -run Task3"}}
	v := Judge(chapter, Options{}, gotest.Result{Tests: []gotest.Test{
		wrong("TestTask1_a"), test("TestTask2_a", gotest.Passed), todo("TestTask3_a")}})
	first, _ := v.First(0)
	require.Equal(t, 3, first.Number)
	require.False(t, v.Broken())
	first, _ = v.First(1)
	require.Equal(t, 1, first.Number, "the learner works at it")
	v.Tasks[0].Green = true
	first, _ = v.First(0)
	require.Equal(t, 1, first.Number, "it was green")
	require.True(t, v.Broken())
}

// The README says with which test a task begins. A task that also changes a written function begins with a mistake.
func TestMatters_of_a_task_that_is_not_begun_is_its_first_test(t *testing.T) {
	for _, tests := range [][]gotest.Test{
		{wrong("TestTask1_a"), todo("TestTask1_b")}, {todo("TestTask1_a"), wrong("TestTask1_b")},
	} {
		task := judge(tests...).Tasks[0]
		f, ok := task.Matters()
		require.True(t, ok)
		require.Nil(t, f.Todo, "begun")
		task.Untouched = true
		f, ok = task.Matters()
		require.True(t, ok)
		require.Equal(t, "TestTask1_a", f.Test, "not begun")
	}
}
