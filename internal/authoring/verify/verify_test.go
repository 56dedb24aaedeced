package verify

// These tests plant a violation of each truth in a very small workshop, and see it reported.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/authoring/cmdtest"
	"client-go-workshop/internal/course"
)

// wrongText stands here because a txtar file cannot hold another one.
const wrongText = `6 wrong versions of the box.

-- never-full/about --
test: TestTask1_Put_counts
rule: what is put in is in
symptom: The box is always empty.
-- never-full/box.go Box.Put --
-func (b *Box) Put() { b.add(1) }
+func (b *Box) Put() {}
-- never-empty/about --
test: TestTask2_Empty_takes_all_out
rule: empty is empty
symptom: The box is full.
-- never-empty/box.go Box.Empty --
-func (b *Box) Empty() { b.n = 0 }
+func (b *Box) Empty() {}
-- counts-twice/about --
test: TestTask1_Put_counts
rule: one is one
symptom: The box is full too early.
-- counts-twice/box.go Box.Put --
-func (b *Box) Put() { b.add(1) }
+func (b *Box) Put() { b.add(2) }
-- counts-down/about --
test: TestTask1_Put_counts
rule: one is one
symptom: The box is never full.
-- counts-down/box.go Box.Put --
-func (b *Box) Put() { b.add(1) }
+func (b *Box) Put() { b.add(-1) }
-- leaves-one/about --
test: TestTask2_Empty_takes_all_out
rule: empty is empty
symptom: One thing stays in the box.
-- leaves-one/box.go Box.Empty --
-func (b *Box) Empty() { b.n = 0 }
+func (b *Box) Empty() { b.n = 1 }
-- adds-one/about --
test: TestTask2_Empty_takes_all_out
rule: empty is empty
symptom: The box is full.
-- adds-one/box.go Box.Empty --
-func (b *Box) Empty() { b.n = 0 }
+func (b *Box) Empty() { b.n++ }
`

const designWrong = `-- keeps-the-last/about --
test: TestTask2_Empty_takes_all_out
rule: empty is empty
symptom: One thing stays in the box.
-- keeps-the-last/box.go Box.Empty --
-func (b *Box) Empty() { b.things = nil }
+func (b *Box) Empty() { b.things = b.things[:1] }
`

const textWrong = `-- keeps-a-letter/about --
test: TestTask2_Empty_takes_all_out
rule: empty is empty
symptom: One thing stays in the box.
-- keeps-a-letter/box.go Box.Empty --
-func (b *Box) Empty() { b.things = "" }
+func (b *Box) Empty() { b.things = "x" }
`

// home is the folder of all small workshops, one after the other: the build cache knows the packages by their path, and
// the kept results serve all tests.
var home string

func TestMain(m *testing.M) {
	var err error
	if home, err = os.MkdirTemp("", "verify"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// newWorkshop lays out testdata/workshop.txtar, with the packages that its tests need.
func newWorkshop(t *testing.T) string {
	t.Helper()
	root := home
	old, err := filepath.Glob(filepath.Join(root, "*"))
	require.NoError(t, err)
	made := filepath.Join(root, ".workshop")
	for _, path := range append(old, filepath.Join(made, "overlay"), filepath.Join(made, "programs")) {
		require.NoError(t, os.RemoveAll(path))
	}
	require.NoError(t, cmdtest.Workshop(root, "testdata/workshop.txtar"))
	write(t, root, "solutions/01-box/bugs.txtar", wrongText)
	write(t, root, "solutions/01-box/testdata/designs/list/bugs.txtar", designWrong)
	write(t, root, "solutions/01-box/testdata/designs/text/bugs.txtar", textWrong)
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	written, kept, err := Generate(root, box)
	require.NoError(t, err)
	require.Empty(t, append(written, kept...), "the stub in the archive is up to date")
	return root
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func replace(t *testing.T, root, name, old, new string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	require.Contains(t, string(content), old)
	write(t, root, name, strings.Replace(string(content), old, new, 1))
}

// check runs some truths, and returns the problems found with each.
func check(t *testing.T, root string, o Options) map[string]string {
	t.Helper()
	chapters, err := course.All(root)
	require.NoError(t, err)
	o.Root, o.Chapters = root, chapters
	findings, err := Run(context.Background(), o)
	require.NoError(t, err)
	problems := map[string]string{}
	for _, f := range findings {
		problems[f.Truth] = strings.Join(f.Problems, "\n")
	}
	return problems
}

func TestRun_finds_nothing_where_all_is_true(t *testing.T) {
	root := newWorkshop(t)
	for truth, problems := range check(t, root, Options{Pristine: true}) {
		require.Empty(t, problems, truth)
	}
}

// Chapters are checked at once; the findings come in their order all the same, and each is reported once.
func TestRun_keeps_the_order_of_the_chapters(t *testing.T) {
	root, err := course.Root(".")
	require.NoError(t, err)
	chapters, err := course.All(root)
	require.NoError(t, err)
	var want, reported []string
	for _, c := range chapters {
		want = append(want, c.Dir+" derived", c.Dir+" references")
	}
	findings, err := Run(t.Context(), Options{Root: root, Chapters: chapters, Truths: []string{"references", "derived"},
		Report: func(f Finding) { reported = append(reported, f.Chapter+" "+f.Truth) }})
	require.NoError(t, err)
	var got []string
	for _, f := range findings {
		got = append(got, f.Chapter+" "+f.Truth)
	}
	require.Equal(t, want, got)
	require.ElementsMatch(t, want, reported)
}

func TestRun_does_not_look_at_what_a_learner_has_typed(t *testing.T) {
	root := newWorkshop(t)
	write(t, root, "01-box/box.go", "package box\n\nfunc broken( {\n")
	write(t, root, "01-box/mine.go", "package something_else\n")
	for truth, problems := range check(t, root, Options{}) {
		require.Empty(t, problems, truth)
	}
	problems := check(t, root, Options{Pristine: true, Truths: []string{"derived"}})
	require.Contains(t, problems["derived"], "01-box/box.go was worked on")
}

func TestRun_reports_what_is_not_true(t *testing.T) {
	secondTask := "## Task 2: Empty (5 min)\n\n```sh\ngo test ./01-box -run Task2\n```\n"
	for _, c := range []struct {
		name    string
		truth   string
		plant   func(t *testing.T, root string)
		problem string // what the report must say
	}{
		{"a test that passes on the stub", "stubs", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "b.Put()\n\t\trequire.Equal(t, 1, b.Len()", "require.Equal(t, 0, b.Len()")
		}, "TestTask1_Put_counts passed on the stubs"},
		{"a test that fails for another reason", "stubs", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "b.Put()\n\t\trequire.Equal(t, 1, b.Len()", "require.Equal(t, 1, b.Len()")
		}, "TestTask1_Put_counts fails on the stubs for another reason"},
		{"a test that needs a later task", "stubs", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "b.Put()\n\t\trequire.Equal(t, 1, b.Len()",
				"b.Empty()\n\t\trequire.Equal(t, 0, b.Len()")
		}, "needs Box.Empty, which is only written in task 2"},
		{"a stub that does not compile", "stubs", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "return b.n }", "b.add(0); return b.n }")
		}, "solutions/01-box/box.go:13: the stub would not compile: b.add undefined"},
		{"a listed exception that is none", "stubs", func(t *testing.T, root string) {
			write(t, root, "solutions/01-box/"+PassesOnStub, "TestTask1_Put_counts: it is magic\n")
		}, "take it off the list"},
		{"a test outside of every task", "reached", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "func TestTask2_Empty_takes", "func TestEmpty_takes")
		}, "TestEmpty_takes_all_out belongs to no task"},
		{"a test of a task that does not exist", "reached", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "func TestTask2_Empty_takes", "func TestTask3_Empty_takes")
		}, "belongs to task 3, which the README does not have"},
		{"a command that misses a test", "reached", func(t *testing.T, root string) {
			replace(t, root, "01-box/README.md", secondTask, strings.Replace(secondTask, "-run Task2", "-run Task2_Full", 1))
		}, "does not run TestTask2_Empty_takes_all_out"},
		{"a command that runs too much", "reached", func(t *testing.T, root string) {
			replace(t, root, "01-box/README.md", secondTask, strings.Replace(secondTask, "-run Task2", "-run Task", 1))
		}, "is shown for task 2 and also runs TestTask1_Put_counts"},
		{"a failure that exits 0", "reached", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "func TestTask1_",
				"func TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n\nfunc TestTask1_")
			replace(t, root, "01-box/box_test.go", "\"testing\"\n", "\"os\"\n\t\"testing\"\n")
		}, "exits 0"},
		{"a todo of a task that does not exist", "reached", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "//workshop:task 2", "//workshop:task 7")
		}, "Box.Empty is to be written in task 7, which the README does not have"},
		{"a task with nothing to write", "reached", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "//workshop:task 2", "//workshop:task 1")
		}, "task 2 leaves nothing to write"},
		{"a text that names a test which does not exist", "reached", func(t *testing.T, root string) {
			replace(t, root, "01-box/README.md", "`TestTask2_Empty_takes_all_out`", "`TestTask2_Empty_takes_some_out`")
		}, "01-box/README.md:29: there is no test TestTask2_Empty_takes_some_out"},
		{"a task whose command is far below its heading", "reached", func(t *testing.T, root string) {
			replace(t, root, "01-box/README.md", "## Task 2: Empty (5 min)\n",
				"## Task 2: Empty (5 min)\n"+strings.Repeat("Long ago.\n\n", 5))
		}, "01-box/README.md:23: task 2 shows its command and its first test within 12 lines"},
		{"a task without hints", "reached", func(t *testing.T, root string) {
			replace(t, root, "01-box/hints.md", "## Task 2: Empty\n\n1. Look.\n2. Think.\n", "")
		}, "hints.md has 0 hints for task 2"},
		{"a stale stub", "derived", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "// Put adds one.", "// Put adds one thing.")
		}, "01-box/box.go is stale"},
		{"a stub without a solution", "derived", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/checksums.txt", "  box.go\n", "  box.go\n0000  lid.go\n")
		}, "01-box/lid.go has no solution any more"},
		{"a test that is not the listed one", "derived", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "func TestTask1_Put", "func disabled_Put")
		}, "01-box/box_test.go does not match checksums.txt"},
		{"a wrong version of another declaration", "derived", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/bugs.txtar", "{ b.n = 0 }", "{ b.n = 1 }")
		}, "the wrong version never-empty is not made from the solution's Box.Empty in box.go; " +
			"run `go tool author generate`"},
		{"a test of a task that only a later task makes green", "alone", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "func (b *Box) Put() { b.add(1) }",
				"func (b *Box) Put() { b.Empty(); b.add(1) }")
		}, "the solution's code of tasks 1 to 1 does not pass TestTask1_Put_counts"},
		{"a bare stub that does not compile", "bare", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "type Box struct{ n int }",
				"type Box struct{ n int }\n\nvar _ interface{ add(int) } = (*Box)(nil)")
		}, "missing method add"},
		{"a bare stub that does not fit what imports it", "bare", func(t *testing.T, root string) {
			write(t, root, "cmd/uses/main.go", "package main\n\nimport box \"client-go-workshop/01-box\"\n\n"+
				"func main() { (&box.Box{}).Close() }\n")
		}, "Close undefined"},
		{"a test that passes on the bare stub", "bare", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "b.Put()\n\t\trequire.Equal(t, 1, b.Len()",
				"require.Equal(t, 1, len([]any{b})")
		}, "TestTask1_Put_counts passed on the bare stub"},
		{"a test that needs a later task of the bare stub", "bare", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "b.Put()\n\t\trequire.Equal(t, 1, b.Len()",
				"b.Empty()\n\t\trequire.Equal(t, 0, b.Len()")
		}, "needs Box.Empty, which is only written in task 2"},
		{"a bare stub with one other design", "bare", func(t *testing.T, root string) {
			require.NoError(t, os.RemoveAll(filepath.Join(root, "solutions/01-box/testdata/designs/text")))
		}, "has fewer than 2 other designs"},
		{"a design with other types than the bare stub", "bare", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/testdata/designs/text/box.go", "Empty()", "Empty(...int)")
		}, `the design text does not fit the bare stub: Box.Empty is "func(...int)" in it, not "func()"`},
		{"a chapter with one design", "shapes", func(t *testing.T, root string) {
			require.NoError(t, os.RemoveAll(filepath.Join(root, "solutions/01-box/testdata")))
		}, "has no other correct design"},
		{"a design that fails", "shapes", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/testdata/designs/list/box.go", "append(b.things, 1)", "append(b.things, 1, 1)")
		}, "the design list does not pass TestTask1_Put_counts"},
		{"a design without a wrong version", "shapes", func(t *testing.T, root string) {
			write(t, root, "solutions/01-box/testdata/designs/list/bugs.txtar", "")
		}, "has no wrong version"},
		{"a design's wrong version that survives", "shapes", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/testdata/designs/list/bugs.txtar", "b.things[:1]", "b.things[:0]")
		}, "the wrong version keeps-the-last (empty is empty) survives"},
		{"a design's wrong version of another declaration", "derived", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/testdata/designs/list/bugs.txtar", "b.things = nil", "b.things = []int{}")
		}, "is not made from the design list's Box.Empty in box.go"},
		{"a comment's promise that no test names", "contract", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "// Put adds one.", "// Put adds one. It never fails.")
		}, `box.go:10 (Box.Put): no test has a rule that begins with "It never fails"`},
		{"a point of the contract that no test names", "contract", func(t *testing.T, root string) {
			replace(t, root, "01-box/README.md", "- `Put` adds one.", "- `Put` adds one.\n- A box has [no](#) lid.")
		}, `01-box/README.md:6: no test has a rule that begins with "A box has no lid"`},
		{"a promise that is half of a rule's word", "contract", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", `"Put adds one."`, `"Put adds oneness."`)
		}, `begins with "Put adds one"`},
		{"a promise that no wrong version breaks", "contract", func(t *testing.T, root string) {
			set := strings.ReplaceAll(wrongText, "TestTask1_Put_counts", "TestTask2_Empty_takes_all_out")
			write(t, root, "solutions/01-box/bugs.txtar", set)
		}, `no wrong version fails with a rule that begins with "Put adds one"`},
		{"a line of the table for no promise", "contract", func(t *testing.T, root string) {
			write(t, root, "solutions/01-box/promises.txt", "What is empty => Empty takes all out\nA lid => none: no lid\n")
		}, `promises.txt:2: no promise begins with "A lid"`},
		{"a solution that fails", "solutions", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "b.n += n", "b.n += n + n")
		}, "the solution does not pass TestTask1_Put_counts: failed"},
		{"a test that client-go fails", "oracle", func(t *testing.T, root string) {
			replace(t, root, "internal/testkit/oracle/01-box/box.go", "b.n = 0", "")
		}, "client-go does not pass TestTask2_Empty_takes_all_out: failed"},
		{"a divergence that is none", "oracle", func(t *testing.T, root string) {
			write(t, root, "internal/testkit/oracle/01-box/"+Divergences, "TestTask1_Put_counts: client-go counts from two\n")
		}, "client-go passes it: take it off the list"},
		{"a set that has lost one", "bugs", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/bugs.txtar", "6 wrong", "7 wrong")
		}, "bugs.txtar has 6 wrong versions and says that it has 7"},
		{"a task with two wrong versions", "bugs", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/bugs.txtar", "test: TestTask2_", "test: TestTask1_")
		}, "task 2 has 2 wrong versions; it takes 3 or more"},
		{"a wrong version that survives", "bugs", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/bugs.txtar", "Empty() {}", "Empty() { b.n *= 0 }")
		}, "the wrong version never-empty (empty is empty) survives"},
		{"a wrong version that does not compile", "bugs", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/bugs.txtar", "Empty() {}", "Empty() { none }")
		}, "does not compile"},
		{"a wrong version of a symbol that is gone", "bugs", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/bugs.txtar", "Box.Empty", "Box.Clear")
		}, "the solution does not declare Box.Clear"},
		{"a wrong version for a test that is not there", "bugs", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/bugs.txtar", "TestTask2_Empty_takes_all_out", "TestTask2_Nothing")
		}, "no such test ran (exit code 0):\ntesting: warning: no tests to run"},
		{"a wrong version that kills the tests", "bugs", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/bugs.txtar", "Empty() {}",
				"Empty() { done := make(chan bool); go func() { defer close(done); panic(\"gone\") }(); <-done }")
		}, "takes the test binary with it"},
		{"a failure without its rule", "messages", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", `"Empty takes all out."`, `""`)
		}, "does not say why"},
		{"a failure that does not name its value", "messages", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", `0, b.Len(), "the number of things in the box"`, "0, b.Len()")
		}, "does not say which value it is about"},
		{"a failure without its steps", "messages", func(t *testing.T, root string) {
			replace(t, root, "01-box/box_test.go", "\t\tt.Did(\"Put, Empty\")\n", "")
		}, "does not say what was done"},
		{"a dead anchor", "references", func(t *testing.T, root string) {
			replace(t, root, "01-box/README.md", "# Chapter 01: The box\n", "# Chapter 01: The box\n\n[on](#task-9-nowhere)\n")
		}, "01-box/README.md:3"},
		{"an output that no command prints", "shown", func(t *testing.T, root string) {
			replace(t, root, "01-box/README.md", "--- FAIL: TestTask1_Put_counts (0.00s)\n",
				"--- FAIL: TestTask1_Put_counts (0.00s)\nall is well\n")
		}, "does not print what is shown"},
		{"a shown command that runs nothing", "shown", func(t *testing.T, root string) {
			replace(t, root, "01-box/README.md", "$ go test ./01-box -run Task1\n", "$ go test ./01-box -run Task1_Nothing\n")
		}, "runs no test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := newWorkshop(t)
			c.plant(t, root)
			require.Contains(t, check(t, root, Options{Truths: []string{c.truth}})[c.truth], c.problem)
		})
	}
}
