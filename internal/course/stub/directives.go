package stub

// This file reads a file of a solution: its parts, and what the directives say about them.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
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

// part is a function, a specification in another declaration, or a field of a struct type. Constants that depend on the
// ones before them are one part.
type part struct {
	node      ast.Node
	doc       *ast.CommentGroup // nil if it has none
	names     []*ast.Ident
	exported  bool
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

// read finds the parts of a file, and carries out its directives.
func read(set *token.FileSet, name string, src []byte) (*file, error) {
	tree, err := parser.ParseFile(set, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	f := &file{name: name, src: src, set: set, tree: tree, byNode: map[ast.Node]*part{}}
	documented := map[*ast.CommentGroup][]*part{}
	add := func(node ast.Node, doc *ast.CommentGroup, names ...*ast.Ident) {
		p := &part{node: node, doc: doc, names: names}
		for _, name := range names {
			p.exported = p.exported || name.IsExported()
		}
		f.parts, f.byNode[node], documented[doc] = append(f.parts, p), p, append(documented[doc], p)
	}
	for _, decl := range tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			add(d, d.Doc, d.Name)
		case *ast.GenDecl:
			if d.Tok == token.CONST && dependent(d) {
				add(d, d.Doc, Declared(d.Specs...)...)
				for _, spec := range d.Specs {
					f.byNode[spec] = f.byNode[d]
				}
			} else if d.Tok != token.IMPORT {
				for _, spec := range d.Specs {
					add(spec, cmp.Or(docOf(spec), d.Doc), Declared(spec)...)
					for _, field := range fieldsOf(spec) {
						add(field, field.Doc, FieldNames(field)...)
					}
				}
			}
		}
	}
	return f, f.direct(documented)
}

// dependent reports whether the constants of a group depend on the ones before them, so that none can go alone.
func dependent(d *ast.GenDecl) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		spec, isSpec := n.(*ast.ValueSpec)
		ident, isIdent := n.(*ast.Ident)
		found = found || isSpec && len(spec.Values) == 0 || isIdent && ident.Name == "iota"
		return true
	})
	return found
}

// docOf returns the doc comment of a specification that is not an import.
func docOf(spec ast.Spec) *ast.CommentGroup {
	if t, ok := spec.(*ast.TypeSpec); ok {
		return t.Doc
	}
	return spec.(*ast.ValueSpec).Doc
}

// fieldsOf returns the fields of a struct type, and nothing for any other specification.
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
		parts := documented[group]
		for _, c := range group.List {
			if !strings.HasPrefix(c.Text, "//workshop:") {
				continue
			}
			f.marked = true
			if len(parts) == 0 {
				if err := f.directAll(c); err != nil {
					return err
				}
			}
			for _, p := range parts {
				if err := f.directOne(p, c); err != nil {
					return err
				}
			}
		}
	}
	for _, p := range f.parts {
		var err error
		switch _, isFunction := p.node.(*ast.FuncDecl); {
		case p.directed || !isFunction:
		case f.forAll && !p.exported:
			p.state = gone
		case f.task > 0:
			err = f.take(p, f.task, "")
		}
		if err != nil {
			return err
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

// directOne carries out a directive for a part.
func (f *file) directOne(p *part, c *ast.Comment) error {
	_, isFunction := p.node.(*ast.FuncDecl)
	m := taskDirective.FindStringSubmatch(c.Text)
	switch {
	case p.directed:
		return f.errorf(c, "a second directive for one declaration")
	case c.Text == "//workshop:omit":
		for _, name := range p.names {
			if name.IsExported() {
				return f.errorf(name, "%s is exported, so the tests may need it; it cannot be omitted", name)
			}
		}
		p.state = gone
	case !isFunction:
		return f.errorf(c, "%s: this declaration can only be omitted; a task stands before a function", c.Text)
	case m != nil:
		task, _ := strconv.Atoi(m[1]) // digits, says the pattern
		if err := f.take(p, task, m[2]); err != nil {
			return err
		}
	case strings.HasPrefix(c.Text, "//workshop:task"):
		return f.errorf(c, "%s: a task directive is \"//workshop:task 2\" or \"//workshop:task 2 Symbol\"", c.Text)
	case c.Text != "//workshop:keep":
		return f.errorf(c, "there is no directive %s; there are task, omit and keep", c.Text)
	}
	p.directed = true
	return nil
}

// take makes a function's body the learner's. An empty symbol is the function's own.
func (f *file) take(p *part, task int, symbol string) error {
	d := p.node.(*ast.FuncDecl)
	if d.Body == nil {
		return f.errorf(d, "%s has no body to take out", d.Name)
	}
	p.state = todo
	p.todo = Todo{task, cmp.Or(symbol, f.symbol(d)), d.Doc.Text(), f.set.Position(d.Name.Pos()).Line,
		f.offset(d.Body.Lbrace) + 1, Symbol(d)}
	return nil
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
