package reference

// This file knows what a package declares, and finds cache.Indexer.AddIndexers in it: a method that cache.Indexer has,
// also one from an embedded interface of another package. It works on syntax. Where only a type checker could tell (the
// type of a variable without a written type, an embedded type of a module that is not at hand), the answer is
// "unknown".

import (
	"cmp"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// pkg is one package, or the tests in one folder.
type pkg struct {
	module module
	dir    string             // inside the module, with slashes
	name   string             // in its package clause
	decls  map[string][]*decl // by name
	all    []*decl            // in the order of the source
}

// String is how messages name a package: "k8s.io/client-go/tools/cache v0.37.2".
func (p *pkg) String() string {
	return module{path: strings.TrimPrefix(path.Join(p.module.path, p.dir), "std/"), version: p.module.version}.String()
}

// decl is one declaration.
type decl struct {
	pkg         *pkg
	owner, name string      // "", "NewStore"; "threadSafeMap", "Update"
	kind        token.Token // FUNC, also for methods; TYPE, CONST, VAR; STRUCT for a field
	file        string      // inside the module, with slashes
	doc         int         // line on which its doc comment begins, 0 without one
	line        int         // line of the func or type keyword; inside a group or a type, of the name
	imports     map[string]string

	// types are those whose members it has: of a type, those that it embeds, and B of type A = B and type A B; of a
	// field or variable, its type, nil if that is not written.
	types []ast.Expr
}

// String is the name behind its type's: "threadSafeMap.Update".
func (d *decl) String() string { return strings.TrimPrefix(d.owner+"."+d.name, ".") }

// ending lists the declarations of a name, methods and fields too.
func (p *pkg) ending(name string) []*decl {
	return slices.DeleteFunc(slices.Clone(p.all), func(d *decl) bool { return d.name != name })
}

// declare adds the declarations of one file.
func (p *pkg) declare(set *token.FileSet, file string, tree *ast.File) {
	imports := importsOf(tree)
	line := func(at token.Pos) int { return set.PositionFor(at, false).Line }
	add := func(owner, name string, kind token.Token, doc *ast.CommentGroup, at ast.Node, types ...ast.Expr) *decl {
		d := &decl{p, owner, name, kind, file, 0, line(at.Pos()), imports, types}
		if doc != nil {
			d.doc = line(doc.Pos())
		}
		p.decls[d.String()] = append(p.decls[d.String()], d)
		p.all = append(p.all, d)
		return d
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			owner := ""
			if f.Recv.NumFields() == 1 {
				_, owner = qualified(f.Recv.List[0].Type)
			}
			add(owner, f.Name.Name, token.FUNC, f.Doc, f)
			continue
		}
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue // what does not parse
		}
		for _, spec := range group.Specs {
			at, doc := ast.Node(group), group.Doc
			if group.Lparen.IsValid() {
				at, doc = spec, nil
			}
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					add("", n.Name, group.Tok, cmp.Or(doc, s.Doc), at, s.Type)
				}
			case *ast.TypeSpec:
				d := add("", s.Name.Name, token.TYPE, cmp.Or(doc, s.Doc), at)
				if _, other := qualified(s.Type); other != "" {
					d.types = append(d.types, s.Type)
				}
				fields, kind := fieldsOf(s.Type)
				for _, f := range fields {
					names := f.Names
					if len(names) == 0 {
						d.types = append(d.types, f.Type)
					}
					if _, name := qualified(f.Type); len(names) == 0 && kind == token.STRUCT && name != "" {
						names = []*ast.Ident{ast.NewIdent(name)} // an embedded struct is a field as well
					}
					for _, n := range names {
						add(d.name, n.Name, kind, f.Doc, f, f.Type)
					}
				}
			}
		}
	}
}

// fieldsOf lists the fields of a struct type or the methods of an interface type, and what kind they are.
func fieldsOf(typ ast.Expr) ([]*ast.Field, token.Token) {
	switch t := typ.(type) {
	case *ast.StructType:
		return t.Fields.List, token.STRUCT
	case *ast.InterfaceType:
		return t.Methods.List, token.FUNC
	}
	return nil, token.ILLEGAL
}

// qualified takes the pointer, the parentheses and the type arguments off a type, and splits cache.Store into its
// package's name, empty if it has none, and its own. Other types than named ones have no name.
func qualified(e ast.Expr) (pkg, name string) {
	switch t := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return qualified(t.X)
	case *ast.IndexExpr:
		return qualified(t.X)
	case *ast.IndexListExpr:
		return qualified(t.X)
	case *ast.SelectorExpr:
		_, pkg = qualified(t.X)
		return pkg, t.Sel.Name
	case *ast.Ident:
		return "", t.Name
	}
	return "", ""
}

// verdict is the answer to "does this exist?".
type verdict int

const (
	missing verdict = iota
	found
	unknown // cannot be told from syntax, so it is not called a mistake
)

// find looks up a name and its members: [Config Queue Pop] in package cache. A missing one is chain[at].
func (s *source) find(p *pkg, chain []string) (d *decl, v verdict, at int) {
	first := p.decls[chain[0]]
	if len(first) == 0 {
		return nil, missing, 0
	}
	d = first[0]
	for i, name := range chain[1:] {
		if d, v = s.member(d, name, map[*decl]bool{}); v != found {
			return nil, v, i + 1
		}
	}
	return d, found, 0
}

// member finds the method or field name of a type, or of a field's or variable's type: its own, or one that the types
// bring whose members it has.
func (s *source) member(owner *decl, name string, seen map[*decl]bool) (*decl, verdict) {
	if seen[owner] || owner.kind == token.FUNC || owner.kind == token.CONST {
		return nil, missing
	}
	seen[owner] = true
	if own := owner.pkg.decls[owner.String()+"."+name]; len(own) > 0 {
		return own[0], found
	}
	answer := missing
	for _, e := range owner.types {
		t := s.named(e, owner)
		if t == nil {
			answer = unknown
			continue
		}
		d, v := s.member(t, name, seen)
		if v == found {
			return d, found
		}
		answer = max(answer, v)
	}
	return nil, answer
}

// named finds the declaration of the type that an expression beside d names. It returns nil if that cannot be told, as
// for a built-in type or a type parameter.
func (s *source) named(e ast.Expr, beside *decl) *decl {
	in := beside.pkg
	from, name := qualified(e)
	if from != "" {
		in = s.load(beside.imports[from])
	}
	if in == nil {
		return nil
	}
	if i := slices.IndexFunc(in.decls[name], func(d *decl) bool { return d.kind == token.TYPE }); i >= 0 {
		return in.decls[name][i]
	}
	return nil
}
