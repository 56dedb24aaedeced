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
	"strconv"
	"strings"
)

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

func (f *file) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *file) replace(from, to int, text string) { f.edits = append(f.edits, edit{from, to, text}) }

// cut removes the lines of a node and of its doc comment, which may be nil.
func (f *file) cut(doc *ast.CommentGroup, node ast.Node) {
	from, end := f.offset(node.Pos()), len(f.src)
	if doc != nil {
		from = f.offset(doc.Pos())
	}
	if i := bytes.IndexByte(f.src[f.offset(node.End()):], '\n'); i >= 0 {
		end = f.offset(node.End()) + i + 1
	}
	f.replace(f.lineStart(from), end, "")
}

// lineStart returns the offset of the line with an offset.
func (f *file) lineStart(at int) int { return bytes.LastIndexByte(f.src[:at], '\n') + 1 }

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
	for _, decl := range f.tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			switch p := f.byNode[d]; p.state {
			case gone:
				f.cut(d.Doc, d)
			case todo:
				todos = true
				f.replace(f.offset(d.Body.Lbrace), f.offset(d.Body.Rbrace)+1,
					fmt.Sprintf("{\n\tpanic(todo.Task(%d, %q))\n}", p.todo.Task, p.todo.Symbol))
			}
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				f.writeSpecs(d)
			}
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

// writeSpecs cuts what goes of a declaration.
func (f *file) writeSpecs(d *ast.GenDecl) {
	if allGo(f, d.Specs) {
		f.cut(d.Doc, d)
		return
	}
	for _, spec := range d.Specs {
		fields := fieldsOf(spec)
		switch {
		case f.byNode[spec].state == gone:
			f.cut(docOf(spec), spec)
		case allGo(f, fields):
			list := spec.(*ast.TypeSpec).Type.(*ast.StructType).Fields
			f.replace(f.offset(list.Opening)+1, f.offset(list.Closing), "")
		default:
			for _, field := range fields {
				if f.byNode[field].state == gone {
					f.cut(field.Doc, field)
					e := &f.edits[len(f.edits)-1] // with the blank lines before it
					e.start = len(bytes.TrimRight(f.src[:e.start], " \t\n")) + 1
				}
			}
		}
	}
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
				f.addTodo(tree, decl)
			}
			break
		}
		last := ""
		before := len(f.edits)
		for _, spec := range d.Specs {
			if i := spec.(*ast.ImportSpec); used[ImportName(i)] {
				last = i.Path.Value
				todos = todos && last != strconv.Quote(todoPath)
			} else {
				f.cut(i.Doc, i)
			}
		}
		switch {
		case last == "":
			f.edits = f.edits[:before]
			f.cut(d.Doc, d)
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

// addTodo imports package todo before a declaration and its doc comment.
func (f *file) addTodo(tree *ast.File, before ast.Decl) {
	at := f.set.Position(before.Pos())
	for _, comment := range tree.Comments {
		if f.set.Position(comment.End()).Line == at.Line-1 {
			at = f.set.Position(comment.Pos())
		}
	}
	start := f.lineStart(at.Offset)
	f.replace(start, start, fmt.Sprintf("import %q\n\n", todoPath))
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
