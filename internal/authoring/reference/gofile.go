package reference

// This file reads Go files: what their comments speak of.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"client-go-workshop/internal/course/markdown"
)

const goneDirective = "//reference:gone "

// scope is what the names in a Go file's comments mean by the file's own words; nil in Markdown.
type scope struct {
	imports  map[string]string // import paths by name
	declared map[string]bool   // names that the file gives to something else: parameters, variables, types
}

// goFile checks the comments of a Go file. Code is the compiler's business.
func (c *checker) goFile(content []byte) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, c.file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		c.problem(1, "its comments cannot be read: %v", err)
		return
	}
	lines := map[int]string{}
	for _, group := range tree.Comments {
		for _, comment := range group.List {
			first := set.PositionFor(comment.Pos(), false).Line
			if list, ok := strings.CutPrefix(comment.Text, goneDirective); ok {
				c.markGone(first, list)
				continue
			}
			for i, line := range strings.Split(comment.Text, "\n") {
				lines[first+i] += line + "\n"
			}
		}
	}
	in := &scope{importsOf(tree), declaredNames(set, tree)}
	for number, line := range lines {
		c.names(number, line, in)
		c.paths(number, line)
		for _, address := range markdown.WebAddress.FindAllString(line, -1) {
			c.link(markdown.Link{Line: number, Target: strings.TrimRight(address, ".,;:")})
		}
	}
	c.checkGone()
}

// declaredNames are the names that a file gives to things of its own. Where a file has a variable watch, its comments
// do not speak of the package.
func declaredNames(set *token.FileSet, tree *ast.File) map[string]bool {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}} // without its imports and the other files, most of it is an error
	_, _ = config.Check(tree.Name.Name, set, []*ast.File{tree}, info)
	names := map[string]bool{}
	for name, defined := range info.Defs {
		switch d := defined.(type) {
		case nil, *types.PkgName, *types.Label:
		case *types.Func:
			if d.Signature().Recv() == nil {
				names[name.Name] = true
			}
		default:
			names[name.Name] = true
		}
	}
	return names
}
