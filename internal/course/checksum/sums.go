// Package checksum keeps check sums of files in a list, one "SUM  NAME" a line, as sha256sum prints them.
//
// Two such lists lie in each solution's folder: stub.sum for the stubs and test.sum for the tests as they were made. They
// are how the workshop tells a file that a learner has worked on from one that has gone stale, without git.
package checksum

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// The lists in a solution's folder.
const (
	Stubs = "stub.sum"
	Tests = "test.sum"
)

// Of is the check sum of a content.
func Of(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// Read reads a list. A missing file is an empty list.
func Read(path string) (map[string]string, error) {
	all := map[string]string{}
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read check sums: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		sum, name, ok := strings.Cut(line, "  ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not a check sum and a name", path, line)
		}
		all[name] = sum
	}
	return all, nil
}

// Write writes a list, sorted by name.
func Write(path string, all map[string]string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s  %s\n", all[name], name)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write check sums: %w", err)
	}
	return nil
}
