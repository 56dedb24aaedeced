// Package workspace changes the files in a chapter's folder, and never loses a line that a learner wrote there.
//
// It copies files before it replaces or removes them (backup.go), and changes nothing unless the copies are complete.
// Restore is such a change too, so it can be undone. Two changes never overlap, in one process or in several: each
// holds a lock on the workshop.
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

	"github.com/rogpeppe/go-internal/lockedfile"

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

// Lock waits until no other process changes the chapter folders of the workshop at root. The functions of this package
// hold the lock already.
func Lock(root string) (unlock func(), err error) {
	path := filepath.Join(root, ".workshop", "lock")
	err = os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		unlock, err = lockedfile.MutexAt(path).Lock()
	}
	if err != nil {
		return nil, fmt.Errorf("nothing was changed, because the workshop's folder could not be locked: %w", err)
	}
	return unlock, nil
}

// code is the content of Go files by name.
type code = map[string][]byte

// Reset puts the stubs back.
func Reset(root string, c course.Chapter) (Change, error) {
	return put(root, c, func(code) (code, error) { return stubs(root, c, stub.Dir) })
}

// ResetBare puts the bare stub in place: the chapter's exported names alone.
func ResetBare(root string, c course.Chapter) (Change, error) {
	return put(root, c, func(code) (code, error) { return stubs(root, c, stub.BareDir) })
}

// ResetMissing puts back the stubs that are gone, and leaves all else as it is. In a chapter that began bare it puts
// back the files of the bare stub.
func ResetMissing(root string, c course.Chapter) (Change, error) {
	return put(root, c, func(present code) (code, error) {
		start := stub.Dir
		if stub.IsBare(present) {
			start = stub.BareDir
		}
		files, err := stubs(root, c, start)
		maps.Copy(files, present)
		return files, err
	})
}

func stubs(root string, c course.Chapter, start func(solution string) (map[string][]byte, error)) (code, error) {
	files, err := start(filepath.Join(root, c.Solution()))
	if err != nil {
		return code{}, fmt.Errorf("make the stubs of %s: %w", c.Dir, err)
	}
	return files, nil
}

// Skip puts the finished layer in place.
func Skip(root string, c course.Chapter) (Change, error) {
	return put(root, c, func(code) (code, error) {
		files, err := course.Code(filepath.Join(root, c.Solution()))
		if err != nil {
			return nil, fmt.Errorf("read the solution of %s: %w", c.Dir, err)
		}
		return files, nil
	})
}

// Restore brings a backup back: the one called name, or the newest that differs from the present files. It returns the
// name of that backup.
func Restore(root string, c course.Chapter, name string) (change Change, backup string, err error) {
	change, err = put(root, c, func(present code) (code, error) {
		names, err := Backups(root, c)
		if err != nil {
			return nil, err
		}
		for _, candidate := range slices.Backward(names) {
			files, err := course.Code(filepath.Join(backupFolder(root, c), candidate))
			if err != nil {
				return nil, fmt.Errorf("read the backup %s of %s: %w", candidate, c.Dir, err)
			}
			if candidate == name || name == "" && len(files) > 0 && !maps.EqualFunc(files, present, bytes.Equal) {
				backup = candidate
				return files, nil
			}
		}
		if name != "" {
			return nil, fmt.Errorf("there is no backup %q of %s; there are: %s", name, c.Dir, strings.Join(names, ", "))
		}
		return nil, fmt.Errorf("there is no backup of %s that differs from the present files; "+
			"for the stubs: go tool workshop reset %s", c.Dir, c.Dir)
	})
	return change, backup, err
}

// put replaces all of the chapter's code with what next returns for the present code. It holds the lock.
func put(root string, c course.Chapter, next func(present code) (code, error)) (Change, error) {
	unlock, err := Lock(root)
	if err != nil {
		return Change{}, err
	}
	defer unlock()
	present, err := course.Code(filepath.Join(root, c.Dir))
	if err != nil {
		return Change{}, fmt.Errorf("read chapter %s: %w", c.Dir, err)
	}
	files, err := next(present)
	if err != nil {
		return Change{}, err
	}
	var change Change
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if old, exists := present[name]; !exists || !bytes.Equal(old, files[name]) {
			change.Written = append(change.Written, name)
			change.Restorable = change.Restorable || exists
		}
	}
	for _, name := range slices.Sorted(maps.Keys(present)) {
		if _, stays := files[name]; !stays {
			change.Removed = append(change.Removed, name)
			change.Restorable = true
		}
	}
	untouched, _, skipped := Compare(root, c)
	if change.Restorable = change.Restorable && !untouched && !skipped; change.Restorable {
		if change.Backup, err = backup(root, backupFolder(root, c), present); err != nil {
			return Change{}, err
		}
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
			err = Replace(path, files[name])
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

// Compare reports whether the code in a chapter's folder is that of its stub, ordinary or bare, or of its solution, and
// whether it began as the bare stub. If a file cannot be read, it is none of these.
func Compare(root string, c course.Chapter) (untouched, bare, skipped bool) {
	solution := filepath.Join(root, c.Solution())
	listed, err := checksum.Read(solution)
	present, presentErr := course.Code(filepath.Join(root, c.Dir))
	reference, referenceErr := course.Code(solution)
	if errors.Join(err, presentErr, referenceErr) != nil || len(listed.Stubs) == 0 {
		return false, false, false
	}
	skipped = maps.EqualFunc(present, reference, bytes.Equal)
	if stub.IsBare(present) {
		made, err := stub.Bare(reference)
		return err == nil && maps.EqualFunc(present, made, bytes.Equal), true, skipped
	}
	return maps.EqualFunc(present, listed.Stubs, func(content []byte, sum string) bool {
		return checksum.Of(content) == sum
	}), false, skipped
}

// EditedTests lists the chapter's generated tests that are changed or gone. Tests that a learner has added are not
// among them.
func EditedTests(root string, c course.Chapter) ([]string, error) {
	edited, _, err := editedTests(root, c)
	return slices.Sorted(maps.Keys(edited)), err
}

// editedTests returns the present contents of those tests, which are nil for tests that are gone, and the checksums of
// all generated tests.
func editedTests(root string, c course.Chapter) (edited map[string][]byte, sums map[string]string, err error) {
	listed, err := checksum.Read(filepath.Join(root, c.Solution()))
	if err != nil {
		return nil, nil, err
	}
	edited = map[string][]byte{}
	for name, sum := range listed.Tests {
		content, err := course.ReadFile(filepath.Join(root, c.Dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if err != nil || checksum.Of(content) != sum {
			edited[name] = content
		}
	}
	return edited, listed.Tests, nil
}

// RestoreTests restores edited tests from git's history. It finds them by their checksum, because a learner may have
// committed the edit. It copies edited ones to a backup first.
func RestoreTests(root string, c course.Chapter) (Change, error) {
	unlock, err := Lock(root)
	if err != nil {
		return Change{}, err
	}
	defer unlock()
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

// fromHistory returns the content with a checksum that git's history has for a path.
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
// the stub, and files of the stub with the package clause of another package. In a chapter that began bare the learner
// chooses the files, so none is missing, and all have to be of the chapter's package.
func BrokenFiles(root string, c course.Chapter) (missing, misnamed []string) {
	listed, _ := checksum.Read(filepath.Join(root, c.Solution())) // without a list, no file has to be there
	names := slices.Sorted(maps.Keys(listed.Stubs))
	if present, _ := course.Code(filepath.Join(root, c.Dir)); stub.IsBare(present) {
		names = slices.Sorted(maps.Keys(present))
	}
	for _, name := range names {
		src, err := course.ReadFile(filepath.Join(root, c.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, name)
		}
		if err != nil {
			continue
		}
		file, _ := parser.ParseFile(token.NewFileSet(), name, src, parser.PackageClauseOnly) // the compiler reports errors
		if file != nil && file.Name.Name != c.Package() {
			misnamed = append(misnamed, name)
		}
	}
	return missing, misnamed
}
