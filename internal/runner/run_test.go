package runner

// These tests run the go command on a module of a few lines.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/gotest"
)

// module lays out a chapter whose code and test are given.
func module(t *testing.T, code, test string) string {
	t.Helper()
	t.Setenv("GOFLAGS", "-vet=off")
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example\n\ngo 1.26\n", "01-box/box.go": code,
		"01-box/box_test.go": test} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

func TestRun_says_what_it_ran_and_what_is_not_written(t *testing.T) {
	root := module(t, "package box\n\n// panic(todo.Task(9, \"Not.A.Todo\"))\nfunc Put() {\n\tpanic(todo.Task(1, "+
		"\"Put\"))\n}\n\nvar todo t\n\ntype t struct{}\n\nfunc (t) Task(int, string) string { return \"\" }\n",
		"package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) {}\nfunc TestTask2_a(t *testing.T) { "+
			"t.Error(\"no\") }\n")
	var ended []string
	v, err := Run(t.Context(), root, box, Options{OnTest: func(test gotest.Test) {
		if test.Status != gotest.Running {
			ended = append(ended, test.Name)
		}
	}})
	require.NoError(t, err)
	require.Equal(t, "go test ./01-box", v.Command)
	require.Equal(t, []State{Passed, Failing, Unknown}, states(v))
	require.Equal(t, []string{"TestTask1_a", "TestTask2_a"}, ended)
	require.Len(t, v.Todos, 1)
	require.Equal(t, "Put at box.go:5, task 1", fmt.Sprintf("%s at %s, task %d", v.Todos[0].Symbol, v.Todos[0].At,
		v.Todos[0].Task))
	require.Positive(t, v.Took)
}

func TestRun_is_ended_by_who_watches_it(t *testing.T) {
	const test = `package box

import (
	"testing"
	"time"
)

func TestTask1_a(t *testing.T) {
	t.Attr("place", "eyJjYWxsIjoiR2V0IiwiYXQiOnsiZmlsZSI6InEuZ28iLCJsaW5lIjo0MX19")
	time.Sleep(time.Hour)
}
`
	stop := make(chan struct{})
	v, err := Run(t.Context(), module(t, "package box\n", test), box, Options{Stop: stop, OnTest: func(test gotest.Test) {
		if test.Status == gotest.Running && test.Place != nil {
			close(stop)
		}
	}})
	require.NoError(t, err)
	require.Equal(t, EndedByUser, v.Stopped)
	f, ok := v.AtTheStop()
	require.True(t, ok)
	require.Equal(t, "it was still running when the run was stopped, in Get at q.go:41", f.Problem)
	require.Equal(t, []State{Failing, Unknown, Unknown}, states(v))
}

// What go test asks of vet is said when nothing else is wrong any more, and then nothing is green.
func TestRun_asks_vet_last(t *testing.T) {
	code := "package box\n\nimport \"fmt\"\n\nfunc Put() string { return fmt.Sprintf(\"%d\", \"one\") }\n"
	var green []Verdict
	options := Options{OnGreen: func(v Verdict) { green = append(green, v) }}
	v, err := Run(t.Context(), module(t, code, "package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) { "+
		"t.Error(\"no\") }\nfunc TestTask2_a(t *testing.T) {}\n"), box, options)
	require.NoError(t, err)
	require.Empty(t, v.Build)
	require.Empty(t, green)
	require.Equal(t, []State{Failing, Passed, Unknown}, states(v))

	v, err = Run(t.Context(), module(t, code, "package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) "+
		"{}\nfunc TestTask2_a(t *testing.T) {}\n"), box, options)
	require.NoError(t, err)
	require.Len(t, green, 1, "the caller learns of green tests at once")
	require.Empty(t, green[0].Build)
	require.Equal(t, "go test ./01-box", green[0].Command)
	require.Len(t, v.Build, 1)
	require.Regexp(t, `^01-box/box\.go:5:\d+: fmt\.Sprintf format %d has arg "one" of wrong type string`, v.Build[0])
	require.True(t, v.Vetted)
	require.False(t, v.Green())
}

// Every test of one task passes while another task is still to be written. Then vet has its say about this task too.
func TestRun_asks_vet_although_another_task_is_not_written(t *testing.T) {
	code := "package box\n\nimport \"fmt\"\n\nfunc Put() string { return fmt.Sprintf(\"%d\", \"one\") }\n\n" +
		"func Get() {\n\tpanic(todo.Task(2, \"Get\"))\n}\n\nvar todo t\n\ntype t struct{}\n\n" +
		"func (t) Task(int, string) string { return \"\" }\n"
	root := module(t, code, "package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) {}\nfunc "+
		"TestTask2_a(t *testing.T) { t.Error(\"no\") }\n")
	v, err := Run(t.Context(), root, box, Options{})
	require.NoError(t, err)
	require.Empty(t, v.Build, "a test fails")

	v, err = Run(t.Context(), root, box, Options{Task: box.Tasks[0]})
	require.NoError(t, err)
	require.True(t, v.Vetted)
	require.Len(t, v.Build, 1)
	require.Contains(t, v.Build[0], `fmt.Sprintf format %d has arg "one" of wrong type string`)
	require.Equal(t, "go test ./01-box -run "+box.Tasks[0].Pattern(), v.Command)
}

// A test that fails says more than vet, whatever vet has found.
func TestRun_shows_a_failing_test_before_what_vet_has_found(t *testing.T) {
	code := "package box\n\nimport \"fmt\"\n\nfunc Put() string { return fmt.Sprintf(\"%d\", \"one\") }\n"
	v, err := Run(t.Context(), module(t, code, "package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) { "+
		"t.Error(\"no\") }\nfunc TestTask2_a(t *testing.T) {}\n"), box, Options{})
	require.NoError(t, err)
	require.Empty(t, v.Build)
	require.Equal(t, []State{Failing, Passed, Unknown}, states(v))
}

// A loop outside of any test is one that neither guard nor testing can end.
func TestRun_is_brief_first_and_then_as_always(t *testing.T) {
	test := "package box\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestTask1_a(t *testing.T) {\n\tif " +
		"os.Getenv(\"WORKSHOP_BRIEF\") == \"\" {\n\t\tt.Error(\"seen by the second look only\")\n\t}\n}\nfunc " +
		"TestTask2_a(t *testing.T) {}\n"
	root := module(t, "package box\n", test)
	green := 0
	v, err := Run(t.Context(), root, box, Options{OnGreen: func(v Verdict) { green++ }})
	require.NoError(t, err)
	require.Equal(t, 1, green, "the brief run passes")
	require.Equal(t, []State{Failing, Passed, Unknown}, states(v), "and what counts is the whole one")

	v, err = Run(t.Context(), root, box, Options{})
	require.NoError(t, err)
	require.Equal(t, []State{Failing, Passed, Unknown}, states(v), "without OnGreen nothing is brief")
}

func TestRun_looks_for_races_when_all_is_green(t *testing.T) {
	if !RaceDetector(t.Context()) {
		t.Skip("the race detector needs a C compiler")
	}
	test := "package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) {\n\tn, done := 0, make(chan bool)\n\t" +
		"go func() { n++; done <- true }()\n\tn++\n\t<-done\n}\nfunc TestTask2_a(t *testing.T) {}\n"
	green := 0
	v, err := Run(t.Context(), module(t, "package box\n", test), box, Options{OnGreen: func(v Verdict) { green++ }})
	require.NoError(t, err)
	require.Equal(t, 1, green, "nothing is wrong without the detector")
	require.Equal(t, []State{Failing, Passed, Unknown}, states(v))
	require.Equal(t, "go test -race ./01-box", v.Command)
}

func TestRun_says_that_the_binary_ended_before_its_first_test(t *testing.T) {
	for name, body := range map[string]string{
		"os.Exit(0)": "func init() { os.Exit(0) }", "os.Exit(3)": "var x = func() int { os.Exit(3); return 0 }()",
		"standard output": "func init() { os.Stdout.Close() }",
	} {
		root := module(t, "package box\n\nimport \"os\"\n\n"+body+"\n",
			"package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) {}\n")
		v, err := Run(t.Context(), root, box, Options{})
		require.NoError(t, err)
		require.NotEmpty(t, v.Build, name)
		require.Contains(t, v.Build[0], "before its first test", name)
	}
}

func TestRun_stops_at_its_limit(t *testing.T) {
	root := module(t, "package box\n\nvar X = func() int { for { } }()\n",
		"package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) {}\n")
	v, err := Run(t.Context(), root, box, Options{Limit: 3 * time.Second})
	require.NoError(t, err)
	require.Equal(t, "it ran for 3s", v.Stopped)
	require.Equal(t, []State{Unknown, Unknown, Unknown}, states(v))
}

func TestRun_that_is_cancelled_says_so(t *testing.T) {
	root := module(t, "package box\n", "package box\n\nimport \"testing\"\n\nfunc TestTask1_a(t *testing.T) {}\nfunc "+
		"TestTask2_a(t *testing.T) { select {} }\n")
	ctx, cancel := context.WithCancel(t.Context())
	v, err := Run(ctx, root, box, Options{OnTest: func(test gotest.Test) {
		if test.Status == gotest.Passed {
			cancel()
		}
	}})
	require.NoError(t, err)
	require.Equal(t, "it was cancelled", v.Stopped)
	require.Equal(t, Unknown, v.Tasks[0].State)
}

func TestCommand_is_what_one_would_type(t *testing.T) {
	controller := course.Chapter{Dir: "07-controller", Layers: true}
	for want, o := range map[string]Options{
		"go test ./07-controller":                                           {},
		"go test -race ./07-controller":                                     {Race: true},
		"go test ./07-controller -on client-go":                             {On: "client-go"},
		"go test -tags yours ./07-controller -on solutions,reflector=yours": {On: "solutions,reflector=yours"},
	} {
		args, err := Command(controller, o)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(args, " "))
	}
	args, err := Command(box, Options{Task: box.Tasks[1], Limit: time.Second})
	require.NoError(t, err)
	require.Equal(t, "go test ./01-box -run Task2", strings.Join(args, " "))
	_, err = Command(box, Options{On: "yours"})
	require.ErrorContains(t, err, "chapter 01-box does not run on other layers")
}

// Between two tasks the code of the next one is not written, or it spins. A save tells about the task at hand.
func TestRun_begins_with_the_tasks_up_to_the_learners(t *testing.T) {
	test := func(first, second, third string) string {
		return "package box\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ = time.Now\n\n" +
			"func TestTask2_a(t *testing.T) {" + second + "}\nfunc TestTask1_a(t *testing.T) {" + first + "}\n" +
			"func TestTask3_a(t *testing.T) {" + third + "}\n"
	}
	const fails, hangs = "t.Error(\"no\")", "time.Sleep(time.Hour)"
	all, theFirst := []State{Passed, Passed, Passed}, []State{Passed, Unknown, Unknown}
	for name, c := range map[string]struct {
		test   string
		upTo   int
		states []State
		early  []State // that OnGreen receives first; nil if it is not called
	}{
		"the task at hand fails":      {test(fails, hangs, hangs), 1, []State{Failing, Unknown, Unknown}, nil},
		"an earlier task fails":       {test(fails, "", hangs), 2, []State{Failing, Passed, Unknown}, nil},
		"the next task fails":         {test("", fails, ""), 1, []State{Passed, Failing, Passed}, theFirst},
		"the next task has no end":    {test("", hangs, fails), 1, []State{Passed, Failing, Unknown}, theFirst},
		"all pass":                    {test("", "", ""), 1, all, theFirst},
		"the last task, and all pass": {test("", "", ""), 3, all, all},
		"the bonus at hand fails":     {test("", "", fails), 3, []State{Passed, Passed, Failing}, nil},
		"another bonus fails": {
			test("", "", fails), 2, []State{Passed, Passed, Failing}, []State{Passed, Passed, Unknown},
		},
		"all tasks, if none is at hand": {test(fails, fails, ""), 0, []State{Failing, Failing, Passed}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var early []Verdict
			start := time.Now()
			v, err := Run(t.Context(), module(t, "package box\n", c.test), box, Options{UpTo: c.upTo, OnGreen: func(v Verdict) {
				early = append(early, v)
			}})
			require.NoError(t, err)
			require.Equal(t, c.states, states(v))
			require.Empty(t, v.Stopped, "a later task that has no end does not stop the verdict")
			require.Equal(t, name == "the next task has no end", v.Cut)
			if c.early == nil {
				require.Empty(t, early)
			} else {
				require.NotEmpty(t, early)
				require.Equal(t, c.early, states(early[0]), "it is the caller's, who may show it while the run goes on")
			}
			require.NotContains(t, v.Command, "-skip", "what a learner types")
			require.Less(t, time.Since(start), Limits.Time, "a later task that has no end ends before the whole run would")
		})
	}
}

// The tests of a bonus are skipped until it is begun, unless they are named.
func TestRun_at_a_bonus_names_its_tests(t *testing.T) {
	test := func(third string) string {
		return "package box\n\nimport (\n\t\"flag\"\n\t\"strings\"\n\t\"testing\"\n)\n\n" +
			"func TestTask1_a(t *testing.T) {}\nfunc TestTask2_a(t *testing.T) {}\nfunc TestTask3_a(t *testing.T) {\n\t" +
			"if !strings.Contains(flag.Lookup(\"test.run\").Value.String(), \"Task3\") {\n" +
			"\t\tt.Skip(\"a bonus\")\n\t}\n" + third + "}\n"
	}
	const fails = "t.Error(\"no\")"
	for name, c := range map[string]struct {
		test   string
		upTo   int
		states []State
		green  int // calls of OnGreen
	}{
		"at the bonus, which fails":  {test(fails), 3, []State{Passed, Passed, Failing}, 0},
		"at the bonus, which passes": {test(""), 3, []State{Passed, Passed, Bonus}, 1},
		"at the task before":         {test(fails), 2, []State{Passed, Passed, Bonus}, 2},
		"at none":                    {test(fails), 0, []State{Passed, Passed, Bonus}, 1},
	} {
		green := 0
		v, err := Run(t.Context(), module(t, "package box\n", c.test), box,
			Options{UpTo: c.upTo, OnGreen: func(Verdict) { green++ }})
		require.NoError(t, err)
		require.Equal(t, c.states, states(v), name)
		require.Equal(t, c.green, green, name)
		require.NotContains(t, v.Command, "-run", "what a learner types")
	}
}

func TestRun_of_a_binary_that_ends_early_with_code_0_is_not_green(t *testing.T) {
	const lines = `"=== RUN   TestTask1_a\n--- PASS: TestTask1_a (0.00s)\n=== RUN   TestTask2_a\n` +
		`--- PASS: TestTask2_a (0.00s)\n"`
	const both = "func TestTask1_a(t *testing.T) { Put() }\nfunc TestTask2_a(t *testing.T) { Put() }\n"
	for name, c := range map[string]struct {
		code, test string
		states     []State
	}{
		"passing lines from init": {"import \"os\"\n\nfunc Put() {}\nfunc init() { os.Stdout.WriteString(" + lines +
			"); os.Exit(0) }", both, []State{Passed, Failing, Unknown}},
		"in a test": {"import \"syscall\"\n\nfunc Put() { syscall.Exit(0) }", both, []State{Failing, Failing, Unknown}},
		"a test that did not run": {"import \"os\"\n\nfunc Put() {}\nfunc init() { os.Stdout.WriteString(" + lines +
			"+\"PASS\\n\"); os.Exit(0) }", both + "func TestTask2_b(t *testing.T) {}\n", []State{Passed, Failing, Unknown}},
	} {
		v, err := Run(t.Context(), module(t, "package box\n\n"+c.code+"\n", "package box\n\nimport \"testing\"\n\n"+c.test),
			box, Options{})
		require.NoError(t, err)
		require.False(t, v.Green(), name)
		require.Equal(t, c.states, states(v), name)
		require.Contains(t, v.Crash, "before the end of its tests", name)
	}
}
