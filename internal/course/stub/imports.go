package stub

// This file fixes a stub's imports: those that only removed bodies used go, and the one of package todo comes.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// RemoveUnusedImports returns src, which is formatted, without its unused imports. Blank and dot imports stay.
func RemoveUnusedImports(name string, src []byte) ([]byte, error) {
	return fixImports(name, src, false)
}

// fixImports returns src, which is formatted, without its unused imports and, if todos were made, with the import of
// package todo. Blank and dot imports stay, because the file does not show what they are for.
func fixImports(name string, src []byte, todos bool) ([]byte, error) {
	f := &file{src: src, set: token.NewFileSet()}
	tree, err := parser.ParseFile(f.set, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("%s: the stub is not Go: %w", name, err)
	}
	used := map[string]bool{}
	for _, ident := range tree.Unresolved {
		used[ident.Name] = true
	}
	for _, decl := range tree.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.IMPORT {
			if todos {
				f.addTodo(tree, decl)
				todos = false
			}
			break
		}
		last := ""
		for _, spec := range d.Specs {
			if i := spec.(*ast.ImportSpec); isUsed(i, used) {
				last = i.Path.Value
				todos = todos && last != strconv.Quote(todoPath)
			} else {
				f.cutNode(i, i.Doc)
			}
		}
		switch {
		case last == "":
			f.edits = f.edits[:len(f.edits)-len(d.Specs)]
			f.cutNode(d, d.Doc)
		case todos && d.Rparen.IsValid(): // a group of its own, unless other packages of the workshop are the last one
			separator := "\n"
			if strings.HasPrefix(last, `"client-go-workshop/`) {
				separator = ""
			}
			at := f.offset(d.Rparen)
			f.edits = append(f.edits, edit{at, at, fmt.Sprintf("%s\t%q\n", separator, todoPath)})
			todos = false
		}
	}
	return f.apply(), nil
}

// addTodo imports package todo before a declaration and its doc comment.
func (f *file) addTodo(tree *ast.File, before ast.Decl) {
	at := f.set.Position(before.Pos())
	for _, comment := range tree.Comments {
		if f.set.Position(comment.End()).Line == at.Line-1 {
			at = f.set.Position(comment.Pos())
		}
	}
	start := f.lineStart(at.Offset)
	f.edits = append(f.edits, edit{start, start, fmt.Sprintf("import %q\n\n", todoPath)})
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// isUsed reports whether a file uses an import. The name of a package is taken to be the last element of its path, or
// the one before a major version.
func isUsed(spec *ast.ImportSpec, used map[string]bool) bool {
	if spec.Name != nil {
		return spec.Name.Name == "_" || spec.Name.Name == "." || used[spec.Name.Name]
	}
	importPath, err := strconv.Unquote(spec.Path.Value)
	base := path.Base(importPath)
	return err != nil || used[base] || majorVersion.MatchString(base) && used[path.Base(path.Dir(importPath))]
}
