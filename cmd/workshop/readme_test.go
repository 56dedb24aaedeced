//go:build unix

package main

// The screens in the README are made by this test, from the real chapter on a real terminal: go test ./cmd/workshop
// -run Readme -update writes them again.

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

var (
	screenBlock = regexp.MustCompile("(?s)<!-- screen: (\\w+) -->\n```text\n(.*?)\n?```\n")
	// pace is how far a run is, which depends on the machine.
	pace = regexp.MustCompile(` *(\d+\.\ds|green, running the later tasks)|05 ✓✗[✗?]{3}`)
)

func TestReadme_shows_the_live_view_as_it_is(t *testing.T) {
	root := clone(t)
	chapter := filepath.Join(root, "05-indexer")
	solution, err := overlay.ReadDir("05-indexer", "solution", filepath.Join(root, "solutions", "05-indexer"))
	require.NoError(t, err)
	all, err := bugs.Load(filepath.Join(root, "solutions", "05-indexer"))
	require.NoError(t, err)
	for _, b := range all {
		if b.Name != "forgets-the-old-entry" {
			continue
		}
		wrong, err := b.Apply(solution)
		require.NoError(t, err)
		for _, f := range wrong.Files {
			require.NoError(t, os.WriteFile(filepath.Join(chapter, f.Name), f.Content, 0o644))
		}
	}
	s := sit(t, root, 80, 24, nil, "watch", "05")
	screens := map[string]string{"failure": s.sees(`(?s)TestTask2_\w+.*why.*read`)}
	s.types("h")
	screens["hint"] = s.sees(`hint 1 of 3`)
	s.types("q")
	require.Equal(t, 0, s.ends())

	path := filepath.Join("..", "..", "README.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	seen := 0
	now := screenBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		m := screenBlock.FindStringSubmatch(block)
		seen++
		fresh := plainScreen(screens[m[1]])
		if !*update {
			require.Equal(t, pace.ReplaceAllString(fresh, " TIME"), pace.ReplaceAllString(m[2], " TIME"),
				"the screen %q in the README is not what the live view shows; write it again with -update", m[1])
			return block
		}
		return "<!-- screen: " + m[1] + " -->\n```text\n" + fresh + "\n```\n"
	})
	require.NotZero(t, seen, "the README shows no screen")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(now), 0o644))
	}
}

// plainScreen is a screen without the blanks at the ends of rows, and with a run of empty rows as one.
func plainScreen(text string) string {
	var out []string
	for row := range strings.SplitSeq(text, "\n") {
		row = strings.TrimRight(row, " ")
		if row == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, row)
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}

// clone copies the files of the workshop that git knows, as they are in the working tree.
func clone(t *testing.T) string {
	t.Helper()
	from, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	list, err := exec.Command("git", "-C", from, "ls-files").Output()
	if err != nil {
		t.Skipf("needs git and a clone: %v", err)
	}
	root := t.TempDir()
	for name := range strings.Lines(string(list)) {
		name = filepath.FromSlash(strings.TrimSpace(name))
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			continue // deleted, and not yet committed
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), content, 0o644))
	}
	return root
}
