package verify

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

func TestPredict_reports_what_is_not_true(t *testing.T) {
	const (
		once    = "solutions/01-box/testdata/predict/1-once/main.go"
		readme  = "01-box/README.md"
		page    = "01-box/predictions.md"
		changed = "01-box/predictions.md does not show the programs as they are, or what they print"
		noLink  = "01-box/README.md:8: the section of task 1 needs one line with a link to predictions.md#task-1-put " +
			"and `go tool workshop predict 01/1`"
	)
	prints := func(line string) func(*testing.T, string) {
		return func(t *testing.T, root string) { replace(t, root, once, "\tfmt.Println(b.Len())\n", line) }
	}
	for _, c := range []struct {
		name    string
		plant   func(t *testing.T, root string)
		problem string // what the report must say
	}{
		{"a program that does not compile", prints("\tfmt.Println(b.Size())\n"),
			"main.go:19:16: b.Size undefined"},
		{"a program over a wrong version that is none", func(t *testing.T, root string) {
			replace(t, root, once, "Wrong: counts-twice", "Wrong: counts-thrice")
		}, `01-box has no wrong version "counts-thrice"`},
		{"a program that prints the same twice", prints("\tfmt.Println(b.Len() > 0)\n"),
			"1-once prints the same over the solution and over counts-twice:\ntrue"},
		{"a program that chance decides", prints("\tfmt.Println(&b, b.Len())\n"),
			"1-once prints this over the solution, and at the second run something else:\n0x"},
		{"a wrong output that chance decides",
			prints("\tif b.Len() == 1 {\n\t\treturn\n\t}\n\tfmt.Println(&b)\n"),
			"1-once prints this over counts-twice, and at the second run something else:\n0x"},
		{"a program that fails", prints("\tpanic(fmt.Sprint(b.Len()))\n"),
			"1-once does not end well over the solution:\npanic: 1"},
		{"a program that prints much", prints("\tfor range 9 {\n\t\tfmt.Println(b.Len())\n\t}\n"),
			"1-once prints 9 lines over the solution"},
		{"a program that changed", prints("\tfmt.Println(b.Len(), b.Len())\n"), changed},
		{"a solution that changed", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "{ b.n = 0 }", "{ b.n = 7 }")
		}, changed},
		{"a page with another text", func(t *testing.T, root string) {
			replace(t, root, page, "Read the question", "Look at the question")
		}, changed},
		{"no page", func(t *testing.T, root string) {
			require.NoError(t, os.Remove(filepath.Join(root, page)))
		}, changed},
		{"a task without a link", func(t *testing.T, root string) {
			replace(t, root, readme, "[two short programs](predictions.md#task-1-put)", "two short programs")
		}, noLink},
		{"a task that does not name the command", func(t *testing.T, root string) {
			replace(t, root, readme, "workshop predict 01/1", "workshop predict 01")
		}, noLink},
		{"a link in the section of another task", func(t *testing.T, root string) {
			replace(t, root, readme, "#task-1-put", "#task-2-empty")
		}, noLink},
		{"a task with one program", func(t *testing.T, root string) {
			folder := filepath.Join(root, "solutions/01-box/testdata/predict/2-emptied")
			require.NoError(t, os.RemoveAll(folder))
		}, "task 2 has 1 programs to predict; it takes 2 or more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := newWorkshop(t)
			c.plant(t, root)
			require.Contains(t, check(t, root, Options{Truths: []string{"predict"}})["predict"], c.problem)
		})
	}
}

func TestUpdatePredictions_writes_what_the_programs_print(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	update := func() []string {
		changed, err := UpdatePredictions(t.Context(), root, box)
		require.NoError(t, err)
		return changed
	}
	page := func() string {
		text, err := os.ReadFile(filepath.Join(root, "01-box", "predictions.md"))
		require.NoError(t, err)
		return string(text)
	}
	before := page()
	changed := update()
	require.Equal(t, before, page(), "the page shows what the programs print")
	require.Empty(t, changed)

	main := "solutions/01-box/testdata/predict/1-twice/main.go"
	replace(t, root, main, "Two things are put", "Two `Put`s & no more are put")
	replace(t, root, main, "fmt.Println(b.Len())", "fmt.Println(\"```\", b.Len())")
	require.Equal(t, []string{"01-box/predictions.md"}, update())
	require.Contains(t, page(), "### Two `Put`s & no more are put into the box\n")
	require.Contains(t, page(), "It prints:\n\n````text\n``` 2\n````\n")
	require.Empty(t, check(t, root, Options{Truths: []string{"predict", "references"}})["references"])

	replace(t, root, main, "Two `Put`s & no more are put", "Two things are put")
	replace(t, root, main, "fmt.Println(\"```\", b.Len())", "fmt.Println(b.Len())")
	require.NoError(t, os.Remove(filepath.Join(root, "01-box", "predictions.md")))
	update()
	require.Equal(t, before, page(), "written again from nothing")
}

func TestUpdatePredictions_keeps_the_page_when_a_program_is_wrong(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	replace(t, root, "solutions/01-box/testdata/predict/1-once/main.go", "b.Len()", "b.Size()")
	_, err = UpdatePredictions(t.Context(), root, box)
	require.ErrorContains(t, err, "b.Size undefined")
}
