// Package workspace changes what lies in a chapter's folder, and never loses a line that somebody wrote there.
//
// Whatever it replaces or takes away is copied first, to .workshop/backup/05-indexer/2026-11-20_19.04.05, and only if
// the copy is safely there is anything touched. Restoring is such a change as well, so it can be taken back too.
//
// What it leaves out: asking whether one is sure, which is the command line's business.
package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
	"client-go-workshop/internal/course/stub"
)

// Change is what was done to a chapter's folder.
type Change struct {
	Written []string // files that have a new content
	Removed []string // files that the new state does not have
	Backup  string   // where what was there before lies, relative to the root; "" if there was nothing to lose
	// Restorable tells whether Restore can bring the backup back. Those of tests it leaves alone.
	Restorable bool
}

// Nothing tells whether everything was already as it was to be.
func (c Change) Nothing() bool { return len(c.Written)+len(c.Removed) == 0 }

// Reset puts the stubs back.
func Reset(root string, c course.Chapter) (Change, error) {
	made, err := stub.Dir(filepath.Join(root, c.Solution()))
	if err != nil {
		return Change{}, fmt.Errorf("make the stubs of %s: %w", c.Dir, err)
	}
	return put(root, c, made)
}

// ResetMissing puts back the stubs that are gone, and leaves all else as it is.
func ResetMissing(root string, c course.Chapter) (Change, error) {
	made, err := stub.Dir(filepath.Join(root, c.Solution()))
	if err != nil {
		return Change{}, fmt.Errorf("make the stubs of %s: %w", c.Dir, err)
	}
	standing, err := code(filepath.Join(root, c.Dir))
	if err != nil {
		return Change{}, fmt.Errorf("read chapter %s: %w", c.Dir, err)
	}
	maps.Copy(made, standing)
	return put(root, c, made)
}

// Skip puts the finished layer in place.
func Skip(root string, c course.Chapter) (Change, error) {
	files, err := code(filepath.Join(root, c.Solution()))
	if err != nil {
		return Change{}, fmt.Errorf("read the solution of %s: %w", c.Dir, err)
	}
	return put(root, c, files)
}

// Restore brings a backup back: the one called name, or the newest whose files are not what is there now.
func Restore(root string, c course.Chapter, name string) (Change, string, error) {
	names, err := Backups(root, c)
	if err != nil {
		return Change{}, "", err
	}
	standing, err := code(filepath.Join(root, c.Dir))
	if err != nil {
		return Change{}, "", err
	}
	for _, candidate := range slices.Backward(names) {
		files, err := code(filepath.Join(backupFolder(root, c), candidate))
		if err != nil {
			return Change{}, "", err
		}
		if len(files) == 0 {
			continue // a copy that was broken off
		}
		if candidate == name || name == "" && !maps.EqualFunc(files, standing, bytes.Equal) {
			change, err := put(root, c, files)
			return change, candidate, err
		}
	}
	if name != "" {
		return Change{}, "", fmt.Errorf("there is no backup %q of %s; there are: %s", name, c.Dir, strings.Join(names, ", "))
	}
	return Change{}, "", fmt.Errorf("there is no backup of %s that differs from the present files; "+
		"for the stubs: go tool workshop reset %s", c.Dir, c.Dir)
}

// Backups lists the backups of a chapter, the newest last.
func Backups(root string, c course.Chapter) ([]string, error) {
	names, err := folders(backupFolder(root, c))
	if err != nil {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	return names, nil
}

// folders lists the folders in dir by name; one that does not exist has none.
func folders(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func backupFolder(root string, c course.Chapter) string {
	return filepath.Join(root, ".workshop", "backup", c.Dir)
}

// code reads the Go files of a folder that are no tests.
func code(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() || !course.IsGo(e.Name()) || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// put makes files the chapter's code, all of it.
func put(root string, c course.Chapter, files map[string][]byte) (Change, error) {
	folder := filepath.Join(root, c.Dir)
	now, err := code(folder)
	if err != nil {
		return Change{}, fmt.Errorf("read chapter %s: %w", c.Dir, err)
	}
	var change Change
	replaces := false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if old, there := now[name]; !there || !bytes.Equal(old, files[name]) {
			change.Written = append(change.Written, name)
			replaces = replaces || there
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, stays := files[name]; !stays {
			change.Removed = append(change.Removed, name)
		}
	}
	if change.Nothing() {
		return change, nil
	}
	if (replaces || len(change.Removed) > 0) && worthKeeping(root, c, now) {
		if change.Backup, err = backup(root, backupFolder(root, c), now); err != nil {
			return Change{}, fmt.Errorf("nothing was changed, because your files could not be copied first: %w", err)
		}
		change.Restorable = true
	}
	for _, name := range change.Written {
		if err := replace(filepath.Join(folder, name), files[name]); err != nil {
			return change, fmt.Errorf("write %s/%s: %w%s", c.Dir, name, err, change.whereabouts())
		}
	}
	for _, name := range change.Removed {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return change, fmt.Errorf("take %s/%s away: %w%s", c.Dir, name, err, change.whereabouts())
		}
	}
	return change, nil
}

func (c Change) whereabouts() string {
	if c.Backup == "" {
		return ""
	}
	return "; what was there is in " + c.Backup
}

// worthKeeping tells whether any file is neither the stub nor the solution.
func worthKeeping(root string, c course.Chapter, now map[string][]byte) bool {
	listed, _ := checksum.Read(filepath.Join(root, c.Solution())) // if it is unreadable, everything is worth keeping
	for name, content := range now {
		reference, err := os.ReadFile(filepath.Join(root, c.Solution(), name))
		if listed.Stubs[name] != checksum.Of(content) && (err != nil || !bytes.Equal(reference, content)) {
			return true
		}
	}
	return false
}

// backup copies files, and reads the copies back before it says that they are safe.
func backup(root, parent string, files map[string][]byte) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	folder, err := makeNewest(parent, now())
	if err != nil {
		return "", err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return "", err
		}
		if copied, err := os.ReadFile(path); err != nil || !bytes.Equal(copied, content) {
			return "", fmt.Errorf("the copy %s is not what was written: %w", path, err)
		}
	}
	return filepath.Rel(root, folder)
}

// now is replaced in tests.
var now = time.Now

const stampLayout = "2006-01-02_15.04.05"

// makeNewest makes a folder whose name is the time and comes after all others: also twice within a second, and when the
// clock was set back, since Restore takes the last for the newest.
func makeNewest(parent string, at time.Time) (string, error) {
	names, err := folders(parent)
	if err != nil {
		return "", err
	}
	stamp, n := at.Format(stampLayout), 1
	if len(names) > 0 && names[len(names)-1] >= stamp {
		last := names[len(names)-1]
		if len(last) >= len(stampLayout) {
			stamp = last[:len(stampLayout)]
			fmt.Sscanf(last[len(stampLayout):], "_%d", &n)
		}
		n++
	}
	for ; ; n++ { // somebody else may make one at the same time
		folder := filepath.Join(parent, stamp)
		if n > 1 {
			folder = fmt.Sprintf("%s_%04d", folder, n)
		}
		if err := os.Mkdir(folder, 0o755); err == nil || !errors.Is(err, fs.ErrExist) {
			return folder, err
		}
	}
}

// replace writes a file as a whole or not at all.
func replace(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".workshop-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Chmod(0o644)
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		os.Remove(temporary.Name())
	}
	return err
}

// EditedTests lists the chapter's tests that are not as they were made: changed, or gone. Tests that a learner has
// added are theirs.
func EditedTests(root string, c course.Chapter) ([]string, error) {
	listed, err := checksum.Read(filepath.Join(root, c.Solution()))
	if err != nil {
		return nil, err
	}
	var edited []string
	for _, name := range slices.Sorted(maps.Keys(listed.Tests)) {
		content, err := os.ReadFile(filepath.Join(root, c.Dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || checksum.Of(content) != listed.Tests[name] {
			edited = append(edited, name)
		}
	}
	return edited, nil
}

// RestoreTests brings edited tests back from git's history, where it finds them by their check sum: that what git has
// last is right is not said, because a learner may have committed the edit. Edited ones are copied to the backup first.
func RestoreTests(root string, c course.Chapter) (Change, error) {
	edited, err := EditedTests(root, c)
	if err != nil || len(edited) == 0 {
		return Change{}, err
	}
	listed, err := checksum.Read(filepath.Join(root, c.Solution()))
	if err != nil {
		return Change{}, err
	}
	made, keep := map[string][]byte{}, map[string][]byte{}
	for _, name := range edited {
		if made[name], err = fromHistory(root, c.Dir+"/"+name, listed.Tests[name]); err != nil {
			return Change{}, err
		}
		if content, err := os.ReadFile(filepath.Join(root, c.Dir, filepath.FromSlash(name))); err == nil {
			keep[strings.ReplaceAll(name, "/", "_")] = content
		}
	}
	change := Change{Written: edited}
	if len(keep) > 0 {
		// Apart from the code, which Restore takes as a whole.
		if change.Backup, err = backup(root, backupFolder(root, c)+"-tests", keep); err != nil {
			return Change{}, fmt.Errorf("nothing was changed, because the edited tests could not be copied first: %w", err)
		}
	}
	for name, content := range made {
		path := filepath.Join(root, c.Dir, filepath.FromSlash(name))
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = replace(path, content)
		}
		if err != nil {
			return change, fmt.Errorf("write %s/%s: %w%s", c.Dir, name, err, change.whereabouts())
		}
	}
	return change, nil
}

func fromHistory(root, path, sum string) ([]byte, error) {
	problem := fmt.Errorf("%s cannot be restored: git's history here does not have its original; copy it from a fresh clone", path)
	cmd := exec.Command("git", "-C", root, "log", "--format=%H", "--", path)
	commits, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s cannot be restored: there is no git on this machine; copy it from a fresh clone", path)
	}
	if err != nil {
		return nil, problem
	}
	for commit := range strings.FieldsSeq(string(commits)) {
		content, err := exec.Command("git", "-C", root, "show", commit+":./"+path).Output()
		if err == nil && checksum.Of(content) == sum {
			return content, nil
		}
	}
	return nil, problem
}

// BrokenFiles returns files that break the chapter's folder in a way that the compiler reports badly: missing files of
// the stub, and files of the stub with the package clause of another package.
func BrokenFiles(root string, c course.Chapter) (missing, misnamed []string) {
	listed, err := checksum.Read(filepath.Join(root, c.Solution()))
	if err != nil {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(listed.Stubs)) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, c.Dir, name), nil, parser.PackageClauseOnly)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case file != nil && file.Name.Name != c.Package():
			misnamed = append(misnamed, name)
		}
	}
	return missing, misnamed
}
