// Package overlay puts an implementation under a chapter's tests without touching the chapter's folder.
//
// The tests of a chapter stand once, in its folder, beside the file that the learner writes. `go test -overlay FILE`
// lets other files stand in that folder's place for one run: the solution, client-go behind the same names, a wrong
// version, a fresh stub. This package writes FILE, and the copies that it points to, and prepares the command.
//
// It is easy to get an overlay wrong without noticing, and then to test something else than one thinks. The traps, each
// with a test that shows it sprung:
//
//   - -cover builds other copies of the files and drops the overlay, without a word. Refused.
//   - A relative path in the file matches nothing, without a word; so does one that goes through a symbolic link other
//     than the go command sees. All paths are absolute, with links resolved.
//   - A compile error or a stack trace names the file that was replaced, with the line of the one that replaced it.
//     Each copy starts with a //line directive that names the true origin.
//   - What the learner adds, be it broken, would be compiled in. A .go file that the implementation lacks is hidden.
//   - An -overlay in GOFLAGS, or a go.work file further up, would change what is built. Both are switched off.
package overlay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
)

// Layer is an implementation of one chapter.
type Layer struct {
	Chapter string // the folder whose files it replaces: "05-indexer"
	Name    string // for messages: "solution", "client-go", "bug forgets-the-old-entry"
	Files   []File
}

// File is one Go file of a layer.
type File struct {
	Name    string // in the chapter's folder: "index.go"
	Origin  string // the absolute path that errors and stack traces shall name; "" for the chapter's own
	Content []byte
}

// ReadDir makes a layer of the Go files in dir, without tests and without what lies in folders below.
func ReadDir(chapter, name, dir string) (Layer, error) {
	layer := Layer{Chapter: chapter, Name: name}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Layer{}, err
	}
	files, err := course.Code(dir)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no Go file in %s", dir)
	}
	if err != nil {
		return Layer{}, fmt.Errorf("read the %s of %s: %w", name, chapter, err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		layer.Files = append(layer.Files, File{name, filepath.Join(dir, name), files[name]})
	}
	return layer, nil
}

// Over returns l with those files of below that it lacks.
func (l Layer) Over(below Layer) Layer {
	has := func(name string) bool {
		return slices.ContainsFunc(l.Files, func(f File) bool { return f.Name == name })
	}
	l.Files = slices.Clone(l.Files)
	for _, f := range below.Files {
		if !has(f.Name) {
			l.Files = append(l.Files, f)
		}
	}
	return l
}

// Overlay is an overlay file on disk.
type Overlay struct {
	root string
	path string // absolute
}

// Write writes the overlay file for layers, at most one for each chapter, and the copies it needs, to .workshop/overlay
// in the workshop at root. The same layers give the same paths, so that Go's build cache works, and two processes may
// write at once.
func Write(root string, layers ...Layer) (*Overlay, error) {
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("find the workshop's folder: %w", err)
	}
	dir := filepath.Join(root, ".workshop", "overlay")
	replace := map[string]string{}
	for _, layer := range layers {
		if err := layer.add(replace, root, dir); err != nil {
			return nil, fmt.Errorf("overlay %s with its %s: %w", layer.Chapter, layer.Name, err)
		}
	}
	content, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return nil, err
	}
	path, err := store(dir, "overlay.json", content)
	if err != nil {
		return nil, err
	}
	return &Overlay{root: root, path: path}, nil
}

// add enters a layer's files, and hides those of the chapter that it does not have.
func (l Layer) add(replace map[string]string, root, dir string) error {
	folder := filepath.Join(root, l.Chapter)
	standing, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range standing {
		path := filepath.Join(folder, e.Name())
		if _, taken := replace[path]; taken {
			return fmt.Errorf("the chapter is overlaid twice")
		}
		if course.IsCode(e.Name()) {
			replace[path] = "" // the go command's way to say: not there
		}
	}
	for _, f := range l.Files {
		path := filepath.Join(folder, f.Name)
		// The //line directive is a comment, so build constraints and the package's doc comment, which a blank line or
		// another comment may precede, keep their meaning.
		content := fmt.Appendf(nil, "//line %s:1\n%s", cmp.Or(f.Origin, path), f.Content)
		if replace[path], err = store(dir, f.Name, content); err != nil {
			return err
		}
	}
	return nil
}

// store writes content below dir, in a folder named for it, and returns the path. A file that is there is right.
func store(dir, name string, content []byte) (string, error) {
	path := filepath.Join(dir, checksum.Of(content)[:16], name)
	if old, err := lockedfile.Read(path); err == nil && bytes.Equal(old, content) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// Another process may have stored the same just now, and its go command may read it. Transform truncates nothing.
	return path, lockedfile.Transform(path, func([]byte) ([]byte, error) { return content, nil })
}

// Go prepares `go verb -overlay FILE args…` in the workshop's root: verb is test, vet, build, list or run. It refuses
// flags that would make the go command ignore the overlay.
func (o *Overlay) Go(ctx context.Context, verb string, args ...string) (*exec.Cmd, error) {
	for _, arg := range append(strings.Fields(os.Getenv("GOFLAGS")), args...) {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		problem := ""
		switch {
		case !strings.HasPrefix(arg, "-"):
		case strings.HasPrefix(name, "cover"):
			problem = "the go command drops the overlay and tests the wrong code; measure coverage with plain go test"
		case name == "overlay":
			problem = "the workshop's own overlay would be lost; there can be only one overlay"
		}
		if problem != "" {
			return nil, fmt.Errorf("go %s %s: with %s %s", verb, strings.Join(args, " "), arg, problem)
		}
	}
	cmd := GoCommand(ctx, append([]string{verb, "-overlay", o.path}, args...)...)
	cmd.Dir = o.root
	return cmd, nil
}

// GoCommand prepares a go command.
func GoCommand(ctx context.Context, args ...string) *exec.Cmd {
	return Command(ctx, append([]string{"go"}, args...)...)
}

// Command prepares a program that a go.work file further up does not change, and that is interrupted, not killed, when
// ctx ends.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	// The go command passes an interrupt on to the tests that it runs; killed, it would leave them behind.
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil { // there are no signals on Windows
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
