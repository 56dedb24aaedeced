package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
)

// boxRoot is a folder with two files of the box, and one of another chapter.
func boxRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"01-box/box.go", "01-box/box_test.go", "02-shelf/shelf.go"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	return root
}

func position(file string, line int) failure.Position {
	return failure.Position{File: file, Line: line}
}

func TestReports_have_places_below_the_root(t *testing.T) {
	root := boxRoot(t)
	v := judge(
		failed("TestTask1_a", failure.Failure{Kind: failure.Assertion, At: position("box_test.go", 7), Value: "the number",
			Problem: "not equal"}),
		failed("TestTask1_b", failure.Failure{Kind: failure.NotWritten, At: position("box_test.go", 9),
			Todo: &failure.Todo{Symbol: "Box.Put", At: position("box.go", 3), Task: 1}}),
		failed("TestTask2_a", failure.Failure{Kind: failure.NotWritten, At: position("box_test.go", 9),
			Todo: &failure.Todo{Symbol: "Lay", At: position("shelf.go", 4), Task: 1, Chapter: "02-shelf"}}),
		failed("TestTask2_b", failure.Failure{At: position("modeltest.go", 9), Problem: "never returned"}),
		failed("TestTask2_c", failure.Failure{At: position(filepath.Join(root, "01-box", "box_test.go"), 5)}))
	var got []Report
	for _, r := range v.Reports(root) {
		got = append(got, Report{File: r.File, Line: r.Line, Task: r.Task, Message: r.Message})
	}
	require.Equal(t, []Report{
		{File: "01-box/box_test.go", Line: 7, Task: 1, Message: "the number: not equal"},
		{File: "01-box/box.go", Line: 3, Task: 1, Message: "Box.Put is not written yet"},
		{File: "02-shelf/shelf.go", Line: 4, Task: 2, Message: "Lay is not written yet"},
		{Task: 2, Message: "never returned"},
		{File: "01-box/box_test.go", Line: 5, Task: 2},
	}, got)
}

func TestReports_of_what_is_no_failed_test(t *testing.T) {
	v := Verdict{Build: []string{"./01-box/box.go:5:2: too few arguments", "\thave ()", "01-box/box.go:7: undefined: x"}}
	require.Equal(t, []Report{
		{File: "01-box/box.go", Line: 5, Column: 2, Kind: "build", Message: "too few arguments", Rest: []string{"\thave ()"}},
		{File: "01-box/box.go", Line: 7, Kind: "build", Message: "undefined: x"},
	}, v.Reports(""))
	v = Verdict{Build: []string{"go: no C compiler"}, Vetted: true}
	require.Equal(t, []Report{{Kind: "vet", Message: "go: no C compiler"}}, v.Reports(""))
	v = Verdict{Crash: "panic: too early\ngoroutine 1"}
	require.Equal(t, []Report{{Kind: "panic", Message: "panic: too early", Rest: []string{"goroutine 1"}}}, v.Reports(""))

	stopped := Judge(box, Options{}, gotest.Result{Stopped: EndedByUser,
		Tests: []gotest.Test{test("TestTask1_a", gotest.Broken)}})
	reports := stopped.Reports("")
	require.Len(t, reports, 1)
	require.Equal(t, "stopped", reports[0].Kind)
	require.Equal(t, "TestTask1_a", reports[0].Test)
	require.Equal(t, "stopped: you ended it", reports[0].Message)
}

func TestReports_of_a_green_verdict_are_none_although_a_bonus_fails(t *testing.T) {
	v := judge(test("TestTask1_a", gotest.Passed), test("TestTask2_a", gotest.Passed), wrong("TestTask3_a"))
	require.True(t, v.Green())
	require.Empty(t, v.Reports(boxRoot(t)))
}
