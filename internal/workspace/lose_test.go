package workspace

// This file is the promise of the package as a property: a learner edits, resets, skips and restores in any order, on
// any day, and whatever a command has replaced is in a backup.

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"client-go-workshop/internal/course"
)

// story is a chapter's folder and what the learner has written there.
type story struct {
	root  string
	clock time.Time
	n     int
	mine  map[string]bool // "name\x00content" of what a command has replaced
}

func TestNothing_that_somebody_wrote_is_ever_lost(t *testing.T) {
	t.Cleanup(func() { now, writeSynced = time.Now, writeNew })
	writeSynced = func(path string, content []byte) error { // without a wait for the disk
		return os.WriteFile(path, content, 0o666)
	}
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp(parent, "")
		require.NoError(t, err)
		defer os.RemoveAll(root)
		s := &story{root: newRoot(t, root), clock: time.Date(2026, 11, 20, 19, 4, 5, 0, time.UTC), mine: map[string]bool{}}
		now = func() time.Time { return s.clock }
		names := rapid.SampledFrom([]string{"box.go", "lid.go", "more.go"})
		t.Repeat(map[string]func(*rapid.T){
			"": s.check,
			"write": func(t *rapid.T) {
				s.n++
				write(t, root, "01-box/"+names.Draw(t, "file"), fmt.Sprintf("package box\n\n// %d\n", s.n))
			},
			"write what was there before": func(t *rapid.T) {
				write(t, root, "01-box/"+names.Draw(t, "file"),
					fmt.Sprintf("package box\n\n// %d\n", rapid.IntRange(0, s.n).Draw(t, "version")))
			},
			"delete": func(t *rapid.T) { os.Remove(filepath.Join(root, "01-box", names.Draw(t, "file"))) },
			"put the solution of one file in another's place": func(t *rapid.T) {
				write(t, root, "01-box/"+names.Draw(t, "file"),
					text(t, root, "solutions/01-box/"+rapid.SampledFrom([]string{"box.go", "lid.go"}).Draw(t, "of")))
			},
			"clock": func(t *rapid.T) {
				s.clock = s.clock.Add(time.Duration(rapid.IntRange(-100, 100).Draw(t, "seconds")) * time.Second)
			},
			"reset":      func(t *rapid.T) { s.command(t, func() (Change, error) { return Reset(root, box) }) },
			"reset bare": func(t *rapid.T) { s.command(t, func() (Change, error) { return ResetBare(root, box) }) },
			"skip":       func(t *rapid.T) { s.command(t, func() (Change, error) { return Skip(root, box) }) },
			"restore": func(t *rapid.T) {
				s.command(t, func() (Change, error) {
					change, _, err := Restore(root, box, "")
					return change, noBackup(err)
				})
			},
			"restore one": func(t *rapid.T) {
				known, err := Backups(root, box)
				require.NoError(t, err)
				if len(known) == 0 {
					t.Skip("none")
				}
				s.command(t, func() (Change, error) {
					change, _, err := Restore(root, box, rapid.SampledFrom(known).Draw(t, "backup"))
					return change, err
				})
			},
		})
	})
}

func noBackup(err error) error {
	if err != nil && strings.Contains(err.Error(), "there is no backup of") {
		return nil
	}
	return err
}

// command notes what is there, calls one, and sees that a change can be taken back.
func (s *story) command(t *rapid.T, do func() (Change, error)) {
	before := s.code(t)
	change, err := do()
	require.NoError(t, err)
	after := s.code(t)
	for name, content := range before {
		if after[name] != content && !s.made(name, content) {
			s.mine[name+"\x00"+content] = true
		}
	}
	require.Equal(t, !change.Nothing(), fmt.Sprint(before) != fmt.Sprint(after), "it says what it did")
	if change.Backup == "" {
		return
	}
	names, err := Backups(s.root, box)
	require.NoError(t, err)
	require.Equal(t, filepath.Base(change.Backup), names[len(names)-1], "the newest comes last")
	for name, content := range before {
		require.Equal(t, content, text(t, s.root, change.Backup+"/"+name), "a backup is of the whole folder")
	}
}

// made tells whether a content is the stub or the solution of that file.
func (s *story) made(name, content string) bool {
	made, err := os.ReadFile(filepath.Join(s.root, "solutions/01-box", name))
	if err == nil && string(made) == content {
		return true
	}
	return strings.Contains(content, "todo.Task")
}

func (s *story) code(t *rapid.T) map[string]string {
	files, err := course.Code(filepath.Join(s.root, box.Dir))
	require.NoError(t, err)
	all := map[string]string{}
	for name, content := range files {
		all[name] = string(content)
	}
	return all
}

// check looks for all that was ever replaced.
func (s *story) check(t *rapid.T) {
	there := []string{}
	paths, err := filepath.Glob(filepath.Join(s.root, ".workshop/backup/01-box/*/*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		there = append(there, filepath.Base(path)+"\x00"+string(content))
	}
	for key := range s.mine {
		require.True(t, slices.Contains(there, key), "lost: %q", key)
	}
	entries, err := os.ReadDir(filepath.Join(s.root, "01-box"))
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, strings.HasPrefix(e.Name(), ".workshop-"), "something temporary is left")
	}
}
