package verify

// This file compiles a chapter's stubs. If they do not compile, it names the line of the solution to change.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"client-go-workshop/internal/runner/overlay"
)

// compile compiles the stubs. An error names the declaration in the solution that keeps its body and needs something
// that is not in the stub.
func (r *run) compile(stubs overlay.Layer) error {
	cmd, err := r.command(stubs, "build", r.pkg())
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	m := compileError.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("the stubs of %s do not compile:\n%s", r.chapter.Dir, out)
	}
	path := filepath.Join(r.chapter.Solution(), string(m[1]))
	line, _ := strconv.Atoi(string(m[2])) // the pattern has digits here
	for _, f := range stubs.Files {
		if f.Name != string(m[1]) {
			continue
		}
		kept := enclosing(f.Content, line)
		solution, err := os.ReadFile(filepath.Join(r.root, path))
		if at := bytes.Index(solution, kept); err == nil && kept != nil && at >= 0 {
			first, _, _ := bytes.Cut(kept, []byte("\n"))
			return fmt.Errorf("%s:%d: the stub would not compile: %s (in %q, which stays in the stub)",
				path, 1+bytes.Count(solution[:at], []byte("\n")), m[3], first)
		}
	}
	return fmt.Errorf("%s: the stub would not compile: %s", path, m[3])
}

var compileError = regexp.MustCompile(`(?m)^(?:.*[/\\])?([^/\\\s]+\.go):(\d+):(?:\d+:)? (.*)$`)

// enclosing returns the source of the declaration around a line, of a function without its body.
func enclosing(src []byte, line int) []byte {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var nodes []ast.Node
	for _, decl := range tree.Decls {
		if d, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				nodes = append(nodes, spec)
			}
			continue
		}
		nodes = append(nodes, decl)
	}
	for _, node := range nodes {
		if set.Position(node.Pos()).Line > line || set.Position(node.End()).Line < line {
			continue
		}
		end := node.End()
		if f, ok := node.(*ast.FuncDecl); ok {
			end = f.Type.End()
		}
		return src[set.Position(node.Pos()).Offset:set.Position(end).Offset]
	}
	return nil
}
