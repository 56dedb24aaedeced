// Package workspace changes what lies in a chapter's folder, and never loses a line that somebody wrote there.
//
// It copies files before it replaces or removes them, to .workshop/backup/05-indexer/2026-11-20_19.04.05, and changes
// nothing unless it has read the copies back. Restore is such a change too, so it can be undone.
//
// It does not ask for confirmation; the commands do.
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
	// Restorable reports whether Restore can bring the backup back. It does not restore tests.
	Restorable bool
}

// Nothing reports whether the folder was already as it should be.
func (c Change) Nothing() bool { return len(c.Written)+len(c.Removed) == 0 }

// Reset puts the stubs back.
func Reset(root string, c course.Chapter) (Change, error) { return reset(root, c, nil) }

// ResetMissing puts back the stubs that are gone, and leaves all else as it is.
func ResetMissing(root string, c course.Chapter) (Change, error) {
	present, err := code(root, c)
	if err != nil {
		return Change{}, err
	}
	return reset(root, c, present)
}

func reset(root string, c course.Chapter, keep map[string][]byte) (Change, error) {
	files, err := stub.Dir(filepath.Join(root, c.Solution()))
	if err != nil {
		return Change{}, fmt.Errorf("make the stubs of %s: %w", c.Dir, err)
	}
	maps.Copy(files, keep)
	return put(root, c, files)
}

// Skip puts the finished layer in place.
func Skip(root string, c course.Chapter) (Change, error) {
	files, err := course.Code(filepath.Join(root, c.Solution()))
	if err != nil {
		return Change{}, fmt.Errorf("read the solution of %s: %w", c.Dir, err)
	}
	return put(root, c, files)
}

// Restore brings a backup back: the one called name, or the newest that differs from the present files. It returns the
// name of that backup.
func Restore(root string, c course.Chapter, name string) (Change, string, error) {
	names, err := Backups(root, c)
	if err != nil {
		return Change{}, "", err
	}
	present, err := code(root, c)
	if err != nil {
		return Change{}, "", err
	}
	for _, candidate := range slices.Backward(names) {
		files, err := course.Code(filepath.Join(backupFolder(root, c), candidate))
		if err != nil {
			return Change{}, "", fmt.Errorf("read the backup %s of %s: %w", candidate, c.Dir, err)
		}
		wanted := candidate == name || name == "" && !maps.EqualFunc(files, present, bytes.Equal)
		if wanted && len(files) > 0 { // otherwise the copy was interrupted
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
func Backups(root string, c course.Chapter) ([]string, error) { return folders(backupFolder(root, c)) }

// folders lists the folders in dir by name; one that does not exist has none.
func folders(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func backupFolder(root string, c course.Chapter) string {
	return filepath.Join(root, ".workshop", "backup", c.Dir)
}

// code reads the chapter's present code.
func code(root string, c course.Chapter) (map[string][]byte, error) {
	files, err := course.Code(filepath.Join(root, c.Dir))
	if err != nil {
		return nil, fmt.Errorf("read chapter %s: %w", c.Dir, err)
	}
	return files, nil
}

// put replaces all of the chapter's code with files.
func put(root string, c course.Chapter, files map[string][]byte) (Change, error) {
	present, err := code(root, c)
	if err != nil {
		return Change{}, err
	}
	var change Change
	loses := false // whether it replaces or removes a file
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if old, exists := present[name]; !exists || !bytes.Equal(old, files[name]) {
			change.Written = append(change.Written, name)
			loses = loses || exists
		}
	}
	for _, name := range slices.Sorted(maps.Keys(present)) {
		if _, stays := files[name]; !stays {
			change.Removed = append(change.Removed, name)
			loses = true
		}
	}
	if loses && worthKeeping(root, c, present) {
		if change.Backup, err = backup(root, backupFolder(root, c), present); err != nil {
			return Change{}, err
		}
		change.Restorable = true
	}
	return change, change.carryOut(root, c, files)
}

// carryOut writes and removes the files that the change names. If that fails, the error has the place of the backup.
func (c Change) carryOut(root string, chapter course.Chapter, files map[string][]byte) (err error) {
	defer func() {
		if err != nil && c.Backup != "" {
			err = fmt.Errorf("%w; the files from before are in %s", err, c.Backup)
		}
	}()
	folder := filepath.Join(root, chapter.Dir)
	for _, name := range c.Written {
		path := filepath.Join(folder, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = replace(path, files[name])
		}
		if err != nil {
			return fmt.Errorf("write %s/%s: %w", chapter.Dir, name, err)
		}
	}
	for _, name := range c.Removed {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("remove %s/%s: %w", chapter.Dir, name, err)
		}
	}
	return nil
}

// worthKeeping reports whether any file is neither the stub nor the solution.
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

// backup copies files to a new folder in parent, and reads the copies back before it returns the folder.
func backup(root, parent string, files map[string][]byte) (_ string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("nothing was changed, because your files could not be copied first: %w", err)
		}
	}()
	folder, err := makeNewest(parent, now())
	if err != nil {
		return "", err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return "", err
		}
		copied, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(copied, content) {
			err = fmt.Errorf("the copy %s does not have the content of the file", path)
		}
		if err != nil {
			return "", err
		}
	}
	return filepath.Rel(root, folder)
}

// now is replaced in tests.
var now = time.Now

const stampLayout = "2006-01-02_15.04.05"

// makeNewest makes a folder in parent whose name is the time and comes after all others, because Restore takes the last
// for the newest: also twice within a second, and after the clock was set back.
func makeNewest(parent string, at time.Time) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
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
	for ; ; n++ { // another process may make one at the same time
		folder := filepath.Join(parent, stamp)
		if n > 1 {
			folder = fmt.Sprintf("%s_%04d", folder, n)
		}
		if err := os.Mkdir(folder, 0o755); !errors.Is(err, fs.ErrExist) {
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
	defer os.Remove(temporary.Name()) // it is gone if all went well
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Chmod(0o644), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// EditedTests lists the chapter's generated tests that are changed or gone. Tests that a learner has added are not
// among them.
func EditedTests(root string, c course.Chapter) ([]string, error) {
	edited, _, err := editedTests(root, c)
	return slices.Sorted(maps.Keys(edited)), err
}

// editedTests returns the present contents of those tests, which are nil for tests that are gone, and the check sums of
// all generated tests.
func editedTests(root string, c course.Chapter) (edited map[string][]byte, sums map[string]string, err error) {
	listed, err := checksum.Read(filepath.Join(root, c.Solution()))
	if err != nil {
		return nil, nil, err
	}
	edited = map[string][]byte{}
	for name, sum := range listed.Tests {
		content, err := os.ReadFile(filepath.Join(root, c.Dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if err != nil || checksum.Of(content) != sum {
			edited[name] = content
		}
	}
	return edited, listed.Tests, nil
}

// RestoreTests restores edited tests from git's history. It finds them by their check sum, because a learner may have
// committed the edit. It copies edited ones to a backup first.
func RestoreTests(root string, c course.Chapter) (Change, error) {
	edited, sums, err := editedTests(root, c)
	if err != nil {
		return Change{}, err
	}
	change := Change{Written: slices.Sorted(maps.Keys(edited))}
	made, keep := map[string][]byte{}, map[string][]byte{}
	for _, name := range change.Written {
		if made[name], err = fromHistory(root, c.Dir+"/"+name, sums[name]); err != nil {
			return Change{}, err
		}
		if edited[name] != nil {
			keep[strings.ReplaceAll(name, "/", "_")] = edited[name]
		}
	}
	if len(keep) > 0 { // apart from the code, which Restore takes as a whole
		if change.Backup, err = backup(root, backupFolder(root, c)+"-tests", keep); err != nil {
			return Change{}, err
		}
	}
	return change, change.carryOut(root, c, made)
}

// fromHistory returns the content with a check sum that git's history has for a path.
func fromHistory(root, path, sum string) ([]byte, error) {
	commits, err := exec.Command("git", "-C", root, "log", "--format=%H", "--", path).Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s cannot be restored: there is no git on this machine; copy it from a fresh clone", path)
	}
	for commit := range strings.FieldsSeq(string(commits)) {
		content, err := exec.Command("git", "-C", root, "show", commit+":./"+path).Output()
		if err == nil && checksum.Of(content) == sum {
			return content, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be restored: git's history here does not have its original; "+
		"copy it from a fresh clone", path)
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
