package bugs

// This file makes the wrong version of a solution: it finds declarations by their symbols and replaces them.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/overlay"
)

// Apply makes the wrong version of the solution: a layer in which each changed declaration has its wrong text. It adds
// the listed imports and removes those that are no longer used. The solution may have changed since the wrong version
// was made; Apply fails only if a symbol is gone.
func (b Bug) Apply(solution overlay.Layer) (overlay.Layer, error) {
	layer := overlay.Layer{Chapter: solution.Chapter, Name: "bug " + b.Name, Files: slices.Clone(solution.Files)}
	changed := map[int]bool{}
	for _, c := range b.Changes {
		at := slices.IndexFunc(layer.Files, func(f overlay.File) bool { return f.Name == c.File })
		if at < 0 {
			return overlay.Layer{}, fmt.Errorf("wrong version %s: the solution has no file %s", b.Name, c.File)
		}
		f := &layer.Files[at]
		content, err := c.apply(f.Content)
		if err != nil {
			return overlay.Layer{}, fmt.Errorf("wrong version %s: %s: %w", b.Name, c.File, err)
		}
		f.Content, changed[at] = content, true
	}
	for at := range changed {
		f := &layer.Files[at]
		content, err := stub.RemoveUnusedImports(f.Name, f.Content)
		if err == nil {
			content, err = format.Source(content)
		}
		if err != nil {
			return overlay.Layer{}, fmt.Errorf("wrong version %s: %s: %w", b.Name, f.Name, err)
		}
		f.Content = content
	}
	return layer, nil
}

// apply returns a file's source with the change made.
func (c Change) apply(src []byte) ([]byte, error) {
	if c.Symbol == Imports {
		return addImports(src, c.Wrong)
	}
	start, end, found, err := find(src, c.Symbol)
	switch {
	case err != nil:
		return nil, err
	case !found && c.Right != "":
		return nil, fmt.Errorf("the solution does not declare %s", c.Symbol)
	case !found:
		return slices.Concat(src, []byte("\n"+c.Wrong+"\n")), nil
	}
	return slices.Concat(src[:start], []byte(c.Wrong), src[end:]), nil
}

// Declaration returns the text of a symbol's declaration without its doc comment, as Change has it. It is empty if
// the file does not declare the symbol. A symbol in a group, such as a const block, stands for the whole group.
func Declaration(src []byte, symbol string) (string, error) {
	start, end, _, err := find(src, symbol)
	return string(src[start:end]), err
}

func find(src []byte, symbol string) (start, end int, found bool, err error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
	if err != nil {
		return 0, 0, false, err
	}
	for _, decl := range tree.Decls {
		if slices.Contains(Symbols(decl), symbol) {
			return set.Position(decl.Pos()).Offset, set.Position(decl.End()).Offset, true, nil
		}
	}
	return 0, 0, false, nil
}

// Symbols returns the names that a declaration declares: Type.Method for a method, none for imports.
func Symbols(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		names = append(names, stub.Symbol(d))
	case *ast.GenDecl:
		for _, name := range stub.Declared(d.Specs...) {
			names = append(names, name.Name)
		}
	}
	return names
}

// addImports adds imports, one on each line: "path", or a name and "path".
func addImports(src []byte, lines string) ([]byte, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(lines, "\n") {
		at := strings.IndexByte(line, '"') // there is one, says parse
		astutil.AddNamedImport(set, tree, strings.TrimSpace(line[:at]), strings.Trim(line[at:], "\" \t"))
	}
	var out bytes.Buffer
	err = format.Node(&out, set, tree)
	return out.Bytes(), err
}
