// Logs: each component appends to a file of its own.

package launcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"client-go-workshop/cluster/internal/workspace"
)

// LoggedComponents lists the components that have written a log, whether they
// run or not: after a start that failed, the logs are what is left.
func LoggedComponents(w workspace.Workspace) ([]string, error) {
	files, err := filepath.Glob(w.Log("*"))
	if err != nil {
		return nil, fmt.Errorf("looking for logs: %w", err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".log"))
	}
	slices.Sort(names)
	return names, nil
}

// Logs writes the last lines of each named component's log to out (all lines
// if there are not more), and with follow goes on to write what is added,
// until ctx ends. With more than one name, lines start with the component's.
func Logs(ctx context.Context, w workspace.Workspace, names []string, lines int, follow bool, out io.Writer) error {
	offsets := make([]int64, len(names))
	labels := make([]string, len(names))
	for i, name := range names {
		if len(names) > 1 {
			labels[i] = fmt.Sprintf("%-24s", name)
		}
		if info, err := os.Stat(w.Log(name)); err == nil {
			offsets[i] = info.Size()
		}
		for _, line := range tail(w.Log(name), lines) {
			fmt.Fprintln(out, labels[i]+line)
		}
	}
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond): // the file can only be asked
		}
		for i, name := range names {
			added, err := readFrom(w.Log(name), offsets[i])
			if err != nil {
				return fmt.Errorf("following the log of %s: %w", name, err)
			}
			// Only whole lines: the rest of the last one comes next time.
			added = added[:bytes.LastIndexByte(added, '\n')+1]
			offsets[i] += int64(len(added))
			for line := range bytes.Lines(added) {
				fmt.Fprintf(out, "%s%s", labels[i], line)
			}
		}
	}
	return nil
}

// readFrom reads what lies in a file after offset; nothing if it is gone.
func readFrom(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}

// tail returns the last lines of a file, at most count and at most those in
// its last megabyte; none if it cannot be read.
func tail(path string, count int) []string {
	var offset int64
	if info, err := os.Stat(path); err == nil {
		offset = max(0, info.Size()-1<<20)
	}
	content, err := readFrom(path, offset)
	if err != nil || len(bytes.TrimSpace(content)) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return lines[max(0, len(lines)-count):]
}
