package anchor

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

const preamble = "Wrong versions.\n\n"

const about = `-- twice/about --
test: TestTask1_Put
rule: one is one
symptom: Everything is twice there.
`

// folder lays out a solution with a set of one wrong version.
func folder(t *testing.T, part string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, bugs.File), []byte(preamble+about+part), 0o644))
	return dir
}

// setIn reads the code and the set of a folder.
func setIn(t *testing.T, dir string) bugs.Set {
	t.Helper()
	code, err := overlay.ReadDir("01-box", "solution", dir)
	require.NoError(t, err)
	all, err := bugs.Load(dir)
	require.NoError(t, err)
	return bugs.Set{Dir: dir, File: bugs.File, Code: code, Bugs: all}
}

func TestUpdate(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	const was = "-- twice/box.go Put --\n func Put() {\n-\tn++\n+\tn += 2\n \tseen = true\n \tnotify()\n }\n"
	for name, c := range map[string]struct{ part, file, solution, now, conflict string }{
		"the declaration is the same": {
			part: was, file: "box.go",
			solution: "func Put() {\n\tn++\n\tseen = true\n\tnotify()\n}",
			now:      was,
		},
		"another line of it has changed": {
			part: was, file: "box.go",
			solution: "func Put() {\n\tn++\n\tseen = true\n\tsend()\n}",
			now:      "-- twice/box.go Put --\n func Put() {\n-\tn++\n+\tn += 2\n \tseen = true\n \tsend()\n }\n",
		},
		"it moved to another file": {
			part: was, file: "put.go",
			solution: "func Put() {\n\tn++\n\tseen = true\n\tnotify()\n}",
			now:      "-- twice/put.go Put --\n func Put() {\n-\tn++\n+\tn += 2\n \tseen = true\n \tnotify()\n }\n",
		},
		"a new wrong version without diff marks": {
			part: "-- twice/box.go Put --\nfunc Put() {\nn += 2\n}\n", file: "box.go",
			solution: "func Put() {\n\tn++\n}",
			now:      "-- twice/box.go Put --\n func Put() {\n-\tn++\n+\tn += 2\n }\n",
		},
		"a declaration that the solution does not have": {
			part: "-- twice/box.go add --\nfunc add() { n++ }\n", file: "box.go",
			solution: "func Put() {\n\tn++\n}",
			now:      "-- twice/box.go add --\nfunc add() { n++ }\n",
		},
		"the line of the difference has changed": {
			part: was, file: "box.go",
			solution: "func Put() {\n\tn--\n\tseen = true\n\tnotify()\n}",
			now:      was, conflict: "the wrong version twice, box.go Put: the solution has changed in the same lines",
		},
		"the declaration is gone": {
			part: was, file: "box.go",
			solution: "func Add() {\n\tn++\n}",
			now:      was, conflict: "the solution does not declare it",
		},
		"the solution has become as wrong": {
			part: was, file: "box.go",
			solution: "func Put() {\n\tn += 2\n\tseen = true\n\tnotify()\n}",
			now:      was, conflict: "nothing of it is left",
		},
		"the wrong declaration is not Go": {
			part: "-- twice/box.go Put --\nfunc Put() {\n", file: "box.go",
			solution: "func Put() {\n\tn++\n}",
			now:      "-- twice/box.go Put --\nfunc Put() {\n", conflict: "is not Go",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.part, map[string]string{
				"other.go": "package box\n", c.file: "package box\n\n// Put adds one.\n" + c.solution + "\n"})
			fits := c.now == c.part && c.conflict == ""
			require.Equal(t, fits, len(Check(setIn(t, dir))) == 0, "Check reports what Update would do")
			changed, conflicts, err := Update(setIn(t, dir))
			require.NoError(t, err)
			now, err := os.ReadFile(filepath.Join(dir, bugs.File))
			require.NoError(t, err)
			require.Equal(t, preamble+about+c.now, string(now))
			if c.conflict != "" {
				require.Len(t, conflicts, 1)
				require.Contains(t, conflicts[0], c.conflict)
				return
			}
			require.Empty(t, conflicts)
			require.Equal(t, c.now != c.part, len(changed) == 1)
			require.Empty(t, Check(setIn(t, dir)))
		})
	}
}

func TestUpdate_of_a_chapter_without_wrong_versions(t *testing.T) {
	changed, conflicts, err := Update(bugs.Set{})
	require.NoError(t, err)
	require.Empty(t, changed)
	require.Empty(t, conflicts)
}
