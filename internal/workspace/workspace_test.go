package workspace

// These tests change the folder of a small chapter. That nothing is ever lost, whatever comes after what, is in
// lose_test.go.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
	"client-go-workshop/internal/course/stub"
)

var box = course.Chapter{Dir: "01-box", Number: 1, Topic: "box"}

const testCode = "package box_test\n"

// newRoot lays out a chapter of two files, untouched.
func newRoot(t require.TestingT, root string) string {
	write(t, root, "solutions/01-box/box.go", "// Package box holds.\npackage box\n\n"+
		"// Put puts.\n//\n//workshop:task 1\nfunc Put() { println() }\n")
	write(t, root, "solutions/01-box/lid.go", "package box\n\n// Lid is a lid.\ntype Lid struct{}\n")
	made, err := stub.Dir(filepath.Join(root, "solutions/01-box"))
	require.NoError(t, err)
	listed := checksum.New()
	for name, content := range made {
		listed.Add(name, checksum.Of(content))
		write(t, root, "01-box/"+name, string(content))
	}
	for _, name := range []string{"box_test.go", "cmd/run/run_test.go"} {
		write(t, root, "01-box/"+name, testCode)
		listed.Add(name, checksum.Of([]byte(testCode)))
	}
	require.NoError(t, listed.Write(filepath.Join(root, "solutions/01-box")))
	return root
}

func write(t require.TestingT, root, name, text string) {
	path := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func text(t require.TestingT, root, name string) string {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(content)
}

// at sets the clock.
func at(t *testing.T, stamp string) {
	t.Helper()
	set, err := time.Parse(stampLayout, stamp)
	require.NoError(t, err)
	now = func() time.Time { return set }
	t.Cleanup(func() { now = time.Now })
}

func TestReset_of_what_is_untouched_does_nothing(t *testing.T) {
	root := newRoot(t, t.TempDir())
	change, err := Reset(root, box)
	require.NoError(t, err)
	require.True(t, change.Nothing())
	require.NoDirExists(t, filepath.Join(root, ".workshop", "backup"))
}

func TestReset_says_what_it_wrote_and_took_away_and_where_it_is(t *testing.T) {
	root := newRoot(t, t.TempDir())
	at(t, "2026-11-20_19.04.05")
	stub := text(t, root, "01-box/box.go")
	write(t, root, "01-box/box.go", "package box\n\n// mine\n")
	write(t, root, "01-box/more.go", "package box\n\n// more\n")
	write(t, root, "01-box/mine_test.go", "package box_test\n\n// mine\n")
	write(t, root, "01-box/notes.txt", "notes")
	change, err := Reset(root, box)
	require.NoError(t, err)
	require.Equal(t, Change{
		Written: []string{"box.go"}, Removed: []string{"more.go"}, Restorable: true,
		Backup: filepath.FromSlash(".workshop/backup/01-box/2026-11-20_19.04.05"),
	}, change)
	require.Equal(t, stub, text(t, root, "01-box/box.go"))
	require.NoFileExists(t, filepath.Join(root, "01-box/more.go"))
	require.Equal(t, "package box\n\n// mine\n", text(t, root, change.Backup+"/box.go"))
	require.Equal(t, "package box\n\n// more\n", text(t, root, change.Backup+"/more.go"))
	require.FileExists(t, filepath.Join(root, "01-box/mine_test.go"), "tests are none of its business")
	require.FileExists(t, filepath.Join(root, "01-box/notes.txt"))
}

func TestSkip_keeps_no_backup_of_what_can_be_made_again(t *testing.T) {
	root := newRoot(t, t.TempDir())
	change, err := Skip(root, box)
	require.NoError(t, err)
	require.Equal(t, Change{Written: []string{"box.go"}}, change)
	require.Equal(t, text(t, root, "solutions/01-box/box.go"), text(t, root, "01-box/box.go"))
	change, err = Reset(root, box)
	require.NoError(t, err)
	require.Empty(t, change.Backup)
}

func TestResetBare_keeps_what_was_written_and_can_be_taken_back(t *testing.T) {
	root := newRoot(t, t.TempDir())
	change, err := ResetBare(root, box)
	require.NoError(t, err)
	require.Equal(t, Change{Written: []string{"box.go"}}, change, "the stub of lid.go is bare")
	require.Contains(t, text(t, root, "01-box/box.go"), stub.BareMark)
	bare := text(t, root, "01-box/box.go")

	write(t, root, "01-box/box.go", bare+"\n// mine\n")
	require.NoError(t, os.Remove(filepath.Join(root, "01-box/lid.go")))
	missing, misnamed := BrokenFiles(root, box)
	require.Empty(t, missing, "the learner chooses the files")
	require.Empty(t, misnamed)
	change, err = ResetMissing(root, box)
	require.NoError(t, err)
	require.Equal(t, Change{Written: []string{"lid.go"}}, change)
	change, err = Reset(root, box)
	require.NoError(t, err)
	require.True(t, change.Restorable)
	_, _, err = Restore(root, box, "")
	require.NoError(t, err)
	require.Equal(t, bare+"\n// mine\n", text(t, root, "01-box/box.go"))

	change, err = ResetBare(root, box)
	require.NoError(t, err)
	require.NotEmpty(t, change.Backup)
	change, err = Reset(root, box)
	require.NoError(t, err)
	require.Empty(t, change.Backup, "an untouched bare stub can be made again")
}

func TestBrokenFiles_of_a_bare_chapter_are_of_another_package(t *testing.T) {
	root := newRoot(t, t.TempDir())
	_, err := ResetBare(root, box)
	require.NoError(t, err)
	write(t, root, "01-box/mine.go", "package shelf\n")
	_, misnamed := BrokenFiles(root, box)
	require.Equal(t, []string{"mine.go"}, misnamed)
}

// Twice within a second, and with a clock that is set back, the newest backup stays the newest.
func TestRestore_takes_the_newest_whatever_the_clock_says(t *testing.T) {
	root := newRoot(t, t.TempDir())
	for i, stamp := range []string{"2026-11-20_19.04.05", "2026-11-20_19.04.05", "1999-01-01_00.00.00",
		"2026-11-20_19.04.05", "2026-11-20_19.04.06", "2026-11-20_19.04.05"} {
		at(t, stamp)
		mine := "package box\n\n// version " + string(rune('a'+i)) + "\n"
		write(t, root, "01-box/box.go", mine)
		_, err := Reset(root, box)
		require.NoError(t, err)
		_, _, err = Restore(root, box, "")
		require.NoError(t, err)
		require.Equal(t, mine, text(t, root, "01-box/box.go"))
	}
	names, err := Backups(root, box)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-20_19.04.05", "2026-11-20_19.04.06", "2026-11-20_19.04.07",
		"2026-11-20_19.04.08", "2026-11-20_19.04.09", "2026-11-20_19.04.10"}, names)
}

func TestRestore_can_be_taken_back(t *testing.T) {
	root := newRoot(t, t.TempDir())
	write(t, root, "01-box/box.go", "package box\n\n// one\n")
	_, err := Reset(root, box)
	require.NoError(t, err)
	write(t, root, "01-box/box.go", "package box\n\n// two\n")
	for _, want := range []string{"one", "two", "one"} {
		_, _, err := Restore(root, box, "")
		require.NoError(t, err)
		require.Equal(t, "package box\n\n// "+want+"\n", text(t, root, "01-box/box.go"))
	}
}

func TestRestore_of_a_named_backup_brings_that_one(t *testing.T) {
	root := newRoot(t, t.TempDir())
	for _, version := range []string{"one", "two", "three"} {
		write(t, root, "01-box/box.go", "package box\n\n// "+version+"\n")
		_, err := Reset(root, box)
		require.NoError(t, err)
	}
	names, err := Backups(root, box)
	require.NoError(t, err)
	_, from, err := Restore(root, box, names[1])
	require.NoError(t, err)
	require.Equal(t, names[1], from)
	require.Equal(t, "package box\n\n// two\n", text(t, root, "01-box/box.go"))
	_, _, err = Restore(root, box, "../../..")
	require.ErrorContains(t, err, `there is no backup "../../.."`)
}

// A process was killed while it made the newest backup.
func TestRestore_passes_over_a_copy_that_was_interrupted(t *testing.T) {
	root := newRoot(t, t.TempDir())
	write(t, root, "01-box/box.go", "package box\n\n// mine\n")
	change, err := Reset(root, box)
	require.NoError(t, err)
	left := filepath.Join(filepath.Dir(change.Backup), unfinished)
	write(t, root, left+"/box.go", "pack")
	require.NoError(t, os.Mkdir(filepath.Join(root, change.Backup+"_9999"), 0o755), "as older versions left it")

	_, _, err = Restore(root, box, "")
	require.NoError(t, err)
	require.Equal(t, "package box\n\n// mine\n", text(t, root, "01-box/box.go"))
	_, _, err = Restore(root, box, unfinished)
	require.ErrorContains(t, err, "there is no backup")

	_, err = Reset(root, box)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(root, left), "the next backup tidies up")
}

func TestFull_disk_leaves_no_half_of_a_backup(t *testing.T) {
	defer func() { writeSynced = writeNew }()
	root := newRoot(t, t.TempDir())
	write(t, root, "01-box/box.go", "package box\n\n// mine\n")
	write(t, root, "01-box/lid.go", "package box\n\n// mine too\n")
	writeSynced = func(path string, content []byte) error {
		return errors.Join(writeNew(path, content[:3]), errors.New("no space left on device"))
	}
	_, err := Reset(root, box)
	require.ErrorContains(t, err, "nothing was changed")
	require.ErrorContains(t, err, "no space left on device")
	require.Equal(t, "package box\n\n// mine\n", text(t, root, "01-box/box.go"))

	writeSynced = writeNew
	_, _, err = Restore(root, box, "")
	require.ErrorContains(t, err, "there is no backup of 01-box")
	require.Equal(t, "package box\n\n// mine\n", text(t, root, "01-box/box.go"))
	entries, err := os.ReadDir(filepath.Join(root, ".workshop/backup/01-box"))
	require.NoError(t, err)
	require.Empty(t, entries)
}

// Four processes change one chapter at once, many times. Each backup is a state that there was: all files of one.
func TestCommands_at_once_do_not_mix(t *testing.T) {
	root := newRoot(t, t.TempDir())
	states := map[string]bool{}
	for i := range 8 {
		body := fmt.Sprintf("package box\n\n// %d\n", i)
		states[body+body] = true
		write(t, root, "01-box/box.go", body)
		write(t, root, "01-box/lid.go", body)
		var all sync.WaitGroup
		for _, do := range []func(string, course.Chapter) (Change, error){Reset, Skip, Reset, Skip} {
			all.Go(func() {
				_, err := do(root, box)
				assert.NoError(t, err)
			})
		}
		all.Wait()
		boxNow, lidNow := text(t, root, "01-box/box.go"), text(t, root, "01-box/lid.go")
		isStub := strings.Contains(boxNow, "todo.Task")
		isSolution := boxNow == text(t, root, "solutions/01-box/box.go") && lidNow == text(t, root, "solutions/01-box/lid.go")
		require.True(t, isStub || isSolution, "the folder is of one command: %s%s", boxNow, lidNow)
	}
	names, err := Backups(root, box)
	require.NoError(t, err)
	require.Len(t, names, 8)
	for _, name := range names {
		backup := ".workshop/backup/01-box/" + name
		require.True(t, states[text(t, root, backup+"/box.go")+text(t, root, backup+"/lid.go")], "%s is of one state", name)
	}
}

func TestWritten_files_have_the_mode_that_the_umask_gives(t *testing.T) {
	root := newRoot(t, t.TempDir())
	write(t, root, "own.go", "")
	wanted, err := os.Stat(filepath.Join(root, "own.go"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(root, "01-box/lid.go")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "01-box/box.go"), []byte("package box\n"), 0o600))
	require.NoError(t, os.Chmod(filepath.Join(root, "01-box/box.go"), 0o600))
	_, err = Reset(root, box)
	require.NoError(t, err)
	created, err := os.Stat(filepath.Join(root, "01-box/lid.go"))
	require.NoError(t, err)
	require.Equal(t, wanted.Mode()&^0o022, created.Mode()&^0o022)
	replaced, err := os.Stat(filepath.Join(root, "01-box/box.go"))
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, fs.FileMode(0o600), replaced.Mode(), "a replaced file keeps its mode")
	}
}

func TestNothing_is_changed_if_it_cannot_be_copied_first(t *testing.T) {
	root := newRoot(t, t.TempDir())
	write(t, root, "01-box/box.go", "package box\n\n// mine\n")
	write(t, root, ".workshop", "a file where a folder should be")
	for name, do := range map[string]func(string, course.Chapter) (Change, error){"reset": Reset, "skip": Skip} {
		_, err := do(root, box)
		require.ErrorContains(t, err, "nothing was changed", name)
		require.Equal(t, "package box\n\n// mine\n", text(t, root, "01-box/box.go"))
	}
}

func TestEditors_lock_file_is_in_nobodys_way(t *testing.T) {
	root := newRoot(t, t.TempDir())
	if err := os.Symlink("nobody@nowhere.1", filepath.Join(root, "01-box", ".#box.go")); err != nil {
		t.Skip("no symbolic links here")
	}
	write(t, root, "01-box/box.go", "package box\n\n// mine\n")
	change, err := Reset(root, box)
	require.NoError(t, err)
	require.Equal(t, []string{"box.go"}, change.Written)
	require.Empty(t, change.Removed)
}

func TestEditedTests_are_those_that_were_made_otherwise(t *testing.T) {
	root := newRoot(t, t.TempDir())
	edited, err := EditedTests(root, box)
	require.NoError(t, err)
	require.Empty(t, edited)
	write(t, root, "01-box/box_test.go", testCode+"// edited\n")
	write(t, root, "01-box/own_test.go", testCode)
	require.NoError(t, os.RemoveAll(filepath.Join(root, "01-box/cmd")))
	edited, err = EditedTests(root, box)
	require.NoError(t, err)
	require.Equal(t, []string{"box_test.go", "cmd/run/run_test.go"}, edited)
}

func TestRestoreTests_takes_them_from_the_history_by_their_content(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	above := t.TempDir() // the workshop need not be the whole repository
	root := newRoot(t, filepath.Join(above, "w"))
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", above, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c",
			"commit.gpgsign=false"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "-q")
	git("add", "w")
	git("commit", "-qm", "made")
	write(t, root, "01-box/box_test.go", testCode+"// edited\n")
	git("commit", "-qam", "edited")
	require.NoError(t, os.RemoveAll(filepath.Join(root, "01-box/cmd")))

	change, err := RestoreTests(root, box)
	require.NoError(t, err)
	require.Equal(t, []string{"box_test.go", "cmd/run/run_test.go"}, change.Written)
	require.False(t, change.Restorable, "restore brings back code")
	require.Equal(t, testCode, text(t, root, "01-box/box_test.go"))
	require.Equal(t, testCode, text(t, root, "01-box/cmd/run/run_test.go"))
	require.Equal(t, testCode+"// edited\n", text(t, root, change.Backup+"/box_test.go"))
	names, err := Backups(root, box)
	require.NoError(t, err)
	require.Empty(t, names, "they are no backup of the code")

	change, err = RestoreTests(root, box)
	require.NoError(t, err)
	require.True(t, change.Nothing())
}

func TestRestoreTests_without_a_history_changes_nothing(t *testing.T) {
	root := newRoot(t, t.TempDir())
	write(t, root, "01-box/box_test.go", testCode+"// edited\n")
	_, err := RestoreTests(root, box)
	require.ErrorContains(t, err, "01-box/box_test.go cannot be restored")
	t.Setenv("PATH", t.TempDir())
	_, err = RestoreTests(root, box)
	require.ErrorContains(t, err, "there is no git on this machine")
	require.Equal(t, testCode+"// edited\n", text(t, root, "01-box/box_test.go"))
}
