package verify

// This file hashes what the result of a run depends on: the tests, the code under them, the packages of this module
// that both import, the versions of the other modules, the Go version, and the packages that run the tests.

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
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

// packageSums returns, for each package of the workshop, a hash of it and of all that it imports from this module.
func (r *run) packageSums() (map[string]string, error) {
	cmd := overlay.GoCommand(r.ctx, "list", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,EmbedFiles,Deps", "./...")
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of the workshop: %w", err)
	}
	own, deps := map[string]string{}, map[string][]string{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir                     string
			GoFiles, CgoFiles, EmbedFiles, Deps []string
		}
		if err := list.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		var parts []string
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			parts = append(parts, name, codeSum(src), fmt.Sprint(err))
		}
		own[p.ImportPath] = sum(append(parts, fileSums(p.Dir, p.EmbedFiles...)...)...)
		deps[p.ImportPath] = p.Deps
	}
	sums := map[string]string{}
	for name := range own {
		parts := []string{own[name]}
		for _, dep := range deps[name] {
			parts = append(parts, own[dep])
		}
		sums[name] = sum(parts...)
	}
	return sums, nil
}

// fileSums returns the names of files in a folder, and what they contain or why they cannot be read.
func fileSums(dir string, names ...string) (parts []string) {
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, name))
		parts = append(parts, name, string(content), fmt.Sprint(err))
	}
	return parts
}

// goEnvironment is what of the go command's settings a result depends on.
var goEnvironment = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT", "CGO_ENABLED", "CC").
		Output()
	return fmt.Sprintf("%s %v %s", out, err, os.Getenv("GODEBUG"))
})

// inputs is what the runs of a chapter depend on besides the code under the tests.
type inputs struct {
	names   []string          // of the tests, in the order in which they run
	tests   map[string]string // the source of each
	shared  string            // a hash of the declarations that are not tests, and of the tests' data
	imports []string          // the packages that the tests import
	files   string            // a hash of the test files, with the places of the tests in them
}

// readInputs reads the inputs of the chapter's runs.
func (r *run) readInputs() (in inputs, err error) {
	dir := filepath.Join(r.root, r.chapter.Dir)
	in = inputs{tests: map[string]string{}}
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the patterns are right
	data, _ := filepath.Glob(filepath.Join(dir, "testdata", "*"))
	shared := fileSums("", data...)
	for _, path := range files {
		name := filepath.Base(path)
		if match, err := build.Default.MatchFile(dir, name); err != nil || !match {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return in, err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return in, err
		}
		in.imports = append(in.imports, importsOf(tree)...)
		shared = append(shared, name)
		for _, decl := range tree.Decls {
			text := string(src[decl.Pos()-tree.FileStart : decl.End()-tree.FileStart])
			f, isFunc := decl.(*ast.FuncDecl)
			if !isFunc || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				shared = append(shared, text)
				continue
			}
			in.names, in.tests[f.Name.Name] = append(in.names, f.Name.Name), text
		}
	}
	in.shared, in.files = sum(shared...), sum(fileSums("", files...)...)
	return in, nil
}

// importsOf returns the paths of the packages that a file imports.
func importsOf(tree *ast.File) (paths []string) {
	for _, spec := range tree.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // a literal, says the parser
		paths = append(paths, path)
	}
	return paths
}

// key returns the key of what depends on a layer, on the tests' common code and on other parts. It is empty if no
// results are kept.
func (r *run) key(layer overlay.Layer, parts ...string) string {
	if r.results == "" {
		return ""
	}
	packages := must(r.packages())
	parts = append(parts, r.chapter.Dir, strconv.FormatBool(r.race), r.inputs.shared, goEnvironment(),
		packages[module+"internal/authoring/verify"])
	parts = append(parts, fileSums(r.root, "go.mod", "go.sum")...)
	imports := slices.Clone(r.inputs.imports)
	for _, f := range layer.Files {
		parts = append(parts, f.Name, codeSum(f.Content))
		if tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.ImportsOnly); err == nil {
			imports = append(imports, importsOf(tree)...) // otherwise it does not compile
		}
	}
	for _, path := range imports {
		if path != module+r.chapter.Dir { // the layer is in its place
			parts = append(parts, packages[path])
		}
	}
	return sum(parts...)
}
