package workspace

// This file copies files to a backup, such as .workshop/backup/05-indexer/2026-11-20_19.04.05, and writes files.
//
// A backup is written to a hidden folder. It gets its name when every file in it is complete and on the disk, so a full
// disk or a kill leaves no folder that Restore could take for a backup.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/robustio"

	"client-go-workshop/internal/course"
)

// Backups lists the complete backups of a chapter, the newest last.
func Backups(root string, c course.Chapter) ([]string, error) { return backups(backupFolder(root, c)) }

func backupFolder(root string, c course.Chapter) string {
	return filepath.Join(root, ".workshop", "backup", c.Dir)
}

// backups lists the complete backups in a folder. If it does not exist, there are none.
func backups(folder string) ([]string, error) {
	names := []string{}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	for _, e := range entries {
		if _, err := timeOf(e.Name()); err == nil && e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// unfinished is the name of the backup that is being written.
const unfinished = ".unfinished"

// backup copies files to a new folder in parent, and returns the folder. The caller holds the lock.
func backup(root, parent string, files map[string][]byte) (_ string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("nothing was changed, because your files could not be copied first: %w", err)
		}
	}()
	names, err := backups(parent)
	if err != nil {
		return "", err
	}
	hidden := filepath.Join(parent, unfinished)
	if err := os.RemoveAll(hidden); err != nil { // a process was killed
		return "", err
	}
	defer os.RemoveAll(hidden) // it is gone if all went well
	if err := os.MkdirAll(hidden, 0o755); err != nil {
		return "", err
	}
	for name, content := range files {
		if err := writeSynced(filepath.Join(hidden, name), content); err != nil {
			return "", err
		}
	}
	folder := filepath.Join(parent, newestName(names, now()))
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

// timeOf returns the time in the name of a backup. Older versions of the workshop put a number behind it.
func timeOf(name string) (time.Time, error) {
	return time.Parse(stampLayout, name[:min(len(name), len(stampLayout))])
}

// newestName returns the name of the next backup: the time, but at least a second after the newest one, because Restore
// takes the last name for the newest. That holds twice within a second, and after the clock was set back.
func newestName(names []string, at time.Time) string {
	stamp := at.Format(stampLayout)
	if len(names) > 0 && stamp <= names[len(names)-1] {
		newest, _ := timeOf(names[len(names)-1]) // it is a backup's name, see backups
		stamp = newest.Add(time.Second).Format(stampLayout)
	}
	return stamp
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
