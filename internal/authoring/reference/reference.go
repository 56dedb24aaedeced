// Package reference checks that what the workshop's texts say of client-go is true of the version in go.mod.
//
// A text goes stale in silence: a function moves, a type is renamed, a heading is reworded. So everything in a text
// that can be looked up is looked up, in the source of the pinned modules as it lies in the module cache:
//
//   - links inside the repository lead to a file, a heading, a line that exists (links.go);
//   - links to upstream source name the pinned version, and where the link's text is a symbol, the line is the one on
//     which it is declared (links.go);
//   - links to issues: text and target have the same number (links.go);
//   - names such as cache.NewIndexer, in inline code and in Go comments, exist (names.go), and so do the paths of
//     client-go's files (paths.go);
//   - code blocks are Go, and those that are quoted are the lines they are quoted from (blocks.go).
//
// Underneath: package markdown reads Markdown, this file the comments of Go files, source.go and symbols.go know what
// the modules declare, aliases.go under which names texts speak of packages.
//
// A Markdown text may have to speak of what is gone ("ErrRequeue was removed in 0.33"). It says so, anywhere in it:
//
//	<!-- gone: cache.Foo, tools/cache/foo.go -->
//
// and it is a problem if the thing is there after all, or is not spoken of.
//
// What it leaves out: whether a sentence is right, what only the network knows, and code in strings.
package reference

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course/markdown"
)

// Problem is one thing that a text has wrong.
type Problem struct {
	File string // relative to the root, with slashes
	Line int
	Text string // what is wrong, and where the thing is now if that is known
}

// Check reads files, Markdown and Go, with paths relative to root, which is the folder of the workshop's go.mod. It
// returns what they have wrong, sorted by file and line; an error means that it could not look.
func Check(ctx context.Context, root string, files []string) ([]Problem, error) {
	s, err := load(ctx, root)
	if err != nil {
		return nil, err
	}
	return s.check(ctx, files)
}

func (s *source) check(ctx context.Context, files []string) ([]Problem, error) {
	var problems []Problem
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("check the references: %w", err)
		}
		content, err := os.ReadFile(s.own.file(file))
		if err != nil {
			return nil, fmt.Errorf("check the references: %w", err)
		}
		c := &checker{source: s, file: path.Clean(filepath.ToSlash(file)), gone: map[string]int{}, named: map[string]bool{}}
		switch path.Ext(c.file) {
		case ".md":
			c.markdown(content)
		case ".go":
			c.goFile(content)
		default:
			return nil, fmt.Errorf("check the references of %s: only Markdown (.md) and Go (.go) can be read", file)
		}
		problems = append(problems, c.problems...)
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(problems), nil // two equal links on a line have one problem
}

// checker is the work on one file.
type checker struct {
	*source
	file     string          // relative to the root, with slashes
	gone     map[string]int  // the names that the text declares to be gone, with the lines that do so
	named    map[string]bool // those of them that it names
	problems []Problem
}

func (c *checker) problem(line int, format string, args ...any) {
	c.problems = append(c.problems, Problem{c.file, line, fmt.Sprintf(format, args...)})
}

func (c *checker) markdown(content []byte) {
	doc := markdown.Parse(content)
	for _, m := range doc.Comments {
		if list, ok := strings.CutPrefix(m.Text, "gone:"); ok {
			for _, name := range strings.Split(list, ",") {
				c.gone[strings.TrimSpace(name)] = m.Line
			}
		}
		quoted := slices.ContainsFunc(doc.Blocks, func(b *markdown.Block) bool { return b.Comment == m })
		if strings.HasPrefix(m.Text, "source:") && !quoted {
			c.problem(m.Line, "no code block follows <!-- %s -->: it has to stand right above one", m.Text)
		}
	}
	for _, l := range doc.Links {
		c.link(l)
	}
	for _, code := range doc.Code {
		c.names(code.Line, code.Text, nil)
	}
	for i, line := range doc.Prose {
		c.paths(i+1, line)
	}
	for _, b := range doc.Blocks {
		c.block(b)
	}
	for name, line := range c.gone { // one that is there after all is reported where it is named
		if !c.named[name] {
			c.problem(line, "%s is marked as gone, and this text does not name it: take it out of the comment", name)
		}
	}
}

// scope is what the names in a Go file's comments mean by the file's own words; nil in Markdown.
type scope struct {
	imports  map[string]string // import paths by name
	declared map[string]bool   // names that the file gives to something else: parameters, variables, types
}

// goFile checks the comments of a Go file. Code is the compiler's business.
func (c *checker) goFile(content []byte) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, c.file, content, parser.ParseComments)
	if err != nil {
		c.problem(1, "its comments cannot be read: %v", err)
		return
	}
	lines := map[int]string{}
	for _, group := range tree.Comments {
		for _, comment := range group.List {
			first := set.PositionFor(comment.Pos(), false).Line
			for i, line := range strings.Split(comment.Text, "\n") {
				lines[first+i] += line + "\n"
			}
		}
	}
	in := &scope{importsOf(tree), declaredNames(tree)}
	for number, line := range lines {
		c.names(number, line, in)
		c.paths(number, line)
		for _, address := range markdown.WebAddress.FindAllString(line, -1) {
			c.link(markdown.Link{Line: number, Target: strings.TrimRight(address, ".,;:")})
		}
	}
}

// declaredNames returns the names that a file gives to things of its own. Where a file has a variable watch, its
// comments do not speak of the package.
func declaredNames(tree *ast.File) map[string]bool {
	names := map[string]bool{}
	for n := range ast.Preorder(tree) {
		if ident, ok := n.(*ast.Ident); ok && ident.Obj != nil && ident.Obj.Kind != ast.Lbl {
			names[ident.Name] = true
		}
	}
	return names
}

// isGone reports whether the text has declared name to be gone, itself or what it belongs to.
func (c *checker) isGone(name string) bool {
	if c.gone[name] > 0 {
		c.named[name] = true
		return true
	}
	i := strings.LastIndex(name, ".")
	return i > 0 && c.isGone(name[:i])
}
