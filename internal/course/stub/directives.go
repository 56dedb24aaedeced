package stub

// This file reads a file of a solution: its parts, and what the directives say about them.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// state says what becomes of a part.
type state int

const (
	stays state = iota // as it is; of a struct type the fields are parts of their own
	todo               // a function that stays without its body
	gone
)

// part is a function, a specification in another declaration, or a field of a struct type.
type part struct {
	file      *file
	node      ast.Node
	names     []*ast.Ident
	exported  bool  // whether one of the names is
	directed  bool  // whether it has a directive of its own
	state     state // in the ordinary stub, until Bare chooses another one
	todo      Todo  // the zero Todo if its body is not the learner's
	relations       // for the bare stub
}

// file is a file of a solution.
type file struct {
	name   string
	src    []byte
	set    *token.FileSet
	tree   *ast.File
	parts  []*part // in the order of the file
	byNode map[ast.Node]*part
	edits  []edit

	marked   bool   // whether it has a directive
	forAll   bool   // whether there is a directive for functions without one
	task     int    // of that directive; 0 if it only omits
	receiver string // the name of unexported receiver types in symbols; empty is their own
}

// readFile finds the parts of a file, and carries out its directives.
func readFile(set *token.FileSet, name string, src []byte) (*file, error) {
	tree, err := parser.ParseFile(set, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	f := &file{name: name, src: src, set: set, tree: tree, byNode: map[ast.Node]*part{}}
	documented := map[*ast.CommentGroup][]*part{}
	add := func(node ast.Node, doc *ast.CommentGroup, names ...*ast.Ident) {
		p := &part{file: f, node: node, names: names, exported: slices.ContainsFunc(names, (*ast.Ident).IsExported)}
		f.parts, f.byNode[node], documented[doc] = append(f.parts, p), p, append(documented[doc], p)
	}
	for _, decl := range tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			add(d, d.Doc, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if d.Tok == token.IMPORT {
					continue
				}
				add(spec, cmp.Or(docOf(spec), d.Doc), Declared(spec)...)
				for _, field := range fieldsOf(spec) {
					add(field, field.Doc, FieldNames(field)...)
				}
			}
		}
	}
	return f, f.direct(documented)
}

// function returns the part if it is a function with a body, otherwise nil.
func (p *part) function() *ast.FuncDecl {
	if d, ok := p.node.(*ast.FuncDecl); ok && d.Body != nil {
		return d
	}
	return nil
}

// docOf returns the doc comment of a declaration, a specification or a field; nil if it has none.
func docOf(node ast.Node) *ast.CommentGroup {
	switch n := node.(type) {
	case *ast.FuncDecl:
		return n.Doc
	case *ast.GenDecl:
		return n.Doc
	case *ast.TypeSpec:
		return n.Doc
	case *ast.ValueSpec:
		return n.Doc
	case *ast.ImportSpec:
		return n.Doc
	case *ast.Field:
		return n.Doc
	}
	return nil
}

// fieldsOf returns the fields of a struct type, and nothing for any other node.
func fieldsOf(spec ast.Node) []*ast.Field {
	if t, ok := spec.(*ast.TypeSpec); ok {
		if s, ok := t.Type.(*ast.StructType); ok {
			return s.Fields.List
		}
	}
	return nil
}

// direct carries out the directives. It receives the parts below each doc comment.
func (f *file) direct(documented map[*ast.CommentGroup][]*part) error {
	for _, group := range f.tree.Comments {
		for _, c := range group.List {
			if !strings.HasPrefix(c.Text, "//workshop:") {
				continue
			}
			f.marked = true
			if len(documented[group]) == 0 {
				if err := f.directAll(c); err != nil {
					return err
				}
			}
			for _, p := range documented[group] {
				if err := p.direct(c); err != nil {
					return err
				}
			}
		}
	}
	for _, p := range f.parts {
		switch {
		case p.directed || p.function() == nil:
		case f.forAll && !p.exported:
			p.state = gone
		case f.task > 0:
			p.take(f.task, "")
		}
	}
	return nil
}

var (
	taskDirective = regexp.MustCompile(`^//workshop:task ([1-9]\d*)(?: (\S+))?$`)
	fileDirective = regexp.MustCompile(`^//workshop:file (?:omit|task ([1-9]\d*))(?: (\S+))?$`)
)

// directAll reads the directive in the file's head.
func (f *file) directAll(c *ast.Comment) error {
	inHead := len(f.tree.Decls) == 0 || c.Pos() < f.tree.Decls[0].Pos()
	m := fileDirective.FindStringSubmatch(c.Text)
	switch {
	case !inHead || !strings.HasPrefix(c.Text, "//workshop:file "):
		return f.errorf(c, "%s is in no doc comment of a function or declaration, so it would do nothing", c.Text)
	case f.forAll:
		return f.errorf(c, "a second directive for one file")
	case m == nil:
		return f.errorf(c, "%s: a file's directive is \"//workshop:file omit\" or \"//workshop:file task 2\", "+
			"and the name of a receiver if need be", c.Text)
	}
	f.forAll, f.receiver = true, m[2]
	f.task, _ = strconv.Atoi(m[1]) // digits or nothing, says the pattern
	return nil
}

// direct carries out a directive for a part.
func (p *part) direct(c *ast.Comment) error {
	m := taskDirective.FindStringSubmatch(c.Text)
	switch {
	case p.directed:
		return p.file.errorf(c, "a second directive for one declaration")
	case c.Text == "//workshop:omit" && !p.exported:
		p.state = gone
	case c.Text == "//workshop:omit":
		return p.file.errorf(c, "an exported name cannot be omitted, because the tests may need it")
	case p.function() == nil:
		return p.file.errorf(c, "%s: only a function with a body has a task; this can only be omitted", c.Text)
	case m != nil:
		task, _ := strconv.Atoi(m[1]) // digits, says the pattern
		p.take(task, m[2])
	case c.Text != "//workshop:keep":
		return p.file.errorf(c, "there is no directive %s; there are \"//workshop:task 2\", \"//workshop:task 2 Symbol\", "+
			"\"//workshop:omit\" and \"//workshop:keep\"", c.Text)
	}
	p.directed = true
	return nil
}

// take makes a function's body the learner's. An empty symbol is the function's own.
func (p *part) take(task int, symbol string) {
	d, f := p.function(), p.file
	p.state = todo
	p.todo = Todo{task, cmp.Or(symbol, f.symbol(d)), d.Doc.Text(), f.set.Position(d.Name.Pos()).Line,
		f.offset(d.Body.Lbrace) + 1, Symbol(d)}
}

// symbol returns Symbol, with the file's name for an unexported receiver type.
func (f *file) symbol(d *ast.FuncDecl) string {
	receiver, method, ok := strings.Cut(Symbol(d), ".")
	if ok && f.receiver != "" && !ast.IsExported(receiver) {
		return f.receiver + "." + method
	}
	return Symbol(d)
}

// errorf returns an error about a node.
func (f *file) errorf(at ast.Node, format string, args ...any) error {
	return fmt.Errorf("%s: %w", f.set.Position(at.Pos()), fmt.Errorf(format, args...))
}
