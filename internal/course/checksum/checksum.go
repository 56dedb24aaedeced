// Package checksum reads and writes the checksums of a chapter's files.
//
// Each solution's folder has one list, checksums.txt, in the form of sha256sum: "SUM  NAME" a line, where NAME is a
// path in the chapter's folder. It lists the chapter's stubs and its tests as they were generated. With it the workshop
// distinguishes a file that a learner has changed from one that is out of date, without git.
//
// The sums find edits, not attacks, so they are FNV sums of 128 bits: crypto/sha256 would add 31 packages to what a
// learner compiles before the first command.
package checksum

import (
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Name is the name of the list in a solution's folder.
const Name = "checksums.txt"

// List holds the checksums of a chapter's files by their paths in the chapter's folder.
type List struct {
	Stubs map[string]string
	Tests map[string]string // those of files that end in _test.go
}

// Of returns the checksum of a content, in hex.
func Of(content []byte) string {
	sum := fnv.New128a()
	sum.Write(content) // never fails
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// Add adds a file to the list.
func (l List) Add(name, sum string) {
	if strings.HasSuffix(name, "_test.go") {
		l.Tests[name] = sum
	} else {
		l.Stubs[name] = sum
	}
}

// New returns an empty list.
func New() List { return List{map[string]string{}, map[string]string{}} }

// Read reads the list in a solution's folder. If there is none, it returns an empty list.
func Read(solution string) (List, error) {
	list, path := New(), filepath.Join(solution, Name)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return list, nil
	}
	if err != nil {
		return list, fmt.Errorf("read checksums: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		switch sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); {
		case ok:
			list.Add(name, sum)
		case sum != "":
			return New(), fmt.Errorf("%s: %q is not a checksum and a name", path, sum)
		}
	}
	return list, nil
}

// Write writes the list to a solution's folder: stubs first, then tests, each sorted by name.
func (l List) Write(solution string) error {
	var b strings.Builder
	for _, sums := range []map[string]string{l.Stubs, l.Tests} {
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
		}
	}
	if err := os.WriteFile(filepath.Join(solution, Name), []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write checksums: %w", err)
	}
	return nil
}
