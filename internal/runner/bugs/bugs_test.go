package bugs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner/overlay"
)

const set = `A preamble.

-- off-by-one/about --
test: TestTask1_Put
rule: one is one
symptom: Everything is twice there.
issue: #1
race: only
-- off-by-one/box.go Box.Put --
 func (b *Box) Put() {
-	b.n++

+	b.add(2)
 }
-- off-by-one/box.go Box.add --
func (b *Box) add(n int) { b.n += int(atomic.AddInt64(new(int64), int64(n))) }
-- off-by-one/box.go imports --
"sync/atomic"

-- gone/about --
test: TestTask1_Put
rule: what is put in is in
symptom: Nothing is there.
-- gone/box.go size --
-const size = 3
`

const box = `package box

import "fmt"

type Box struct{ n int }

const size = 3

// Put adds one.
func (b *Box) Put() {
	b.n++

}

func (b *Box) String() string { return fmt.Sprint(b.n) }
`

func load(t *testing.T, text string) ([]Bug, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644))
	return Load(dir)
}

func solution(content string) overlay.Layer {
	return overlay.Layer{Chapter: "01-box", Name: "solution", Files: []overlay.File{
		{Name: "other.go", Content: []byte("package box\n")},
		{Name: "box.go", Content: []byte(content)},
	}}
}

func TestApply_replaces_adds_and_removes_declarations(t *testing.T) {
	all, err := load(t, set)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "off-by-one", all[0].Name)
	require.Equal(t, "TestTask1_Put", all[0].Test)
	require.Equal(t, "#1", all[0].Issue)
	require.True(t, all[0].RaceOnly)

	right := solution(box)
	layer, err := all[0].Apply(right)
	require.NoError(t, err)
	require.Equal(t, "bug off-by-one", layer.Name)
	require.Equal(t, `package box

import (
	"fmt"
	"sync/atomic"
)

type Box struct{ n int }

const size = 3

// Put adds one.
func (b *Box) Put() {

	b.add(2)
}

func (b *Box) String() string { return fmt.Sprint(b.n) }

func (b *Box) add(n int) { b.n += int(atomic.AddInt64(new(int64), int64(n))) }
`, string(layer.Files[1].Content))
	require.Equal(t, box, string(right.Files[1].Content), "the solution itself is not touched")

	layer, err = all[1].Apply(right)
	require.NoError(t, err)
	require.NotContains(t, string(layer.Files[1].Content), "size")
}

func TestApply_removes_imports_that_are_no_longer_used(t *testing.T) {
	b := Bug{Changes: []Change{{File: "box.go", Symbol: "Box.String",
		Wrong: `func (b *Box) String() string { return "" }`}}}
	layer, err := b.Apply(solution(box))
	require.NoError(t, err)
	require.NotContains(t, string(layer.Files[1].Content), "fmt")
}

func TestApply_survives_changes_of_other_declarations_and_of_its_own(t *testing.T) {
	all, err := load(t, set)
	require.NoError(t, err)
	layer, err := all[0].Apply(solution("package box\n\ntype Box struct{ n, m int }\n\nfunc (b *Box) Put() { b.m++ }\n"))
	require.NoError(t, err)
	require.Contains(t, string(layer.Files[1].Content), "\tb.add(2)\n")
}

func TestApply_reports_what_is_gone(t *testing.T) {
	all, err := load(t, set)
	require.NoError(t, err)
	_, err = all[0].Apply(solution("package box\n"))
	require.ErrorContains(t, err, "wrong version off-by-one: box.go: the solution does not declare Box.Put")
	_, err = all[0].Apply(overlay.Layer{})
	require.ErrorContains(t, err, "the solution has no file box.go")
}

func TestFormat_writes_what_Load_reads(t *testing.T) {
	all, err := load(t, set)
	require.NoError(t, err)
	require.Equal(t, set, string(Format("A preamble.\n", all)))
}

func TestLoad_of_a_chapter_without_wrong_versions(t *testing.T) {
	all, err := Load(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestLoad_refuses_what_it_cannot_mean(t *testing.T) {
	const about = "-- a/about --\ntest: T\nrule: r\nsymptom: s\n"
	for name, c := range map[string]struct{ text, problem string }{
		"a part of another name": {about + "-- a/left --\nx\n", `part "a/left" is not called`},
		"no symbol":              {about + "-- a/box.go --\nx\n", `part "a/box.go" is not called`},
		"no test":                {"-- a/about --\nrule: r\nsymptom: s\n", "a/about needs a test, a rule and a symptom"},
		"an unknown key":         {"-- a/about --\ntset: T\n", `there is no key "tset"`},
		"race: sometimes":        {"-- a/about --\nrace: sometimes\n", `race can be "only"`},
		"no change":              {about, "a changes nothing"},
		"the same on both sides": {about + "-- a/box.go x --\n var x int\n", "a/box.go x changes nothing"},
		"an empty part":          {about + "-- a/box.go x --\n", "a/box.go x changes nothing"},
		"imports as in Go":       {about + "-- a/box.go imports --\nimport (\n", `a/box.go imports: "import (" is not an import`},
		"parts before about":     {"-- a/box.go x --\nvar x int\n", "a/box.go x has no a/about before it"},
		"the same name twice":    {about + "-- a/box.go x --\nvar x int\n" + about, "two wrong versions are called a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.text)
			require.ErrorContains(t, err, c.problem)
		})
	}
}

func TestLoad_takes_a_generated_file(t *testing.T) {
	all, err := load(t, "-- shares/about --\ntest: TestTask1_Copy\nrule: a copy shares nothing\nsymptom: Both change.\n"+
		"-- shares/zz_generated.deepcopy.go Box.DeepCopy --\n func (b *Box) DeepCopy() *Box {\n-\treturn &Box{}\n+\treturn b\n }\n")
	require.NoError(t, err)
	require.Equal(t, "zz_generated.deepcopy.go", all[0].Changes[0].File)
	require.Equal(t, "Box.DeepCopy", all[0].Changes[0].Symbol)
}
