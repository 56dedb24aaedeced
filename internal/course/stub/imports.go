package stub

// This file mends a stub's imports: what only the removed bodies used goes, package todo comes.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// mendImports returns src with its unused imports gone and, if holes were made, with the import of package todo.
// Blank and dot imports stay: nobody can see from here what they are for.
func mendImports(name string, src []byte, holes bool) ([]byte, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("%s: the stub is not Go: %w", name, err)
	}
	used := map[string]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil {
				used[x.Name] = true
			}
		}
		return true
	})
	var gone [][2]string
	for _, spec := range tree.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.Position(spec.Pos()), err)
		}
		alias := ""
		local := baseName(importPath)
		if spec.Name != nil {
			alias, local = spec.Name.Name, spec.Name.Name
		}
		if alias != "_" && alias != "." && !used[local] && (alias != "" || !used[path.Base(importPath)]) {
			gone = append(gone, [2]string{alias, importPath})
		}
	}
	for _, g := range gone {
		astutil.DeleteNamedImport(set, tree, g[0], g[1])
	}
	if !holes && len(gone) == 0 {
		return src, nil
	}
	var out bytes.Buffer
	if err := (&printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}).Fprint(&out, set, tree); err != nil {
		return nil, fmt.Errorf("%s: print the stub: %w", name, err)
	}
	if !holes || used["todo"] && importsTodo(tree) {
		return out.Bytes(), nil
	}
	return addTodo(name, out.Bytes())
}

func importsTodo(tree *ast.File) bool {
	for _, spec := range tree.Imports {
		if spec.Path.Value == strconv.Quote(todoPath) {
			return true
		}
	}
	return false
}

// addTodo puts the import of package todo into a group of its own, last: the workshop's own packages stand after those
// of others.
func addTodo(name string, src []byte) ([]byte, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("%s: the stub is not Go: %w", name, err)
	}
	line := strconv.Quote(todoPath)
	for _, decl := range tree.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.IMPORT || !d.Rparen.IsValid() {
			continue
		}
		at := set.Position(d.Rparen).Offset
		separator := "\n\t"
		if len(d.Specs) == 0 {
			separator = "\n\t"
		} else if last := d.Specs[len(d.Specs)-1].(*ast.ImportSpec); strings.HasPrefix(last.Path.Value, `"client-go-workshop/`) {
			separator = "\t"
		}
		return []byte(string(src[:at]) + separator + line + "\n" + string(src[at:])), nil
	}
	at := set.Position(headEnd(tree)).Offset
	return []byte(string(src[:at]) + "\n\nimport " + line + "\n" + string(src[at:])), nil
}

// headEnd is where a file's head ends: the package clause, and the comments that stand below it on their own.
func headEnd(tree *ast.File) token.Pos {
	end, first := tree.Name.End(), tree.FileEnd
	if len(tree.Decls) > 0 {
		first = tree.Decls[0].Pos()
		if doc := declDoc(tree.Decls[0]); doc != nil {
			first = doc.Pos()
		}
	}
	for _, comment := range tree.Comments {
		if comment.Pos() > end && comment.End() < first {
			end = comment.End()
		}
	}
	return end
}

func declDoc(decl ast.Decl) *ast.CommentGroup {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

var version = regexp.MustCompile(`^v\d+$`)

// baseName guesses the name of the package at an import path: the last element, or the one before a major version. (In
// k8s.io/api the last element v1 is the name; the caller looks for both.)
func baseName(importPath string) string {
	base := path.Base(importPath)
	if version.MatchString(base) && strings.Contains(importPath, "/") {
		base = path.Base(path.Dir(importPath))
	}
	base = strings.TrimPrefix(base, "go-")
	if i := strings.LastIndex(base, "."); i > 0 {
		base = base[:i] // gopkg.in/yaml.v3
	}
	return strings.ReplaceAll(base, "-", "")
}
