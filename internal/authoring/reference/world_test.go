package reference

// The tests of this package plant one thing that is wrong into a text, and read the message; and they write what must
// stay silent. Both over the small world of testdata/world.txtar, so that they do not depend on the pinned version;
// pinned_test.go looks at the real one.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// tiny is the small world, unpacked.
type tiny struct {
	t   *testing.T
	dir string
}

func newTiny(t *testing.T) *tiny {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "world.txtar"))
	require.NoError(t, err)
	w := &tiny{t: t, dir: t.TempDir()}
	for _, f := range archive.Files {
		w.write(f.Name, string(f.Data))
	}
	w.write("workshop/docs/no break at the end.md", "# Title") // txtar always ends files with one
	return w
}

// source returns a source over the world as it is now.
func (w *tiny) source() *source {
	return newSource(filepath.Join(w.dir, "workshop"),
		module{"k8s.io/client-go", "v0.37.2", filepath.Join(w.dir, "client-go")},
		module{"k8s.io/apimachinery", "v0.37.2", filepath.Join(w.dir, "apimachinery")},
		module{"k8s.io/api", "v0.37.2", filepath.Join(w.dir, "api")},
		module{"k8s.io/utils", "v0.0.0-20260707023825-cf1189d6abe3", filepath.Join(w.dir, "utils")},
		module{"std", "", filepath.Join(w.dir, "std")},
	)
}

func (w *tiny) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o644))
}

// check writes a file of the workshop and returns the problems with it, as "line: text".
func (w *tiny) check(name, text string) []string {
	w.t.Helper()
	w.write("workshop/"+name, text)
	found, err := w.source().check(context.Background(), []string{filepath.FromSlash(name)})
	require.NoError(w.t, err)
	problems := []string{}
	for _, p := range found {
		require.Equal(w.t, name, p.File)
		problems = append(problems, fmt.Sprintf("%d: %s", p.Line, p.Text))
	}
	return problems
}

// at finds the line on which a file of the world has a text.
func (w *tiny) at(name, text string) int {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(name)))
	require.NoError(w.t, err)
	for i, line := range strings.Split(string(content), "\n") {
		if strings.Contains(line, text) {
			return i + 1
		}
	}
	require.Fail(w.t, "the world has changed", "%s has no line %q", name, text)
	return 0
}

// lines counts the lines of a file of the world.
func (w *tiny) lines(name string) int { return len(module{dir: w.dir}.lines(name)) }

// wrong is a text and all that is to be said about it.
type wrong struct {
	name, text string
	problems   []string
}

// reports checks each text as a README of chapter 05.
func (w *tiny) reports(cases []wrong) {
	w.t.Helper()
	for _, c := range cases {
		w.t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.problems, w.check("05-indexer/text.md", c.text))
		})
	}
}

// silent checks that nothing is said about a text.
func (w *tiny) silent(lines ...string) {
	w.t.Helper()
	require.Empty(w.t, w.check("05-indexer/text.md", strings.Join(lines, "\n")+"\n"))
}
