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
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
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
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Layer{}, fmt.Errorf("read the %s of %s: %w", name, chapter, err)
	}
	for _, e := range entries {
		if e.IsDir() || !isCode(e.Name()) {
			continue
		}
		origin, err := filepath.Abs(filepath.Join(dir, e.Name()))
		if err != nil {
			return Layer{}, err
		}
		content, err := os.ReadFile(origin)
		if err != nil {
			return Layer{}, fmt.Errorf("read the %s of %s: %w", name, chapter, err)
		}
		layer.Files = append(layer.Files, File{e.Name(), origin, content})
	}
	if len(layer.Files) == 0 {
		return Layer{}, fmt.Errorf("read the %s of %s: there is no Go file in %s", name, chapter, dir)
	}
	return layer, nil
}

// isCode tells whether a file is the learner's or an implementation's, and not a test.
func isCode(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// Overlay is an overlay file on disk.
type Overlay struct {
	root string
	path string
}

// Write writes the overlay file for layers, at most one for each chapter, and the copies it needs, below dir. The same
// layers give the same paths, so that Go's build cache works, and two processes may do so at once.
func Write(root, dir string, layers ...Layer) (*Overlay, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("find the workshop's folder: %w", err)
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder for the overlay: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
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
		if isCode(e.Name()) {
			replace[path] = "" // the go command's way to say: not there
		}
	}
	for _, f := range l.Files {
		origin := f.Origin
		if origin == "" {
			origin = filepath.Join(folder, f.Name)
		}
		path, err := store(dir, f.Name, withLine(origin, f.Content))
		if err != nil {
			return err
		}
		replace[filepath.Join(folder, f.Name)] = path
	}
	return nil
}

// withLine puts a //line directive first. It is a comment, so build constraints and the package's doc comment, which
// a blank line or another comment may precede, keep their meaning.
func withLine(origin string, content []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "//line %s:1\n", origin)
	b.Write(content)
	return b.Bytes()
}

// store writes content below dir, in a folder named for it, and returns the path. A file that is there is right.
func store(dir, name string, content []byte) (string, error) {
	folder := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(content))[:16])
	path := filepath.Join(folder, name)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	temporary, err := os.CreateTemp(folder, name+".*.tmp")
	if err != nil {
		return "", err
	}
	_, err = temporary.Write(content)
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		os.Remove(temporary.Name())
		return "", err
	}
	return path, nil
}

// Path is the absolute path of the overlay file.
func (o *Overlay) Path() string { return o.path }

// Go prepares `go verb -overlay FILE args…` in the workshop's root: verb is test, vet, build, list or run. It refuses
// flags that would make the go command ignore the overlay.
func (o *Overlay) Go(ctx context.Context, verb string, args ...string) (*exec.Cmd, error) {
	goflags := os.Getenv("GOFLAGS")
	for _, arg := range append(strings.Fields(goflags), args...) {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		switch {
		case strings.HasPrefix(name, "cover"):
			return nil, fmt.Errorf("go %s %s: with %s the go command drops the overlay and tests the wrong code; measure coverage with plain go test", verb, strings.Join(args, " "), arg)
		case name == "overlay":
			return nil, fmt.Errorf("go %s %s: there can be only one overlay; take %s away", verb, strings.Join(args, " "), arg)
		}
	}
	cmd := GoCommand(ctx, append([]string{verb, "-overlay", o.path}, args...)...)
	cmd.Dir = o.root
	cmd.Env = append(cmd.Env, Env+"="+o.path)
	return cmd, nil
}

// Env tells a test binary which overlay it was built with: package guard reads the source of what runs.
const Env = "WORKSHOP_OVERLAY"

// GoCommand prepares a go command that a go.work file further up does not change, and that is interrupted, not killed,
// when ctx ends.
func GoCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
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
