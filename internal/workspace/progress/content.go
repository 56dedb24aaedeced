package progress

// This file says which files a verdict is about. Their checksum is stored with it.

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
	"client-go-workshop/internal/runner"
)

// BugTest is the learner's own test for `workshop bugs`. Content ignores it, so writing it leaves the chapter green.
const BugTest = "bug_test.go"

// Content returns a checksum of everything that a chapter's verdict depends on: its Go files, those that its tests
// import, the module's requirements, the version of Go, and GOFLAGS. A file that does not exist counts as an empty one.
func Content(root string, c course.Chapter) (string, error) { return newTree(root).content(c) }

// tree reads the workshop's folders, each once. All asks for ten chapters, whose tests import mostly the same ones.
type tree struct {
	root string
	sums map[string]string // by folder or file: a line for each file that counts
}

func newTree(root string) tree { return tree{root, map[string]string{}} }

func (t tree) content(c course.Chapter) (string, error) {
	all := ""
	for _, dir := range Paths(t.root, c) {
		sums, known := t.sums[dir]
		if !known {
			var err error
			if sums, err = t.read(dir); err != nil {
				return "", fmt.Errorf("look for changes in %s: %w", dir, err)
			}
			t.sums[dir] = sums
		}
		all += sums
	}
	return strings.TrimSpace(runtime.Version() + " " + checksum.Of([]byte(all)) + " " + runner.Flags()), nil
}

// read returns the checksum and the path of each Go file in a folder, or of a file.
func (t tree) read(dir string) (string, error) {
	var sums strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path != dir && (!course.IsGo(d.Name()) || d.Name() == BugTest) {
			return existing(err)
		}
		text, err := course.ReadFile(path)
		fmt.Fprintf(&sums, "%s  %q\n", checksum.Of(text), strings.TrimPrefix(path, t.root))
		return existing(err)
	})
	return sums.String(), err
}

// existing returns err, unless it is about a file that does not exist.
func existing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Paths returns the files that Content reads, and the folders that it reads with all below them.
func Paths(root string, c course.Chapter) []string {
	dirs := []string{filepath.Join(root, c.Dir), filepath.Join(root, "internal", "testkit"),
		filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")}
	if c.Layers {
		dirs = append(dirs, filepath.Join(root, "solutions"))
	}
	if c.Lab() {
		dirs = append(dirs, imported(root, c)...)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

var (
	constrained = regexp.MustCompile(`(?m)^//go:build `)
	ownImport   = regexp.MustCompile(`(?m)^\s*(?:import )?(?:\w+ )?"client-go-workshop/(\S+)"`)
)

// imported returns the folders of chapters and solutions that the Go files of a lab import, without files that have a
// build constraint: of those, a plain go test uses only generated ones.
func imported(root string, c course.Chapter) (dirs []string) {
	files, _ := filepath.Glob(filepath.Join(root, c.Dir, "*.go")) // the pattern is well-formed
	for _, path := range files {
		src, err := course.ReadFile(path)
		if err != nil || constrained.Match(src) {
			continue // Content reports an error
		}
		for _, m := range ownImport.FindAllSubmatch(src, -1) {
			if dir := string(m[1]); !strings.HasPrefix(dir, "internal/") && dir != c.Dir {
				dirs = append(dirs, filepath.Join(root, filepath.FromSlash(dir)))
			}
		}
	}
	return dirs
}
