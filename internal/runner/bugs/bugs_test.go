package bugs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner/overlay"
)

const bank = `A preamble.

-- off-by-one/about --
test: TestTask1_Put
rule: one is one
symptom: Everything is twice there.
issue: #1
race: only
-- off-by-one/right --
	n++
-- off-by-one/wrong --
	n += 2
-- off-by-one/right.2 --
// Put adds one.
-- off-by-one/wrong.2 --

-- gone/about --
test: TestTask1_Put
rule: what is put in is in
symptom: Nothing is there.
-- gone/right --
	n++
-- gone/wrong --

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

func TestApply_changes_what_is_right_into_what_is_wrong(t *testing.T) {
	all, err := load(t, bank)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "off-by-one", all[0].Name)
	require.Equal(t, "TestTask1_Put", all[0].Test)
	require.Equal(t, "#1", all[0].Issue)
	require.True(t, all[0].RaceOnly)

	right := solution("package box\n\n// Put adds one.\nfunc Put() {\n\tn++\n}\n")
	layer, err := all[0].Apply(right)
	require.NoError(t, err)
	require.Equal(t, "bug off-by-one", layer.Name)
	require.Equal(t, "package box\n\n\nfunc Put() {\n\tn += 2\n}\n", string(layer.Files[1].Content))
	require.Contains(t, string(right.Files[1].Content), "n++", "the solution itself is not touched")
}

func TestApply_wants_its_text_exactly_once(t *testing.T) {
	all, err := load(t, bank)
	require.NoError(t, err)
	_, err = all[1].Apply(solution("package box\n"))
	require.ErrorContains(t, err, "stands in the solution 0 times, not once")
	_, err = all[1].Apply(solution("package box\n\tn++\n\tn++\n"))
	require.ErrorContains(t, err, "stands in the solution 2 times, not once")
}

func TestLoad_of_a_chapter_without_a_bank(t *testing.T) {
	all, err := Load(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestLoad_refuses_what_it_cannot_mean(t *testing.T) {
	const about = "-- a/about --\ntest: T\nrule: r\nsymptom: s\n"
	for name, c := range map[string]struct{ text, problem string }{
		"a part of another name": {about + "-- a/left --\nx\n", `part "a/left" is not called`},
		"no test":                {"-- a/about --\nrule: r\nsymptom: s\n", "a/about needs a test, a rule and a symptom"},
		"an unknown key":         {"-- a/about --\ntset: T\n", `there is no key "tset"`},
		"race: sometimes":        {"-- a/about --\nrace: sometimes\n", `race can be "only"`},
		"no change":              {about, "a changes nothing"},
		"the same on both sides": {about + "-- a/right --\nx\n-- a/wrong --\nx\n", "a changes nothing"},
		"right is empty":         {about + "-- a/right --\n-- a/wrong --\nx\n", "a/right is empty"},
		"wrong without right":    {about + "-- a/wrong --\nx\n", "a/wrong does not follow a/right"},
		"parts before about":     {"-- a/right --\nx\n", "a/right stands before a/about"},
		"the same name twice":    {about + "-- a/right --\nx\n-- a/wrong --\ny\n" + about, "two wrong versions are called a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.text)
			require.ErrorContains(t, err, c.problem)
		})
	}
}
