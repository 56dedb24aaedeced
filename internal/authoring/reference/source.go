package reference

// This file finds the pinned modules and reads their packages: not compiled ones but source, so it needs neither a build
// nor an import of client-go. A Source is given the folders of its modules; which versions they hold does not matter to
// it, so one that reads another client-go can be made in the same way.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Module is the source of one module.
type Module struct {
	Path    string // "k8s.io/client-go"; "std" for the standard library
	Version string // as in go.mod: "v0.37.2"
	Dir     string // the folder of its go.mod; of the standard library, that of its packages
}

// Source knows what the packages of some modules declare. Packages are parsed when they are first asked for, and kept.
// It is not safe for concurrent use.
type Source struct {
	modules  []Module
	packages map[string]*pkg // by import path, that of tests with testSuffix; nil where there is none
}

// NewSource returns a Source over modules, which nothing is read of yet.
func NewSource(modules ...Module) *Source {
	return &Source{modules: modules, packages: map[string]*pkg{}}
}

// upstreamModules are those that texts speak of.
var upstreamModules = []string{"k8s.io/client-go", "k8s.io/apimachinery", "k8s.io/api", "k8s.io/utils", "k8s.io/klog/v2"}

// Load returns a Source over the modules that root's go.mod pins, and the standard library. One that go.mod does not
// require is left out; client-go must be there. It runs the go command, and downloads nothing.
func Load(ctx context.Context, root string) (*Source, error) {
	out, err := runGo(ctx, root, append([]string{"list", "-m", "-e", "-json"}, upstreamModules...)...)
	if err != nil {
		return nil, err
	}
	var modules []Module
	decoder := json.NewDecoder(strings.NewReader(out))
	for {
		var m struct {
			Module
			Error *struct{ Err string }
		}
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("find the pinned client-go: read the answer of `go list -m`: %w", err)
		}
		switch {
		case m.Error != nil && m.Path == "k8s.io/client-go":
			return nil, fmt.Errorf("find the pinned client-go for %s: %s", root, m.Error.Err)
		case m.Error != nil: // go.mod does not require it
		case m.Dir == "":
			return nil, fmt.Errorf("the source of %s %s is not in the module cache: run `go mod download %s`", m.Path, m.Version, m.Path)
		default:
			modules = append(modules, m.Module)
		}
	}
	goroot, err := runGo(ctx, root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules = append(modules, Module{Path: "std", Dir: filepath.Join(strings.TrimSpace(goroot), "src")})
	return NewSource(modules...), nil
}

func runGo(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off") // what counts is the workshop's go.mod
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the pinned client-go: go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// module finds the module that an import path, or the path of a file below it, lies in, and the rest of the path.
func (s *Source) module(importPath string) (m Module, rest string, ok bool) {
	for _, m := range s.modules {
		if importPath == m.Path {
			return m, ".", true
		}
		if rest, ok := strings.CutPrefix(importPath, m.Path+"/"); ok {
			return m, rest, true
		}
	}
	return Module{}, "", false
}

// repository finds the module whose source is github.com/kubernetes/name.
func (s *Source) repository(name string) (Module, bool) {
	for _, m := range s.modules {
		if m.Path == "k8s.io/"+name || strings.HasPrefix(m.Path, "k8s.io/"+name+"/v") {
			return m, true
		}
	}
	return Module{}, false
}

// has tells whether m has the file or folder at a path with slashes.
func (m Module) has(name string) bool {
	_, err := os.Stat(m.file(name))
	return err == nil
}

func (m Module) file(name string) string { return filepath.Join(m.Dir, filepath.FromSlash(name)) }

// String is how messages name a module: "k8s.io/client-go v0.37.2".
func (m Module) String() string { return strings.TrimSpace(m.Path + " " + m.Version) }

// testSuffix, behind an import path, stands for the tests in that folder.
const testSuffix = " tests"

// load parses the package at an import path, without its tests, or with testSuffix its tests alone. It returns nil if no
// module has it.
func (s *Source) load(importPath string) *pkg {
	if p, known := s.packages[importPath]; known {
		return p
	}
	clean, tests := strings.CutSuffix(importPath, testSuffix)
	m, dir, ok := s.module(clean)
	if !ok {
		return nil
	}
	p := &pkg{module: m, dir: path.Clean(dir), decls: map[string][]*decl{}, byLast: map[string][]*decl{}, embeds: map[string][]*decl{}}
	entries, _ := os.ReadDir(m.file(dir)) // a folder that is not there has no package
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") != tests:
		case name == "generated.pb.go":
			p.late = append(p.late, name)
		default:
			p.read(name)
		}
	}
	if p.name == "" && len(p.late) == 0 {
		p = nil
	}
	s.packages[importPath] = p
	return p
}

// read adds the declarations of one file. What does not parse counts as far as it does.
func (p *pkg) read(name string) {
	set := token.NewFileSet()
	file := path.Join(p.dir, name)
	tree, _ := parser.ParseFile(set, p.module.file(file), nil, parser.ParseComments|parser.SkipObjectResolution)
	if tree == nil {
		return
	}
	if p.name == "" {
		p.name = strings.TrimSuffix(tree.Name.Name, "_test")
	}
	(&reader{pkg: p, set: set, file: file, imports: importsOf(tree)}).declarations(tree)
}

// readLate adds the files that load has put off: protobuf code is most of the bytes, and nearly nothing that a text
// speaks of. It tells whether there were any.
func (p *pkg) readLate() bool {
	late := p.late
	p.late = nil
	for _, name := range late {
		p.read(name)
	}
	return len(late) > 0
}

// world is all that can be named: the upstream modules and the workshop itself.
type world struct {
	upstream, own *Source
	chapters      map[string]string // import paths of the solutions, by package name
}

// load finds a package by its import path, nil if there is none. The standard library's paths have no prefix, as in Go.
func (w *world) load(importPath string) *pkg {
	if _, _, own := w.own.module(importPath); own {
		return w.own.load(importPath)
	}
	return w.upstream.load(withStd(importPath))
}

// module finds the upstream module of an import path.
func (w *world) module(importPath string) (m Module, rest string, ok bool) {
	return w.upstream.module(withStd(importPath))
}

func withStd(importPath string) string {
	if first, _, _ := strings.Cut(importPath, "/"); !strings.Contains(first, ".") {
		return "std/" + importPath
	}
	return importPath
}
