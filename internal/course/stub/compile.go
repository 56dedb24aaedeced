package stub

// This file finds out whether a chapter's stubs compile, and if not, which line of the solution is to blame.

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"client-go-workshop/internal/runner/overlay"
)

// Compile compiles a chapter's stubs, the result of Dir. An error names the declaration in the solution that keeps
// its body and needs something that was taken out.
func Compile(ctx context.Context, root, chapter string, files map[string][]byte) error {
	layer := overlay.Layer{Chapter: chapter, Name: "stub"}
	for name, content := range files {
		layer.Files = append(layer.Files, overlay.File{Name: name, Origin: filepath.Join(root, chapter, name), Content: content})
	}
	o, err := overlay.Write(root, filepath.Join(root, ".workshop", "overlay"), layer)
	if err != nil {
		return err
	}
	cmd, err := o.Go(ctx, "build", "./"+chapter)
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s", blame(root, chapter, files, string(out)))
}

var compileError = regexp.MustCompile(`(?m)^(?:.*[/\\])?([^/\\\s]+\.go):(\d+):(?:\d+:)? (.*)$`)

// blame turns the compiler's first message about a stub into one about the solution.
func blame(root, chapter string, files map[string][]byte, output string) string {
	m := compileError.FindStringSubmatch(output)
	if m == nil {
		return fmt.Sprintf("the stubs of %s do not compile:\n%s", chapter, output)
	}
	file, message := m[1], m[3]
	line, _ := strconv.Atoi(m[2])
	declaration := enclosing(files[file], line)
	path := filepath.Join("solutions", chapter, file)
	src, err := os.ReadFile(filepath.Join(root, path))
	if err != nil || declaration == "" {
		return fmt.Sprintf("%s: the stub would not compile: %s", path, message)
	}
	return fmt.Sprintf("%s:%d: the stub would not compile: %s (in %s, which stays in the stub)", path, lineOf(src, declaration), message, declaration)
}

// enclosing names the top-level declaration around a line.
func enclosing(src []byte, line int) string {
	found := ""
	eachDeclaration(src, func(name string, first, last int) {
		if first <= line && line <= last {
			found = name
		}
	})
	return found
}

func lineOf(src []byte, declaration string) (line int) {
	eachDeclaration(src, func(name string, first, _ int) {
		if name == declaration {
			line = first
		}
	})
	return line
}

func eachDeclaration(src []byte, do func(declaration string, first, last int)) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		return
	}
	line := func(p token.Pos) int { return set.Position(p).Line }
	for _, decl := range tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			do(name(d), line(d.Pos()), line(d.End()))
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				var names []string
				for _, n := range declared(spec) {
					names = append(names, n.Name)
				}
				if len(names) > 0 {
					do(strings.Join(names, ", "), line(spec.Pos()), line(spec.End()))
				}
			}
		}
	}
}
