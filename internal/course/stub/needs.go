package stub

// This file reads which parts of a solution need which other ones. It goes by names, without types: a field or method
// counts as every one of its name.

import (
	"go/ast"
	"slices"
	"strings"
)

// design is a solution, read for its bare stub.
type design struct {
	parts   []*part
	decls   map[string]*part   // by the names of the package
	members map[string][]*part // the methods and fields by name
}

// relations are what the bare stub asks about a part.
type relations struct {
	named    bool       // others can name it
	contract bool       // a type with an exported method that the learner writes
	owner    *part      // the type of a method or field
	needs    []meanings // what its code names
}

// meanings are the parts that a name can mean: one, or the methods and fields of that name.
type meanings []*part

func (m meanings) gone() bool {
	return !slices.ContainsFunc(m, func(p *part) bool { return p.state != gone })
}

// relate finds the owner of each part, and what the part needs.
func (s *design) relate() {
	for _, p := range s.parts {
		d, isFunction := p.node.(*ast.FuncDecl)
		_, isField := p.node.(*ast.Field)
		for _, name := range p.names {
			switch {
			case isField, isFunction && d.Recv != nil:
				s.members[name.Name] = append(s.members[name.Name], p)
			case name.Name != "_" && name.Name != "init":
				s.decls[name.Name], p.named = p, true
			}
		}
	}
	for _, p := range s.parts {
		switch n := p.node.(type) {
		case *ast.FuncDecl:
			if receiver, _, isMethod := strings.Cut(Symbol(n), "."); isMethod && s.decls[receiver] != nil {
				p.owner = s.decls[receiver]
				p.owner.contract = p.owner.contract || p.exported && p.todo.Task > 0
			}
		case *ast.TypeSpec:
			for _, field := range fieldsOf(n) {
				p.file.byNode[field].owner = p
			}
		}
		p.needs = s.needed(p.node)
	}
}

// needed returns the parts that the code below a node can mean: by the names of the package, those of unexported fields
// and methods, and those of exported methods that are called.
func (s *design) needed(node ast.Node) (found []meanings) {
	member := func(name *ast.Ident) {
		if all := s.members[name.Name]; len(all) > 0 {
			found = append(found, all)
		}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType: // its fields are parts
			return false
		case *ast.Field: // its name is not a use of that name
			found = append(found, s.needed(n.Type)...)
			return false
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.IsExported() {
				member(method.Sel)
			}
		case *ast.SelectorExpr:
			if !n.Sel.IsExported() {
				member(n.Sel)
			}
			found = append(found, s.needed(n.X)...)
			return false
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && !key.IsExported() {
				member(key)
			}
		case *ast.CompositeLit:
			if n.Type == nil || len(n.Elts) == 0 || s.decls[typeName(n.Type).Name] == nil {
				break
			}
			if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed {
				for _, field := range fieldsOf(s.decls[typeName(n.Type).Name].node) {
					member(FieldNames(field)[0])
				}
			}
		case *ast.Ident:
			if p := s.decls[n.Name]; p != nil {
				found = append(found, meanings{p})
			}
		}
		return true
	})
	return found
}
