package stub

// This file carries out the directives: those of declarations, and the one in a file's head that is for all functions.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

var (
	taskDirective = regexp.MustCompile(`^//workshop:task ([1-9]\d*)(?: (\S+))?$`)
	fileDirective = regexp.MustCompile(`^//workshop:file (?:omit|task ([1-9]\d*))(?: (\S+))?$`)
)

// read finds the directives of a file, and what each of them cuts.
func read(name string, src []byte) (*file, error) {
	f := &file{src: src, set: token.NewFileSet(), used: map[*ast.Comment]bool{}}
	tree, err := parser.ParseFile(f.set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	if err := f.head(tree); err != nil {
		return nil, err
	}
	for _, decl := range tree.Decls {
		var err error
		switch d := decl.(type) {
		case *ast.FuncDecl:
			err = f.function(d)
		case *ast.GenDecl:
			err = f.declaration(d)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, group := range tree.Comments {
		for _, c := range group.List {
			if isDirective(c) && !f.used[c] {
				return nil, f.errorf(c.Pos(), "%s is in no doc comment of a function or declaration, so it would do nothing",
					c.Text)
			}
		}
	}
	return f, nil
}

func isDirective(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//workshop:") }

// head reads the directive in the file's head.
func (f *file) head(tree *ast.File) error {
	for _, group := range tree.Comments {
		if len(tree.Decls) > 0 && (group.Pos() > tree.Decls[0].Pos() || group == docOf(tree.Decls[0])) {
			return nil
		}
		for _, c := range group.List {
			m := fileDirective.FindStringSubmatch(c.Text)
			switch {
			case !strings.HasPrefix(c.Text, "//workshop:file "):
				continue
			case f.forAll:
				return f.errorf(c.Pos(), "a second directive for one file")
			case m == nil:
				return f.errorf(c.Pos(), "%s: a file's directive is \"//workshop:file omit\" or \"//workshop:file task 2\", "+
					"and the name of a receiver if need be", c.Text)
			}
			f.forAll, f.receiver, f.used[c] = true, m[2], true
			f.task, _ = strconv.Atoi(m[1]) // digits or nothing, says the pattern
			f.cutDirective(group, c)
		}
	}
	return nil
}

// directive returns the one directive in the doc comment of a node, nil if there is none.
func (f *file) directive(node ast.Node) (found *ast.Comment, err error) {
	doc := docOf(node)
	if doc == nil {
		return nil, nil
	}
	for _, c := range doc.List {
		if !isDirective(c) {
			continue
		}
		if found != nil {
			return nil, f.errorf(c.Pos(), "a second directive for one declaration")
		}
		found, f.used[c] = c, true
	}
	return found, nil
}

// function carries out the directive of a function, or the one for all functions of the file.
func (f *file) function(d *ast.FuncDecl) error {
	c, err := f.directive(d)
	if err != nil {
		return err
	}
	if c == nil {
		switch {
		case f.forAll && !d.Name.IsExported():
			return f.omit(d, d.Name)
		case f.task > 0:
			return f.todo(d, f.task, "")
		}
		return nil
	}
	m := taskDirective.FindStringSubmatch(c.Text)
	switch {
	case c.Text == "//workshop:omit":
		return f.omit(d, d.Name)
	case c.Text == "//workshop:keep":
		f.cutDirective(d.Doc, c)
		return nil
	case m != nil:
		f.cutDirective(d.Doc, c)
		task, _ := strconv.Atoi(m[1]) // digits, says the pattern
		return f.todo(d, task, m[2])
	case strings.HasPrefix(c.Text, "//workshop:task"):
		return f.errorf(c.Pos(), "%s: a task directive is \"//workshop:task 2\" or \"//workshop:task 2 Symbol\"", c.Text)
	}
	return f.errorf(c.Pos(), "there is no directive %s; there are task, omit and keep", c.Text)
}

// declaration carries out the directive of a declaration that is not a function, or those of its specs.
func (f *file) declaration(d *ast.GenDecl) error {
	nodes := []ast.Node{d}
	for _, spec := range d.Specs {
		nodes = append(append(nodes, spec), fields(spec)...)
	}
	for _, node := range nodes {
		c, err := f.directive(node)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if c.Text != "//workshop:omit" {
			return f.errorf(c.Pos(), "%s: this declaration can only be omitted; a task stands before a function", c.Text)
		}
		if node == ast.Node(d) {
			return f.omit(d, Declared(d.Specs...)...)
		}
		if err := f.omit(node, declared(node)...); err != nil {
			return err
		}
	}
	return nil
}

// fields returns the fields of a struct type.
func fields(spec ast.Spec) (all []ast.Node) {
	t, _ := spec.(*ast.TypeSpec)
	if t == nil {
		return nil
	}
	if s, ok := t.Type.(*ast.StructType); ok {
		for _, field := range s.Fields.List {
			all = append(all, field)
		}
	}
	return all
}

// declared returns the names that a spec or a field declares.
func declared(node ast.Node) []*ast.Ident {
	if field, ok := node.(*ast.Field); ok {
		return field.Names
	}
	return Declared(node.(ast.Spec))
}

// docOf returns the doc comment of a declaration or a field, except for an import; nil if it has none.
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
	case *ast.Field:
		return n.Doc
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

// todo replaces a function's body. An empty symbol is the function's own.
func (f *file) todo(d *ast.FuncDecl, task int, symbol string) error {
	if d.Body == nil {
		return f.errorf(d.Pos(), "%s has no body to take out", d.Name.Name)
	}
	if symbol == "" {
		symbol = f.symbol(d)
	}
	f.todos = append(f.todos, Todo{task, symbol, d.Doc.Text(), f.set.Position(d.Name.Pos()).Line,
		f.offset(d.Body.Lbrace) + 1, Symbol(d)})
	f.cutBody(d, task, symbol)
	return nil
}

// cutBody replaces a function's body by the panic of a todo.
func (f *file) cutBody(d *ast.FuncDecl, task int, symbol string) {
	f.edits = append(f.edits, edit{f.offset(d.Body.Lbrace), f.offset(d.Body.Rbrace) + 1,
		fmt.Sprintf("{\n\tpanic(todo.Task(%d, %q))\n}", task, symbol)})
}

// omit takes a declaration out, with its comments and the rest of its lines.
func (f *file) omit(node ast.Node, names ...*ast.Ident) error {
	for _, n := range names {
		if n.IsExported() {
			return f.errorf(n.Pos(), "%s is exported, so the tests may need it; it cannot be omitted", n.Name)
		}
	}
	f.cutNode(node, docOf(node))
	return nil
}

// cutDirective takes a directive's line out of a comment, and the empty comment line before it if it is the last.
func (f *file) cutDirective(group *ast.CommentGroup, c *ast.Comment) {
	from := c.Pos()
	if last := len(group.List) - 1; last > 0 && group.List[last] == c && group.List[last-1].Text == "//" {
		from = group.List[last-1].Pos()
	}
	f.cut(from, c.End())
}

// symbol returns Symbol, with the file's name for an unexported receiver type.
func (f *file) symbol(d *ast.FuncDecl) string {
	receiver, method, ok := strings.Cut(Symbol(d), ".")
	if ok && f.receiver != "" && !ast.IsExported(receiver) {
		return f.receiver + "." + method
	}
	return Symbol(d)
}

// Symbol returns Receiver.Method, or the function's name.
func Symbol(d *ast.FuncDecl) string {
	if d.Recv != nil && len(d.Recv.List) > 0 {
		for n := range ast.Preorder(d.Recv.List[0].Type) {
			if receiver, ok := n.(*ast.Ident); ok { // the first name in "*Box[K, V]"
				return receiver.Name + "." + d.Name.Name
			}
		}
	}
	return d.Name.Name
}
