package course

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const moves = `// Two Deployments run nginx,
// and one moves to caddy.
//
// Question: Which keys does
// the last line print?
//
// Wrong: forgets-the-old-entry
//
// Story: A cache forgot
// ([#1](https://example.com/1)).
//
// It was fixed.
package main

func main() {}
`

// withProgram is a workshop with one chapter, and a program in a folder of that name.
func withProgram(t *testing.T, name, source string) (string, Chapter) {
	t.Helper()
	root := workshop(t, map[string]string{"05-indexer": readme})
	dir := filepath.Join(root, "solutions", "05-indexer", "testdata", "predict", name)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644))
	c, err := Find(root, "05")
	require.NoError(t, err)
	return root, c
}

func TestPrograms_read_the_comment_of_the_package(t *testing.T) {
	root, c := withProgram(t, "2-moves", moves)
	all, err := Programs(root, c)
	require.NoError(t, err)
	require.Equal(t, []Program{{
		Name: "2-moves", Task: 2, Dir: "solutions/05-indexer/testdata/predict/2-moves",
		Title:    "Two Deployments run nginx, and one moves to caddy",
		Question: "Which keys does the last line print?",
		Wrong:    "forgets-the-old-entry",
		Story:    "A cache forgot ([#1](https://example.com/1)).\n\nIt was fixed.",
		Source:   "package main\n\nfunc main() {}\n",
	}}, all)
}

func TestPrograms_of_a_chapter_without_any(t *testing.T) {
	root := workshop(t, map[string]string{"05-indexer": readme})
	c, err := Find(root, "05")
	require.NoError(t, err)
	all, err := Programs(root, c)
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestPrograms_refuse_what_cannot_be_shown(t *testing.T) {
	without := func(part string) string { return strings.Replace(moves, part, "", 1) }
	for name, c := range map[string]struct{ folder, source, problem string }{
		"a name without a task": {"moves", moves, "predict/moves is not named for a task"},
		"an unknown task":       {"9-moves", moves, "belongs to task 9, which 05-indexer does not have"},
		"no question":           {"2-moves", without("Question: "), `with "Question: "`},
		"no wrong version":      {"2-moves", without("Wrong: "), `"Wrong: "`},
		"no comment":            {"2-moves", "package main\n", "needs a title"},
		"no Go":                 {"2-moves", "func main", "2-moves/main.go:1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			root, chapter := withProgram(t, c.folder, c.source)
			_, err := Programs(root, chapter)
			require.ErrorContains(t, err, c.problem)
		})
	}
}
