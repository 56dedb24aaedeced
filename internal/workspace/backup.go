package workspace

// This file copies files to a backup, such as .workshop/backup/05-indexer/2026-11-20_19.04.05, and writes files.
//
// A backup is written to a hidden folder. It gets its name when every file in it is complete and on the disk, so a full
// disk or a kill leaves no folder that Restore could take for a backup.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/robustio"

	"client-go-workshop/internal/course"
)

// Backups lists the complete backups of a chapter, the newest last.
func Backups(root string, c course.Chapter) ([]string, error) {
	return folders(backupFolder(root, c), false)
}

// folders lists the complete or the unfinished backups in dir by name; if it does not exist, there are none.
func folders(dir string, areUnfinished bool) ([]string, error) {
	names := []string{}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), unfinished) == areUnfinished {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func backupFolder(root string, c course.Chapter) string {
	return filepath.Join(root, ".workshop", "backup", c.Dir)
}

// unfinished begins the name of a backup that is being written.
const unfinished = ".unfinished-"

// backup copies files to a new folder in parent, and reads the copies back before it returns the folder. The caller
// holds the lock.
func backup(root, parent string, files map[string][]byte) (_ string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("nothing was changed, because your files could not be copied first: %w", err)
		}
	}()
	name, err := newestName(parent, now())
	if err != nil {
		return "", err
	}
	hidden := filepath.Join(parent, unfinished+name)
	defer os.RemoveAll(hidden) // it is gone if all went well
	if err := os.MkdirAll(hidden, 0o755); err != nil {
		return "", err
	}
	for name, content := range files {
		path := filepath.Join(hidden, name)
		if err := writeSynced(path, content); err != nil {
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
	folder := filepath.Join(parent, name)
	if err := os.Rename(hidden, folder); err != nil {
		return "", err
	}
	return filepath.Rel(root, folder)
}

// These are replaced in tests.
var (
	now         = time.Now
	writeSynced = writeNew
)

const stampLayout = "2006-01-02_15.04.05"

// newestName returns a name for a folder in parent: the time, in a form that comes after all other names, because
// Restore takes the last for the newest. That holds twice within a second, and after the clock was set back. It removes
// what interrupted backups have left.
func newestName(parent string, at time.Time) (string, error) {
	interrupted, err := folders(parent, true)
	for _, name := range interrupted {
		err = errors.Join(err, os.RemoveAll(filepath.Join(parent, name)))
	}
	names, err2 := folders(parent, false)
	if err := errors.Join(err, err2); err != nil {
		return "", err
	}
	last := ""
	if len(names) > 0 {
		last = names[len(names)-1]
	}
	stamp := at.Format(stampLayout)
	if last < stamp {
		return stamp, nil
	}
	n := 1
	if len(last) >= len(stampLayout) {
		stamp = last[:len(stampLayout)]
		fmt.Sscanf(last[len(stampLayout):], "_%d", &n)
	}
	return fmt.Sprintf("%s_%04d", stamp, n+1), nil
}

// writeNew writes a file that does not exist, to the disk itself. The umask decides on its mode.
func writeNew(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

// Replace writes a file as a whole or not at all. If there is a file, it takes over its mode. The caller holds a lock,
// so that only one process at a time replaces a file in that folder.
func Replace(path string, content []byte) error {
	temporary := filepath.Join(filepath.Dir(path), ".workshop-new")
	if err := robustio.RemoveAll(temporary); err != nil { // a process was killed
		return err
	}
	defer os.Remove(temporary) // it is gone if all went well
	if err := writeSynced(temporary, content); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		if err := os.Chmod(temporary, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return robustio.Rename(temporary, path)
}
