package reference

// This file reads Go files: what their comments speak of.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// goFile checks the comments of a Go file. Code is the compiler's business.
func (c *checker) goFile(content []byte) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, c.file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		c.problem(1, "its comments cannot be read: %v", err)
		return
	}
	lineOf := func(comment *ast.Comment) int { return set.PositionFor(comment.Pos(), false).Line }
	for _, group := range tree.Comments {
		for _, comment := range group.List {
			if list, ok := strings.CutPrefix(comment.Text, goneDirective); ok {
				c.markGone(lineOf(comment), list)
			}
		}
	}
	in := &scope{imports: importsOf(tree), declared: declaredNames(tree)}
	for _, group := range tree.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, goneDirective) {
				continue
			}
			first := lineOf(comment)
			for i, line := range strings.Split(comment.Text, "\n") {
				c.names(first+i, line, in)
				c.paths(first+i, line)
				for _, address := range webAddress.FindAllString(line, -1) {
					c.link(link{line: first + i, target: strings.TrimRight(address, ".,;:")}, "")
				}
			}
		}
	}
	c.checkGone()
}

const goneDirective = "//reference:gone "

var webAddress = regexp.MustCompile("https?://[^\\s<>()\\[\\]`\"']+")

// declaredNames are the names that a file gives to things of its own. Where a file has a variable watch, its comments do
// not speak of the package.
func declaredNames(tree *ast.File) map[string]bool {
	names := map[string]bool{}
	add := func(e ast.Expr) {
		if n, ok := e.(*ast.Ident); ok {
			names[n.Name] = true
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.FuncDecl:
			if n.Recv == nil {
				add(n.Name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, left := range n.Lhs {
					add(left)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key)
				add(n.Value)
			}
		}
		return true
	})
	return names
}
