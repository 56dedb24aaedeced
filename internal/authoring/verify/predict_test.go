package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

func TestPredict_reports_what_is_not_true(t *testing.T) {
	const once = "solutions/01-box/testdata/predict/1-once/main.go"
	const readme = "01-box/README.md"
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
		{"a program that changed", prints("\tfmt.Println(b.Len(), b.Len())\n"),
			"01-box/README.md:14: the program, or what it prints, has changed"},
		{"a solution that changed", func(t *testing.T, root string) {
			replace(t, root, "solutions/01-box/box.go", "{ b.n = 0 }", "{ b.n = 7 }")
		}, "the program, or what it prints, has changed"},
		{"a program that the text does not name", func(t *testing.T, root string) {
			replace(t, root, readme, "<!-- predict: 1-once -->\n", "<!-- predict: 1-twice -->\n")
		}, "1-once: the README must name it once, in the section of task 1"},
		{"a program in the section of another task", func(t *testing.T, root string) {
			replace(t, root, readme, "<!-- predict: 1-once -->", "<!-- predict: 2-emptied -->")
			replace(t, root, readme, "## Task 2: Empty (5 min)\n",
				"## Task 2: Empty (5 min)\n\n<!-- predict: 1-once -->\n<!-- /predict -->\n")
		}, "1-once: the README must name it once, in the section of task 1"},
		{"a text that names no program", func(t *testing.T, root string) {
			replace(t, root, readme, "<!-- predict: 1-once -->", "<!-- predict: 1-never -->")
		}, `01-box/README.md:14: there is no program "1-never"`},
		{"a block without an end", func(t *testing.T, root string) {
			replace(t, root, readme, "<!-- /predict -->\n", "")
		}, "line 14: no <!-- /predict --> ends the program 1-once"},
		{"an end without a beginning", func(t *testing.T, root string) {
			replace(t, root, readme, "<!-- predict: 1-once -->\n", "")
		}, "<!-- /predict --> ends no program"},
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

func TestUpdatePredict_writes_what_the_programs_print(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	changed, err := UpdatePredict(t.Context(), root, box)
	require.NoError(t, err)
	require.Empty(t, changed, "the text shows what the programs print")
	before, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)

	main := "solutions/01-box/testdata/predict/1-twice/main.go"
	replace(t, root, main, "Two things are put", "Two `Put`s & no more are put")
	replace(t, root, main, "fmt.Println(b.Len())", "fmt.Println(\"```\", b.Len())")
	changed, err = UpdatePredict(t.Context(), root, box)
	require.NoError(t, err)
	require.Equal(t, []string{"01-box/README.md:57: predict 1-twice"}, changed)
	after, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)
	title := "<summary>Predict: Two <code>Put</code>s &amp; no more are put into the box</summary>"
	require.Contains(t, string(after), title)
	require.Contains(t, string(after), "It prints:\n\n````text\n``` 2\n````\n")
	require.Empty(t, check(t, root, Options{Truths: []string{"predict", "references"}})["references"])

	replace(t, root, main, "Two `Put`s & no more are put", "Two things are put")
	replace(t, root, main, "fmt.Println(\"```\", b.Len())", "fmt.Println(b.Len())")
	_, err = UpdatePredict(t.Context(), root, box)
	require.NoError(t, err)
	again, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(again))
}

func TestUpdatePredict_fills_empty_blocks_only_where_a_program_is(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)
	first, rest, _ := strings.Cut(string(text), "<!-- predict: 1-once -->\n")
	_, rest, _ = strings.Cut(rest, "<!-- /predict -->\n")
	write(t, root, "01-box/README.md", first+"<!-- predict: 1-once -->\n<!-- /predict -->\n"+rest)
	_, err = UpdatePredict(t.Context(), root, box)
	require.NoError(t, err)
	filled, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)
	require.Equal(t, string(text), string(filled))

	replace(t, root, "01-box/README.md", "<!-- predict: 1-once -->", "<!-- predict: 1-never -->")
	_, err = UpdatePredict(t.Context(), root, box)
	require.ErrorContains(t, err,
		`01-box/README.md:14: there is no program "1-never" in solutions/01-box/testdata/predict`)
}
