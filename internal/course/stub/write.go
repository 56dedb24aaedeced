package stub

// This file writes what stays of a file, and fixes its imports.

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

func (f *file) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *file) replace(from, to int, text string) { f.edits = append(f.edits, edit{from, to, text}) }

// cut removes the lines of a node and of its doc comment.
func (f *file) cut(node ast.Node) {
	from, end := f.start(node), len(f.src)
	if i := bytes.IndexByte(f.src[f.offset(node.End()):], '\n'); i >= 0 {
		end = f.offset(node.End()) + i + 1
	}
	if _, isField := node.(*ast.Field); isField { // with the blank lines before it
		from = len(bytes.TrimRight(f.src[:from], " \t\n")) + 1
	}
	f.replace(from, end, "")
}

// start returns the offset of the line in which a node or its doc comment begins.
func (f *file) start(node ast.Node) int {
	at := node.Pos()
	if doc := docOf(node); doc != nil {
		at = doc.Pos()
	}
	return bytes.LastIndexByte(f.src[:f.offset(at)], '\n') + 1
}

// apply carries out the edits. One that begins inside another one is part of it.
func (f *file) apply() []byte {
	slices.SortStableFunc(f.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var out bytes.Buffer
	at := 0
	for _, e := range f.edits {
		if e.start >= at {
			out.Write(f.src[at:e.start])
			out.WriteString(e.text)
			at = e.end
		}
	}
	out.Write(f.src[at:])
	return out.Bytes()
}

// blankHead is a struct without the group of its first fields.
var blankHead = regexp.MustCompile(`(struct \{\n)\s*\n`)

// write returns the file as the states of its parts say.
func (f *file) write() ([]byte, error) {
	for _, at := range mark.FindAllIndex(f.src, -1) {
		f.replace(at[0], at[1], "")
	}
	todos := false
	for _, p := range f.parts {
		switch _, isField := p.node.(*ast.Field); {
		case isField: // see its type
		case p.state == gone:
			f.cut(p.node)
		case p.state == todo:
			todos = true
			body := p.function().Body
			f.replace(f.offset(body.Lbrace), f.offset(body.Rbrace)+1,
				fmt.Sprintf("{\n\tpanic(todo.Task(%d, %q))\n}", p.todo.Task, p.todo.Symbol))
		}
		fields := fieldsOf(p.node)
		if allGo(f, fields) {
			list := p.node.(*ast.TypeSpec).Type.(*ast.StructType).Fields
			f.replace(f.offset(list.Opening)+1, f.offset(list.Closing), "")
			continue
		}
		for _, field := range fields {
			if f.byNode[field].state == gone {
				f.cut(field)
			}
		}
	}
	for _, decl := range f.tree.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok != token.IMPORT && allGo(f, d.Specs) {
			f.cut(d)
		}
	}
	cut, err := format.Source(blankHead.ReplaceAll(f.apply(), []byte("$1")))
	if err != nil {
		return nil, fmt.Errorf("%s: the stub is not Go: %w", f.name, err)
	}
	if cut, err = fixImports(f.name, cut, todos); err != nil {
		return nil, err
	}
	return format.Source(cut)
}

// allGo reports whether there are nodes, and all of them go.
func allGo[N ast.Node](f *file, nodes []N) bool {
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n N) bool { return f.byNode[n].state != gone })
}

const todoPath = "client-go-workshop/internal/testkit/todo"

// RemoveUnusedImports returns src, which is formatted, without its unused imports. Blank and dot imports stay.
func RemoveUnusedImports(name string, src []byte) ([]byte, error) {
	return fixImports(name, src, false)
}

// fixImports returns src, which is formatted, without its unused imports and, if todos were made, with the import of
// package todo. Blank and dot imports stay, because the file does not show what they are for.
func fixImports(name string, src []byte, todos bool) ([]byte, error) {
	f := &file{src: src, set: token.NewFileSet()}
	tree, err := parser.ParseFile(f.set, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("%s: the stub is not Go: %w", name, err)
	}
	used := map[string]bool{"_": true, ".": true}
	for _, ident := range tree.Unresolved {
		used[ident.Name] = true
	}
	for _, decl := range tree.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.IMPORT {
			if todos {
				f.replace(f.start(decl), f.start(decl), fmt.Sprintf("import %q\n\n", todoPath))
			}
			break
		}
		last := ""
		for _, spec := range d.Specs {
			if i := spec.(*ast.ImportSpec); used[ImportName(i)] {
				last = i.Path.Value
			} else {
				f.cut(i)
			}
		}
		switch {
		case last == "":
			f.cut(d)
		case todos && d.Rparen.IsValid(): // a group of its own, unless other packages of the workshop are the last one
			separator := "\n"
			if strings.HasPrefix(last, `"client-go-workshop/`) {
				separator = ""
			}
			f.replace(f.offset(d.Rparen), f.offset(d.Rparen), fmt.Sprintf("%s\t%q\n", separator, todoPath))
			todos = false
		}
	}
	return f.apply(), nil
}

var majorVersion = regexp.MustCompile(`/v(?:[2-9]|\d\d+)$`)

// ImportName returns the name that a file uses for an import. Without an explicit name it is taken to be the last
// element of the path, or the one before a major version ("klog" for k8s.io/klog/v2).
func ImportName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(majorVersion.ReplaceAllString(strings.Trim(spec.Path.Value, "\"`"), ""))
}
