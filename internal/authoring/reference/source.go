package reference

// This file finds the pinned modules and parses their packages. It reads source, so it needs neither a build nor an
// import of client-go. Type-checking the packages that texts name takes five times as long, because it needs all that
// they import; the declarations alone are enough.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course/stub"
)

// module is the source of one module.
type module struct {
	path    string // "k8s.io/client-go"; "std" for the standard library
	version string // as in go.mod: "v0.37.2"
	dir     string // the folder of its go.mod; of the standard library, that of its packages
}

// ownModule is the path of the workshop's module.
const ownModule = "client-go-workshop"

// upstreamModules are those that texts speak of. Their source is in github.com/kubernetes.
var upstreamModules = strings.Fields("k8s.io/client-go k8s.io/apimachinery k8s.io/api k8s.io/utils k8s.io/klog/v2")

// String is how messages name a module: "k8s.io/client-go v0.37.2".
func (m module) String() string { return strings.TrimSpace(m.path + " " + m.version) }

func (m module) file(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

// has reports whether m has the file or folder at a path with slashes.
func (m module) has(name string) bool {
	_, err := os.Stat(m.file(name))
	return err == nil
}

// lines returns the lines of a file without the space at their ends, none if it cannot be read.
func (m module) lines(name string) []string {
	content, _ := os.ReadFile(m.file(name))
	return trimmed(slices.Collect(strings.Lines(string(content))))
}

// source knows what the packages of some modules declare. It parses a package when it is first asked for, and keeps it.
// It is not safe for concurrent use.
type source struct {
	own      module
	modules  []module          // own and the upstream ones
	chapters map[string]string // import paths of the solutions, by package name
	packages map[string]*pkg   // by import path; nil where there is none
}

// newSource returns a source over the workshop at root and other modules.
func newSource(root string, modules ...module) *source {
	own := module{path: ownModule, dir: root}
	return &source{own, append(modules, own), chapters(root), map[string]*pkg{}}
}

// load returns a source over the workshop at root, the upstream modules that its go.mod pins, and the standard library.
// It downloads nothing.
func load(ctx context.Context, root string) (*source, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-m", "-json=Path,Version,Dir"}, upstreamModules...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off") // what counts is the workshop's go.mod
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the pinned client-go for %s: go list -m: %w: %s", root, err, &stderr)
	}
	modules := []module{{path: "std", dir: filepath.Join(build.Default.GOROOT, "src")}}
	for list := json.NewDecoder(bytes.NewReader(out)); list.More(); {
		var m struct{ Path, Version, Dir string }
		if err := list.Decode(&m); err != nil {
			return nil, fmt.Errorf("find the pinned client-go for %s: %w", root, err)
		}
		if m.Dir == "" {
			return nil, fmt.Errorf("the source of %s is not in the module cache: run `go mod download %[1]s`", m.Path)
		}
		modules = append(modules, module{m.Path, m.Version, m.Dir})
	}
	return newSource(root, modules...), nil
}

// module finds the module that an import path, or the path of a file below it, lies in, and the rest of the path. Paths
// without a dot in the first element are the standard library's, except for the workshop's own.
func (s *source) module(importPath string) (m module, rest string, ok bool) {
	if first, _, _ := strings.Cut(importPath, "/"); !strings.Contains(first, ".") && first != ownModule {
		importPath = "std/" + importPath
	}
	for _, m := range s.modules {
		if rest, ok := strings.CutPrefix(importPath+"/", m.path+"/"); ok {
			return m, path.Clean(rest), true
		}
	}
	return module{}, "", false
}

// repository finds the module whose source is github.com/kubernetes/name.
func (s *source) repository(name string) (module, bool) {
	for _, m := range s.modules {
		if strings.HasPrefix(m.path+"/", "k8s.io/"+name+"/") {
			return m, true
		}
	}
	return module{}, false
}

// load parses the package at an import path, with its tests. It returns nil if no module has it.
func (s *source) load(importPath string) *pkg {
	if p, known := s.packages[importPath]; known {
		return p
	}
	m, dir, ok := s.module(importPath)
	if !ok {
		return nil
	}
	p := &pkg{module: m, dir: dir, decls: map[string][]*decl{}}
	files, _ := filepath.Glob(filepath.Join(m.file(dir), "*.go")) // the pattern is well-formed
	for _, file := range files {
		set := token.NewFileSet()
		tree, _ := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if tree == nil {
			continue // what does not parse counts as far as it does
		}
		p.name = strings.TrimSuffix(tree.Name.Name, "_test")
		p.declare(set, path.Join(dir, filepath.Base(file)), tree)
	}
	if p.name == "" {
		p = nil
	}
	s.packages[importPath] = p
	return p
}

// importsOf maps the names that a file uses for packages to import paths.
func importsOf(tree *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range tree.Imports {
		imports[stub.ImportName(i)] = strings.Trim(i.Path.Value, "\"`")
	}
	return imports
}
