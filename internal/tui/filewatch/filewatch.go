// Package filewatch reports when a file was saved.
//
// It polls. On WSL2 drives, network folders and in some containers the system sends no file events, and reports no
// error. A poll compares the sizes and times of the files. If these differ, Watch compares contents: a clock that jumps
// has no effect, and saving a file without a change is not a save.
package filewatch

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	pause    = 200 * time.Millisecond // between two polls
	quiet    = 20 * time.Millisecond  // an editor writes, renames and touches; wait until it is done
	maxQuiet = 300 * time.Millisecond // but no longer than this, because a program may write a log there all the time
)

// Watch calls saved once at the start and after each change of content, until ctx ends; then it returns. content
// returns a checksum of the files at and below paths. Watch calls all three on its own goroutine. An error of content
// counts as a content.
func Watch(ctx context.Context, paths func() []string, content func() (string, error), saved func()) {
	const none = "not looked yet"
	last, known := none, none // the state of the files, and their content
	for ; ctx.Err() == nil; sleep(ctx, pause) {
		now := state(paths())
		if now == last {
			continue
		}
		for before, end := "", time.Now().Add(maxQuiet); now != before && time.Now().Before(end); {
			sleep(ctx, quiet)
			before, now = now, state(paths())
		}
		last = now
		sum, err := content()
		if err != nil {
			sum = "error: " + err.Error()
		}
		if sum != known && ctx.Err() == nil {
			known = sum
			saved()
		}
	}
}

// state returns a line for each file at and below paths: its name, size and time. Links are followed.
func state(paths []string) string {
	var all strings.Builder
	for _, path := range paths {
		filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // content reports an error that matters
			}
			if info, err := os.Stat(path); err == nil {
				fmt.Fprintln(&all, path, info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
	}
	return all.String()
}

// sleep waits, but not longer than ctx lasts.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
