package stub

// This file reads which parts of a solution need which other ones. It goes by names, without types: a field or method
// counts as every one of its name.

import (
	"cmp"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// design is a solution, read for its bare stub.
type design struct {
	files   []*file
	set     *token.FileSet
	parts   []*part
	decls   map[string]*part   // by the names of the package
	members map[string][]*part // the methods and fields by name
}

// relations are what the bare stub asks about a part.
type relations struct {
	named    bool // others can name it
	given    bool // its file has no directive
	must     bool // nothing that others see compiles without it
	contract bool // a type with an exported method that the learner writes

	owner *part      // the type of a method or field
	head  []meanings // what its signature or type needs
	body  []meanings // what a function's body or a variable's value needs
}

// meanings are the parts that a name can mean: one, or the methods and fields of that name.
type meanings []*part

func (m meanings) gone() bool {
	return !slices.ContainsFunc(m, func(p *part) bool { return p.state != gone })
}

// relate finds what belongs together.
func (s *design) relate() {
	for _, f := range s.files {
		for _, p := range f.parts {
			p.given = !f.marked
			d, isFunction := p.node.(*ast.FuncDecl)
			_, isField := p.node.(*ast.Field)
			for _, name := range p.names {
				switch {
				case isField && name.IsExported(): // too often a field of another package's type
				case isField, isFunction && d.Recv != nil:
					s.members[name.Name] = append(s.members[name.Name], p)
				case name.Name != "_" && name.Name != "init":
					s.decls[name.Name], p.named = p, true
				}
			}
		}
	}
	for _, f := range s.files {
		for _, p := range f.parts {
			s.connect(f, p)
		}
	}
}

// connect finds the owner of a part, and what the part needs.
func (s *design) connect(f *file, p *part) {
	switch n := p.node.(type) {
	case *ast.FuncDecl:
		if receiver, _, isMethod := strings.Cut(Symbol(n), "."); isMethod {
			p.owner = s.decls[receiver]
		}
		p.todo.Symbol = cmp.Or(p.todo.Symbol, f.symbol(n))
		p.head = s.needed(f, n.Type)
		if n.Body != nil {
			p.body = s.needed(f, n.Body)
		}
	case *ast.TypeSpec:
		for _, field := range fieldsOf(n) {
			f.byNode[field].owner = p
		}
		if n.TypeParams != nil {
			p.head = s.needed(f, n.TypeParams)
		}
		if _, isStruct := n.Type.(*ast.StructType); !isStruct {
			p.head = append(p.head, s.needed(f, n.Type)...)
		}
	default:
		p.head = s.needed(f, n)
	}
}

// needed returns the parts that the code below a node can mean: by the names of the package, those of unexported fields
// and methods, and those of exported methods that are called.
func (s *design) needed(f *file, node ast.Node) (found []meanings) {
	member := func(name *ast.Ident) {
		if all := s.members[name.Name]; len(all) > 0 {
			found = append(found, all)
		}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field: // of a signature: its name is not a use of that name
			found = append(found, s.needed(f, n.Type)...)
			return false
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.IsExported() {
				member(method.Sel)
			}
		case *ast.SelectorExpr:
			if !n.Sel.IsExported() {
				member(n.Sel)
			}
			found = append(found, s.needed(f, n.X)...)
			return false
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && !key.IsExported() {
				member(key)
			}
		case *ast.CompositeLit:
			of := FieldNames(&ast.Field{Type: n.Type}) // the name of the type
			if len(of) == 0 || s.decls[of[0].Name] == nil || len(n.Elts) == 0 {
				break
			}
			if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed {
				for _, field := range fieldsOf(s.decls[of[0].Name].node) {
					member(FieldNames(field)[0])
				}
			}
		case *ast.Ident:
			var declared ast.Node // in this file
			if n.Obj != nil {
				declared, _ = n.Obj.Decl.(ast.Node)
			}
			if p := s.decls[n.Name]; p != nil && (n.Obj == nil || f.byNode[declared] != nil) {
				found = append(found, meanings{p})
			}
		}
		return true
	})
	return found
}
