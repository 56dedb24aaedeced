// Package stub makes what a learner starts from out of the solution, so that the two cannot drift apart.
//
// Directives in doc comments of the solution name the code that is taken out:
//
//	//workshop:task 2 ThreadSafeStore.ByIndex
//
// before a function or method: its body becomes panic(todo.Task(2, "ThreadSafeStore.ByIndex")). Without a symbol it is
// the function's name, or Receiver.Method.
//
//	//workshop:omit
//
// before an unexported declaration: it goes, with its comments.
//
//	//workshop:file omit
//	//workshop:file task 6 DeltaFIFO
//
// in the head of a file, before its first declaration, are for all functions of the file without a directive of their
// own: the unexported ones go, and with a task the exported ones are written in it. The last word, which can be left
// out, is the name of unexported receiver types in symbols. A function with //workshop:keep stays as it is.
//
// Imports that nothing uses any more go too, and the one of package todo comes. All else stays as it is, comment for
// comment: the stub's documentation is the solution's.
//
// It does not check whether the result compiles, and does not write it.
package stub

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"client-go-workshop/internal/course"
)

const todoPath = "client-go-workshop/internal/testkit/todo"

// Hole is a body that the learner writes.
type Hole struct {
	Task   int
	Symbol string
	Line   int // of the declaration in the solution
}

// Dir makes the stubs of a solution's folder: the content of each non-test Go file by name.
func Dir(dir string) (map[string][]byte, error) {
	files, err := course.Code(dir)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	for name, src := range files {
		if files[name], err = Generate(filepath.Join(dir, name), src); err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no solution in %s: it has no Go file", dir)
	}
	return files, nil
}

// Holes lists the bodies that Generate takes out of a file.
func Holes(name string, src []byte) ([]Hole, error) {
	f, err := read(name, src)
	if err != nil {
		return nil, err
	}
	return f.holes, nil
}

var mark = regexp.MustCompile(`(?m)^(?://\n)?//workshop:.*\n`)

// WithoutMarks is a solution's file as a reader wants it: without directives.
func WithoutMarks(src []byte) []byte { return mark.ReplaceAll(src, nil) }

// Generate makes the stub of one file. name is for error messages. It depends on src alone; a file without directives
// comes out as it went in, but for formatting, so a stub is its own stub.
func Generate(name string, src []byte) ([]byte, error) {
	f, err := read(name, src)
	if err != nil {
		return nil, err
	}
	cut, err := format.Source(f.apply(src))
	if err != nil {
		return nil, fmt.Errorf("%s: the stub is not Go: %w", name, err)
	}
	fixed, err := fixImports(name, cut, len(f.holes) > 0)
	if err != nil {
		return nil, err
	}
	return format.Source(fixed)
}

// file is a solution, read: what to cut, and the holes that it leaves.
type file struct {
	set   *token.FileSet
	holes []Hole
	edits []edit // in ascending order, not overlapping

	forAll   []string // the directive for functions without one: "omit", or "task" and its number; nil if there is none
	receiver string   // the name of unexported receiver types in symbols; empty is their own
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

func read(name string, src []byte) (*file, error) {
	f := &file{set: token.NewFileSet()}
	tree, err := parser.ParseFile(f.set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	used := map[*ast.Comment]bool{}
	if err := f.head(tree, src, used); err != nil {
		return nil, err
	}
	for _, decl := range tree.Decls {
		if err := f.declaration(decl, src, used); err != nil {
			return nil, err
		}
	}
	for _, group := range tree.Comments {
		for _, c := range group.List {
			if isDirective(c) && !used[c] {
				return nil, fmt.Errorf("%s: %s is in no doc comment of a function or declaration, so it would do nothing", f.set.Position(c.Pos()), c.Text)
			}
		}
	}
	return f, nil
}

func isDirective(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//workshop:") }

// directive finds the one directive in a doc comment.
func (f *file) directive(doc *ast.CommentGroup, used map[*ast.Comment]bool) (*ast.Comment, []string, error) {
	if doc == nil {
		return nil, nil, nil
	}
	var found *ast.Comment
	for _, c := range doc.List {
		if !isDirective(c) {
			continue
		}
		if found != nil {
			return nil, nil, fmt.Errorf("%s: a second directive for one declaration", f.set.Position(c.Pos()))
		}
		found = c
		used[c] = true
	}
	if found == nil {
		return nil, nil, nil
	}
	return found, strings.Fields(strings.TrimPrefix(found.Text, "//workshop:")), nil
}

func (f *file) declaration(decl ast.Decl, src []byte, used map[*ast.Comment]bool) error {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return f.function(d, src, used)
	case *ast.GenDecl:
		c, words, err := f.directive(d.Doc, used)
		if err != nil {
			return err
		}
		if c != nil {
			return f.omit(d, c, d.Doc, Declared(d.Specs...), words, src)
		}
		for _, spec := range d.Specs {
			doc := docOf(spec)
			c, words, err := f.directive(doc, used)
			if err != nil {
				return err
			}
			if c == nil {
				continue
			}
			if err := f.omit(spec, c, doc, Declared(spec), words, src); err != nil {
				return err
			}
		}
	}
	return nil
}

func word(words []string, n int) string {
	if n < len(words) {
		return words[n]
	}
	return ""
}

func docOf(spec ast.Spec) *ast.CommentGroup {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Doc
	case *ast.ValueSpec:
		return s.Doc
	}
	return nil
}

// Declared returns the names that specs of types, variables and constants declare.
func Declared(specs ...ast.Spec) (names []*ast.Ident) {
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name)
		case *ast.ValueSpec:
			names = append(names, s.Names...)
		}
	}
	return names
}

// hole replaces a function's body, and takes its directive out of the doc comment.
func (f *file) hole(d *ast.FuncDecl, c *ast.Comment, words []string, src []byte) error {
	at := f.set.Position(d.Pos())
	if !isTask(words) || len(words) > 3 {
		return fmt.Errorf("%s: \"//workshop:%s\": a task directive is \"//workshop:task 2\" or \"//workshop:task 2 Symbol\"", at, strings.Join(words, " "))
	}
	if d.Body == nil {
		return fmt.Errorf("%s: %s has no body to take out", at, d.Name.Name)
	}
	h := Hole{Symbol: word(words, 2), Line: f.set.Position(d.Name.Pos()).Line}
	h.Task, _ = strconv.Atoi(words[1])
	if h.Symbol == "" {
		h.Symbol = f.symbol(d)
	}
	f.holes = append(f.holes, h)
	if c != nil {
		f.cutDirective(d.Doc, c, src)
	}
	f.edits = append(f.edits, edit{f.offset(d.Body.Lbrace), f.offset(d.Body.Rbrace) + 1,
		fmt.Sprintf("{\n\tpanic(todo.Task(%d, %q))\n}", h.Task, h.Symbol)})
	return nil
}

// Symbol returns Receiver.Method, or the function's name.
func Symbol(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	receiver := d.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
			continue
		case *ast.IndexExpr:
			receiver = t.X
			continue
		case *ast.IndexListExpr:
			receiver = t.X
			continue
		case *ast.ParenExpr:
			receiver = t.X
			continue
		case *ast.Ident:
			return t.Name + "." + d.Name.Name
		}
		return d.Name.Name
	}
}

func (f *file) offset(p token.Pos) int { return f.set.Position(p).Offset }

// cutDirective takes a directive's line out of a doc comment, and the empty comment line before it.
func (f *file) cutDirective(doc *ast.CommentGroup, c *ast.Comment, src []byte) {
	start, end := f.offset(c.Pos()), f.offset(c.End())
	for i, other := range doc.List {
		if other == c && i > 0 && i == len(doc.List)-1 && strings.TrimSpace(doc.List[i-1].Text) == "//" {
			start = f.offset(doc.List[i-1].Pos())
		}
	}
	f.edits = append(f.edits, edit{lineStart(src, start), lineEnd(src, end), ""})
}

// omit takes a declaration out, with its comments and the rest of its lines.
func (f *file) omit(node ast.Node, c *ast.Comment, doc *ast.CommentGroup, names []*ast.Ident, words []string, src []byte) error {
	if len(words) != 1 || words[0] != "omit" {
		return fmt.Errorf("%s: %s: this declaration can only be omitted; a task stands before a function", f.set.Position(c.Pos()), c.Text)
	}
	for _, n := range names {
		if n.IsExported() {
			return fmt.Errorf("%s: %s is exported, so the tests may need it; it cannot be omitted", f.set.Position(c.Pos()), n.Name)
		}
	}
	start := node.Pos()
	if doc != nil {
		start = doc.Pos()
	}
	f.edits = append(f.edits, edit{lineStart(src, f.offset(start)), lineEnd(src, f.offset(node.End())), ""})
	return nil
}

func lineStart(src []byte, at int) int { return bytes.LastIndexByte(src[:at], '\n') + 1 }

func lineEnd(src []byte, at int) int {
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(src)
}

// apply carries out the edits.
func (f *file) apply(src []byte) []byte {
	var out bytes.Buffer
	at := 0
	for _, e := range f.edits {
		out.Write(src[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(src[at:])
	return out.Bytes()
}
