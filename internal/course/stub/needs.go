package stub

// This file reads a solution for the bare stub: its declarations, and which of them each one needs. It uses go/types
// without the imported packages, so names of other packages stay unresolved, and so does what depends on their types. A
// selector that stays unresolved counts as every field and method of its name.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// state says what becomes of a declaration.
type state int

const (
	gone  state = iota
	todo        // a function that stays without its body
	stays       // as it is; of a struct type the fields are parts of their own
)

// part is a declaration, a specification in a declaration, or a field of a struct type.
type part struct {
	state    state
	exported bool
	given    bool   // its file has no directive
	must     bool   // nothing that others see compiles without it
	contract bool   // a type with an exported method that the learner writes
	task     int    // of a todo; 0 if the solution has none here
	symbol   string // of a function, for its todo

	owner *part          // the type of a method or field
	head  []*part        // what its signature or type needs
	body  []*part        // what a function's body or a variable's value needs
	names []types.Object // what it declares
}

// bareFile is a file of a solution, without directives.
type bareFile struct {
	file
	name string
	tree *ast.File
}

// bareSolution is a solution, read for its bare stub.
type bareSolution struct {
	files []*bareFile
	parts []*part // in the order of the files
	nodes map[ast.Node]*part
	decls map[types.Object]*part
	info  types.Info
	// members holds the methods and fields by name.
	members map[string][]*part
}

// analyze reads the files of a solution.
func analyze(sources map[string][]byte) (*bareSolution, error) {
	p := &bareSolution{
		nodes: map[ast.Node]*part{},
		decls: map[types.Object]*part{}, members: map[string][]*part{},
		info: types.Info{
			Defs:       map[*ast.Ident]types.Object{},
			Uses:       map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
			Types:      map[ast.Expr]types.TypeAndValue{},
		},
	}
	set := token.NewFileSet()
	var trees []*ast.File
	originals := map[*bareFile]*file{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		original, err := read(name, sources[name])
		if err != nil {
			return nil, err
		}
		f := &bareFile{name: name, file: file{src: WithoutMarks(sources[name]), set: set, receiver: original.receiver}}
		f.tree, err = parser.ParseFile(set, name, f.src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the solution: %w", err)
		}
		p.files, trees, originals[f] = append(p.files, f), append(trees, f.tree), original
	}
	config := types.Config{Importer: noPackages{}, Error: func(error) {}}
	pkg, _ := config.Check("solution", set, trees, &p.info) // its errors are about other packages, or the compiler's
	for _, f := range p.files {
		p.declare(f, originals[f])
	}
	for node, part := range p.nodes {
		p.own(pkg, node, part)
	}
	for node, part := range p.nodes {
		p.connect(pkg, node, part)
	}
	return p, nil
}

// noPackages is an importer that knows no package.
type noPackages struct{}

func (noPackages) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not read", path)
}

// declare makes the parts of a file.
func (p *bareSolution) declare(f *bareFile, original *file) {
	given := len(original.used) == 0
	add := func(node ast.Node, names ...*ast.Ident) *part {
		part := &part{given: given}
		for _, name := range names {
			part.exported = part.exported || name.IsExported()
			if obj := p.info.Defs[name]; obj != nil && name.Name != "_" && name.Name != "init" {
				part.names = append(part.names, obj)
				p.decls[obj] = part
			}
		}
		p.nodes[node], p.parts = part, append(p.parts, part)
		return part
	}
	for _, decl := range f.tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			part := add(d, d.Name)
			part.symbol = f.symbol(d)
			for _, h := range original.todos {
				if h.Function == Symbol(d) {
					part.task, part.symbol = h.Task, h.Symbol
				}
			}
		case *ast.GenDecl:
			if d.Tok == token.CONST && dependent(d) {
				whole := add(d, Declared(d.Specs...)...)
				for _, spec := range d.Specs {
					p.nodes[spec] = whole
				}
				continue
			}
			for _, spec := range d.Specs {
				if _, ok := spec.(*ast.ImportSpec); ok {
					continue
				}
				add(spec, Declared(spec)...)
				for _, field := range fieldsOf(spec) {
					add(field, FieldNames(field)...)
				}
			}
		}
	}
}

// dependent reports whether the constants of a group depend on the ones before them, so that none can go alone.
func dependent(d *ast.GenDecl) (found bool) {
	for _, spec := range d.Specs {
		found = found || len(spec.(*ast.ValueSpec).Values) == 0
	}
	ast.Inspect(d, func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		found = found || ok && ident.Name == "iota"
		return true
	})
	return found
}

// fieldsOf returns the fields of a struct type, and nothing for any other specification.
func fieldsOf(spec ast.Spec) []*ast.Field {
	if t, ok := spec.(*ast.TypeSpec); ok {
		if s, ok := t.Type.(*ast.StructType); ok {
			return s.Fields.List
		}
	}
	return nil
}

// FieldNames returns the names of a field; an embedded one is named for its type.
func FieldNames(field *ast.Field) []*ast.Ident {
	if len(field.Names) > 0 {
		return field.Names
	}
	e := field.Type
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.SelectorExpr:
			return []*ast.Ident{t.Sel}
		case *ast.Ident:
			return []*ast.Ident{t}
		default:
			return nil
		}
	}
}

// own finds the type that a method belongs to, and the fields that belong to a type.
func (p *bareSolution) own(pkg *types.Package, node ast.Node, part *part) {
	switch n := node.(type) {
	case *ast.FuncDecl:
		if receiver, _, isMethod := strings.Cut(Symbol(n), "."); isMethod {
			part.owner = p.decls[pkg.Scope().Lookup(receiver)]
			p.members[n.Name.Name] = append(p.members[n.Name.Name], part)
		}
	case *ast.TypeSpec:
		for _, field := range fieldsOf(n) {
			p.nodes[field].owner = part
			for _, name := range FieldNames(field) {
				p.members[name.Name] = append(p.members[name.Name], p.nodes[field])
			}
		}
	}
}

// connect finds what a part needs.
func (p *bareSolution) connect(pkg *types.Package, node ast.Node, part *part) {
	switch n := node.(type) {
	case *ast.FuncDecl:
		part.head = p.needs(pkg, n.Type)
		if n.Body != nil {
			part.body = p.needs(pkg, n.Body)
		}
	case *ast.TypeSpec:
		if _, ok := n.Type.(*ast.StructType); !ok {
			part.head = p.needs(pkg, n.Type)
		}
		if n.TypeParams != nil {
			part.head = append(part.head, p.needs(pkg, n.TypeParams)...)
		}
	case *ast.Field:
		part.head = p.needs(pkg, n.Type)
	case *ast.ValueSpec, *ast.GenDecl:
		part.head = append(part.head, p.needs(pkg, n)...)
	}
}

// needs returns the parts that the code below a node names.
func (p *bareSolution) needs(pkg *types.Package, node ast.Node) (found []*part) {
	add := func(obj types.Object) {
		switch o := obj.(type) { // of a generic type, what it declares
		case *types.Func:
			obj = o.Origin()
		case *types.Var:
			obj = o.Origin()
		}
		if part := p.decls[obj]; part != nil && !slices.Contains(found, part) {
			found = append(found, part)
		}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if s := p.info.Selections[n]; s != nil {
				add(s.Obj())
				for _, embedded := range embeddedIn(s) {
					add(embedded)
				}
			} else if obj := p.info.Uses[n.Sel]; obj != nil {
				add(obj)
			} else if !n.Sel.IsExported() { // other packages cannot have it
				found = append(found, p.members[n.Sel.Name]...)
			}
			found = append(found, p.needs(pkg, n.X)...)
			return false
		case *ast.CompositeLit:
			if s := p.structOf(n); s != nil && len(n.Elts) > 0 {
				if _, keyed := n.Elts[0].(*ast.KeyValueExpr); !keyed {
					for field := range s.Fields() {
						add(field)
					}
				}
			}
		case *ast.Ident:
			if obj := p.info.Uses[n]; obj != nil {
				add(obj)
			} else if _, declares := p.info.Defs[n]; !declares {
				add(pkg.Scope().Lookup(n.Name))
			}
		}
		return true
	})
	return found
}

// embeddedIn returns the embedded fields that a selection goes through.
func embeddedIn(s *types.Selection) (fields []types.Object) {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		if pointer, ok := t.Underlying().(*types.Pointer); ok {
			t = pointer.Elem()
		}
		field := t.Underlying().(*types.Struct).Field(i)
		fields = append(fields, field)
		t = field.Type()
	}
	return fields
}

// structOf returns the struct type of a literal, nil if it has another one or an unknown one.
func (p *bareSolution) structOf(literal *ast.CompositeLit) *types.Struct {
	t := p.info.Types[literal].Type
	if t == nil {
		return nil
	}
	if pointer, ok := t.Underlying().(*types.Pointer); ok { // the & is left out in a list of pointers
		t = pointer.Elem()
	}
	s, _ := t.Underlying().(*types.Struct)
	return s
}
