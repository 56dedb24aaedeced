package reference

// This file knows what a package declares, and finds cache.Indexer.AddIndexers in it: a method that cache.Indexer has, be
// it from an embedded interface of another package. It works on syntax. Where only a type checker could tell (the type of
// a variable without a written type, an embedded type of a module that is not at hand), the answer is "unknown".

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// pkg is one package, or the tests in one folder.
type pkg struct {
	module Module
	dir    string // inside the module, with slashes
	name   string // in its package clause
	decls  map[string][]*decl
	byLast map[string][]*decl // by the last part of the name: methods and fields too
	embeds map[string][]*decl // by type: what it embeds
	late   []string           // files not read yet
}

// path is what one writes to import the package.
func (p *pkg) path() string {
	if p.module.Path == "std" {
		return p.dir
	}
	return path.Join(p.module.Path, p.dir)
}

// String is how messages name a package: "k8s.io/client-go/tools/cache v0.37.2".
func (p *pkg) String() string { return strings.TrimSpace(p.path() + " " + p.module.Version) }

// decl is one declaration.
type decl struct {
	name    string // "NewStore", "threadSafeMap.Update"
	kind    kind
	file    string   // inside the module, with slashes
	doc     int      // line on which its doc comment begins, 0 without one
	line    int      // line of the func or type keyword; inside a group or a type, of the name
	end     int      // last line
	typ     ast.Expr // of a type, its definition; of a field or variable, its type, nil if not written
	imports map[string]string
}

type kind string

const (
	kindFunc  kind = "func" // methods too
	kindType  kind = "type"
	kindConst kind = "const"
	kindVar   kind = "var"
	kindField kind = "field" // of a struct
)

// startsAt tells whether the declaration, or its comment, starts at line.
func (d *decl) startsAt(line int) bool { return line == d.line || line == d.doc }

// reader collects the declarations of one file.
type reader struct {
	pkg     *pkg
	set     *token.FileSet
	file    string
	imports map[string]string
}

func (r *reader) add(name string, k kind, doc *ast.CommentGroup, at ast.Node, typ ast.Expr) *decl {
	d := &decl{name: name, kind: k, file: r.file, line: r.line(at.Pos()), end: r.line(at.End()), typ: typ, imports: r.imports}
	if doc != nil {
		d.doc = r.line(doc.Pos())
	}
	r.pkg.decls[name] = append(r.pkg.decls[name], d)
	last := name[strings.LastIndex(name, ".")+1:]
	r.pkg.byLast[last] = append(r.pkg.byLast[last], d)
	return d
}

func (r *reader) line(at token.Pos) int { return r.set.PositionFor(at, false).Line }

func (r *reader) declarations(tree *ast.File) {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				name = baseName(d.Recv.List[0].Type) + "." + name
			}
			r.add(name, kindFunc, d.Doc, d, d.Type)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				r.spec(d, spec)
			}
		}
	}
}

func (r *reader) spec(d *ast.GenDecl, spec ast.Spec) {
	var at ast.Node = spec
	grouped := d.Lparen.IsValid()
	if !grouped {
		at = d
	}
	switch s := spec.(type) {
	case *ast.TypeSpec:
		doc := s.Doc
		if !grouped {
			doc = d.Doc
		}
		r.add(s.Name.Name, kindType, doc, at, s.Type)
		r.members(s)
	case *ast.ValueSpec:
		doc := s.Doc
		if !grouped {
			doc = d.Doc
		}
		k := kindVar
		if d.Tok == token.CONST {
			k = kindConst
		}
		for _, n := range s.Names {
			r.add(n.Name, k, doc, at, s.Type)
		}
	}
}

func (r *reader) members(s *ast.TypeSpec) {
	var list *ast.FieldList
	k := kindField
	switch t := s.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list, k = t.Methods, kindFunc
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			r.add(s.Name.Name+"."+n.Name, k, f.Doc, f, f.Type)
		}
		if len(f.Names) > 0 {
			continue
		}
		embedded := &decl{typ: f.Type, imports: r.imports}
		if name := baseName(f.Type); k == kindField && name != "" {
			embedded = r.add(s.Name.Name+"."+name, k, f.Doc, f, f.Type) // an embedded struct is a field as well
		}
		r.pkg.embeds[s.Name.Name] = append(r.pkg.embeds[s.Name.Name], embedded)
	}
}

// bare takes the pointer, the parentheses and the type arguments off a type.
func bare(e ast.Expr) ast.Expr {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		default:
			return e
		}
	}
}

// baseName is the name of a type without its package.
func baseName(e ast.Expr) string {
	switch t := bare(e).(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return t.Sel.Name
	}
	return ""
}

// importsOf maps the names that a file uses for packages to import paths. Without an explicit name it is the last
// element of the path, or the one before a version ("klog" for k8s.io/klog/v2).
func importsOf(tree *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range tree.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if isMajor(name) {
			name = path.Base(path.Dir(p))
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = p
	}
	return imports
}

func isMajor(element string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(element, "v"))
	return err == nil && n > 1 && element[0] == 'v'
}

// verdict is the answer to "does this exist?".
type verdict int

const (
	missing verdict = iota
	found
	unknown // not to be told from syntax, so not to be called a mistake
)

// find looks up a name and its members: [Config Queue Pop] in package cache. It returns the declaration and the package it
// is in; a missing one is chain[at].
func (w *world) find(p *pkg, chain []string) (d *decl, in *pkg, v verdict, at int) {
	d, in, v, at = w.walk(p, chain)
	if v == missing && in.readLate() {
		d, in, v, at = w.walk(p, chain)
	}
	return d, in, v, at
}

func (w *world) walk(p *pkg, chain []string) (d *decl, in *pkg, v verdict, at int) {
	first := p.decls[chain[0]]
	if len(first) == 0 {
		return nil, p, missing, 0
	}
	d, in = first[0], p
	for i, name := range chain[1:] {
		owner := d
		if d.kind == kindField || d.kind == kindVar {
			if owner, in, v = w.named(d.typ, in, d.imports); v != found {
				return nil, in, unknown, i + 1
			}
		}
		before := in
		if d, in, v = w.member(owner, in, name, map[*decl]bool{}); v != found {
			return nil, before, v, i + 1
		}
	}
	return d, in, found, 0
}

// member finds the method or field name of the type that owner declares in p: its own, or one that an embedded type or
// the type it stands for brings.
func (w *world) member(owner *decl, p *pkg, name string, seen map[*decl]bool) (*decl, *pkg, verdict) {
	if seen[owner] || owner.kind != kindType {
		return nil, p, missing
	}
	seen[owner] = true
	if own := p.decls[owner.name+"."+name]; len(own) > 0 {
		return own[0], p, found
	}
	from := p.embeds[owner.name]
	switch bare(owner.typ).(type) {
	case *ast.Ident, *ast.SelectorExpr:
		from = append(from, owner) // type A = B, and type A B, which has B's fields
	}
	answer := missing
	for _, e := range from {
		t, in, v := w.named(e.typ, p, e.imports)
		if v == found {
			var d *decl
			if d, in, v = w.member(t, in, name, seen); v == found {
				return d, in, found
			}
		}
		if v == unknown {
			answer = unknown
		}
	}
	return nil, p, answer
}

// named finds the declaration of the type that an expression in p names.
func (w *world) named(e ast.Expr, p *pkg, imports map[string]string) (*decl, *pkg, verdict) {
	in, name := p, ""
	switch t := bare(e).(type) {
	case *ast.Ident:
		name = t.Name
	case *ast.SelectorExpr:
		if x, ok := t.X.(*ast.Ident); ok {
			in, name = w.load(imports[x.Name]), t.Sel.Name
		}
	}
	if in == nil || name == "" {
		return nil, p, unknown
	}
	for _, d := range in.decls[name] {
		if d.kind == kindType {
			return d, in, found
		}
	}
	return nil, p, unknown // a built-in type, a type parameter
}
