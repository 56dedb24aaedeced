package verify

// This file hashes what the result of a run depends on: the tests, the code under them, the packages of this module
// that both import, the versions of the other modules, the Go version, and the packages that run the tests.

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"client-go-workshop/internal/runner/overlay"
)

const module = "client-go-workshop/"

// sum is a hash of parts, in hex.
func sum(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d %s\n", len(part), part)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// codeSum is a hash of Go code without its comments, but with directives.
func codeSum(src []byte) string {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, scanner.ScanComments)
	var parts []string
	for {
		_, tok, text := s.Scan()
		if tok == token.EOF {
			return sum(parts...)
		}
		if tok != token.COMMENT || directive.MatchString(text) {
			parts = append(parts, tok.String(), text)
		}
	}
}

var directive = regexp.MustCompile(`^//[a-z]+:|^// \+build|^/\*line `)

// packages hashes the packages of a workshop, and what they import from this module.
type packages struct {
	root    string
	mu      sync.Mutex
	folders map[string]folder
}

type folder struct {
	sum     string
	imports []string // of this module
}

// sum returns the hash of packages and of all that they import from this module.
func (p *packages) sum(paths []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]bool{}
	var parts []string
	for todo := slices.Clone(paths); len(todo) > 0; todo = todo[1:] {
		dir, ours := strings.CutPrefix(todo[0], module)
		if !ours || all[dir] {
			continue
		}
		all[dir] = true
		f, known := p.folders[dir]
		if !known {
			f = readFolder(filepath.Join(p.root, filepath.FromSlash(dir)))
			p.folders[dir] = f
		}
		parts = append(parts, dir+" "+f.sum)
		todo = append(todo, f.imports...)
	}
	slices.Sort(parts)
	return sum(parts...)
}

// readFolder hashes a package. Of one that does not compile, or that is not there, it hashes all Go files.
func readFolder(dir string) (f folder) {
	p, err := build.Default.ImportDir(dir, 0)
	files, code := slices.Concat(p.GoFiles, p.CgoFiles), codeSum
	if err != nil {
		files, _ = filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is right
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		code = func(src []byte) string { return sum(string(src)) }
	}
	var parts []string
	for _, name := range files {
		src, err := os.ReadFile(filepath.Join(dir, name))
		parts = append(parts, name, code(src), fmt.Sprint(err))
	}
	for _, pattern := range p.EmbedPatterns {
		found, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(pattern, "all:"))))
		for _, path := range found {
			parts = append(parts, treeSum(path))
		}
	}
	return folder{sum(parts...), p.Imports}
}

// treeSum hashes the files below a path.
func treeSum(path string) string {
	var parts []string
	err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		parts = append(parts, path, string(content))
		return err
	})
	return sum(append(parts, fmt.Sprint(err))...)
}

// goEnvironment is what of the go command's settings a result depends on.
var goEnvironment = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT", "CGO_ENABLED", "CC").
		Output()
	return fmt.Sprintf("%s %v %s", out, err, os.Getenv("GODEBUG"))
})

// inputs is what the runs of a chapter depend on besides the code under the tests.
type inputs struct {
	common string            // a hash of the settings, the modules, and the code that runs the tests
	shared string            // a hash of the packages that the tests import, and of the declarations that are not tests
	names  []string          // of the tests, in the order in which they run
	tests  map[string]string // the source of each
	lines  map[string]int    // where each begins
}

// all hashes all tests.
func (in inputs) all() string { return in.matching(".") }

// matching hashes the tests that match a pattern, with their lines.
func (in inputs) matching(pattern string) string {
	matching, err := regexp.Compile(pattern)
	if err != nil {
		return ""
	}
	parts := []string{in.shared}
	for _, name := range in.names {
		if matching.MatchString(name) {
			parts = append(parts, name, in.tests[name], strconv.Itoa(in.lines[name]))
		}
	}
	return sum(parts...)
}

// readInputs reads the inputs of the chapter's runs.
func (r *run) readInputs() (in inputs, err error) {
	dir := filepath.Join(r.root, r.chapter.Dir)
	in = inputs{tests: map[string]string{}, lines: map[string]int{}}
	files := token.NewFileSet()
	var shared, outer, imports []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return in, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if match, err := build.Default.MatchFile(dir, e.Name()); err != nil || !match {
			continue
		}
		src, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return in, err
		}
		tree, err := parser.ParseFile(files, e.Name(), src, parser.SkipObjectResolution)
		if err != nil {
			return in, err
		}
		for _, spec := range tree.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			imports = append(imports, path)
		}
		shared = append(shared, e.Name(), tree.Name.Name)
		for _, decl := range tree.Decls {
			text := string(src[decl.Pos()-tree.FileStart : decl.End()-tree.FileStart])
			f, isFunc := decl.(*ast.FuncDecl)
			if !isFunc || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				shared = append(shared, text)
				continue
			}
			in.tests[f.Name.Name], in.lines[f.Name.Name] = text, files.Position(f.Pos()).Line
			if tree.Name.Name == r.chapter.Package() {
				in.names = append(in.names, f.Name.Name)
			} else {
				outer = append(outer, f.Name.Name) // tests of a package of their own run last
			}
		}
	}
	in.names = append(in.names, outer...)
	imports = slices.DeleteFunc(imports, func(path string) bool { return path == module+r.chapter.Dir })
	in.shared = sum(append(shared, treeSum(filepath.Join(dir, "testdata")), r.packages.sum(imports))...)
	in.common = sum(goEnvironment(), strconv.FormatBool(r.race), r.chapter.Dir,
		treeSum(filepath.Join(r.root, "go.mod")), treeSum(filepath.Join(r.root, "go.sum")),
		r.packages.sum([]string{module + "internal/authoring/verify"}))
	return in, nil
}

// layerSum hashes the code of a layer, and of the packages that it imports.
func (r *run) layerSum(layer overlay.Layer) string {
	var parts, imports []string
	for _, f := range layer.Files {
		parts = append(parts, f.Name, codeSum(f.Content))
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.ImportsOnly)
		if err != nil {
			parts = append(parts, err.Error())
			continue
		}
		for _, spec := range tree.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			imports = append(imports, path)
		}
	}
	return sum(append(parts, r.packages.sum(imports))...)
}

// rawSum hashes the files of a layer with their comments.
func rawSum(layer overlay.Layer) string {
	var parts []string
	for _, f := range layer.Files {
		parts = append(parts, f.Name, string(f.Content))
	}
	return sum(parts...)
}
