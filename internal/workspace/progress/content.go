package progress

// This file says which files a verdict is about. Their checksum is stored with it.

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
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

// tree reads the workshop's files, each once. All asks for ten chapters, whose tests import mostly the same files.
type tree struct {
	root  string
	texts map[string][]byte   // by the file's path below root
	lists map[string][]string // by folder: the paths of its Go files below root
}

func newTree(root string) tree { return tree{root, map[string][]byte{}, map[string][]string{}} }

func (t tree) content(c course.Chapter) (string, error) {
	files := []string{"go.mod", "go.sum"}
	for _, dir := range Folders(t.root, c) {
		below, err := t.list(dir)
		if err != nil {
			return "", fmt.Errorf("look for changes in %s: %w", dir, err)
		}
		files = append(files, below...)
	}
	slices.Sort(files)
	files = slices.Compact(files) // a folder may be below another one
	var list strings.Builder
	for _, name := range files {
		text, err := t.read(name)
		if err != nil {
			return "", fmt.Errorf("look for changes: %w", err)
		}
		fmt.Fprintf(&list, "%s  %q\n", checksum.Of(text), name)
	}
	return strings.TrimSpace(runtime.Version() + " " + checksum.Of([]byte(list.String())) + " " + runner.Flags()), nil
}

func (t tree) list(dir string) ([]string, error) {
	if files, known := t.lists[dir]; known {
		return files, nil
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && course.IsGo(d.Name()) && d.Name() != BugTest {
			files = append(files, strings.TrimPrefix(path, t.root+string(filepath.Separator)))
		}
		return existing(err)
	})
	if err == nil {
		t.lists[dir] = files
	}
	return files, err
}

func (t tree) read(name string) ([]byte, error) {
	if text, known := t.texts[name]; known {
		return text, nil
	}
	text, err := course.ReadFile(filepath.Join(t.root, name))
	if err = existing(err); err == nil {
		t.texts[name] = text
	}
	return text, err
}

// existing returns err, unless it is about a file that does not exist.
func existing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Folders returns the folders that Content reads, with all folders below them.
func Folders(root string, c course.Chapter) []string {
	dirs := []string{filepath.Join(root, c.Dir), filepath.Join(root, "internal", "testkit")}
	if c.Layers {
		dirs = append(dirs, filepath.Join(root, "solutions"))
	}
	if c.Lab() {
		dirs = append(dirs, imported(root, c)...)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

var constrained = regexp.MustCompile(`(?m)^//go:build `)

// imported returns the folders of chapters and solutions that the Go files of a lab import, without files that have a
// build constraint: of those, a plain go test uses only generated ones.
func imported(root string, c course.Chapter) (dirs []string) {
	files, _ := filepath.Glob(filepath.Join(root, c.Dir, "*.go")) // the pattern is well-formed
	for _, path := range files {
		src, err := course.ReadFile(path)
		if err != nil {
			continue // Content reports it
		}
		if constrained.Match(src) {
			continue
		}
		file, _ := parser.ParseFile(token.NewFileSet(), path, src, parser.ImportsOnly) // the compiler reports errors
		if file == nil {
			continue
		}
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			dir, ours := strings.CutPrefix(name, "client-go-workshop/")
			if ours && !strings.HasPrefix(dir, "internal/") && dir != c.Dir {
				dirs = append(dirs, filepath.Join(root, filepath.FromSlash(dir)))
			}
		}
	}
	return dirs
}
