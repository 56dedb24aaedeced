package stub

// This file makes the bare stub of a chapter: its exported names and their contracts, for learners who want to design
// the rest themselves.
//
// What goes is the design: unexported functions, types, variables and fields. What stays:
//
//   - exported names, and what their signatures and the values of exported variables need;
//   - unexported types with an exported method that the learner writes, since the method's comment is a contract;
//   - given files, which have no directive, except for code in them that needs something that goes.
//
// An exported function with a given body that needs something that goes becomes a todo.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
)

// BareMark is the line in the package comment of a bare stub by which IsBare knows it.
const BareMark = "//workshop:bare"

// bareComment ends the package comment of a bare stub.
const bareComment = "// This is the bare stub: exported names and given code. Comments may name files, functions and " +
	"fields of the\n" +
	"// ordinary stub. They belong to one design; yours may be another. Keep the line below: the commands know a bare\n" +
	"// chapter by it.\n" +
	"//\n" + BareMark + "\n"

var bareMark = regexp.MustCompile(`(?m)^` + BareMark + `\r?$`)

// IsBare reports whether a chapter's files come from a bare stub, however much has been written since. files holds the
// content of Go files by name.
func IsBare(files map[string][]byte) bool {
	for _, src := range files {
		if bareMark.Match(src) {
			return true
		}
	}
	return false
}

// BareDir makes the bare stub of a solution's folder: the content of each file by name.
func BareDir(dir string) (map[string][]byte, error) {
	files, err := course.Code(dir)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no solution in %s: it has no Go file", dir)
	}
	bare, err := Bare(files)
	if err != nil {
		return nil, fmt.Errorf("make the bare stub of %s: %w", filepath.Base(dir), err)
	}
	return bare, nil
}

// Bare makes the bare stub of a solution. files holds the content of the solution's Go files by name. A file that would
// be empty is not in the result.
func Bare(files map[string][]byte) (map[string][]byte, error) {
	p, err := analyze(files)
	if err != nil {
		return nil, err
	}
	p.choose()
	bare := map[string][]byte{}
	marked := false
	for _, f := range p.files {
		src, err := p.write(f)
		if err != nil {
			return nil, err
		}
		if src != nil {
			bare[f.name] = src
			marked = marked || f.tree.Doc != nil
		}
	}
	if first := slices.Sorted(maps.Keys(bare)); !marked && len(first) > 0 {
		bare[first[0]] = append([]byte(bareComment+"\n"), bare[first[0]]...)
	}
	return bare, nil
}

// write returns what stays of a file, or nil if nothing does.
func (p *bareSolution) write(f *bareFile) ([]byte, error) {
	todos, code := false, f.tree.Doc != nil
	if code {
		at := f.offset(f.tree.Package)
		f.edits = append(f.edits, edit{at, at, "//\n" + bareComment})
	}
	for _, decl := range f.tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			part := p.nodes[d]
			switch part.state {
			case gone:
				f.cutNode(d, d.Doc)
				continue
			case todo:
				todos = true
				f.cutBody(d, part.task, part.symbol)
			}
			code = true
		case *ast.GenDecl:
			code = p.writeSpecs(f, d) || code
		}
	}
	if !code {
		return nil, nil
	}
	slices.SortStableFunc(f.edits, func(a, b edit) int { return a.start - b.start })
	cut, err := format.Source(f.apply())
	if err != nil {
		return nil, fmt.Errorf("%s: the bare stub is not Go: %w", f.name, err)
	}
	fixed, err := fixImports(f.name, cut, todos)
	if err != nil {
		return nil, err
	}
	return format.Source(fixed)
}

// writeSpecs cuts what goes of a declaration, and reports whether something of it stays that is not an import.
func (p *bareSolution) writeSpecs(f *bareFile, d *ast.GenDecl) (stays bool) {
	var cut []ast.Spec
	for _, spec := range d.Specs {
		part := p.nodes[spec]
		switch {
		case part == nil: // an import
		case part.state == gone:
			cut = append(cut, spec)
		default:
			stays = true
		}
	}
	if len(cut) == len(d.Specs) && len(cut) > 0 {
		f.cutNode(d, d.Doc)
		return false
	}
	for _, spec := range cut {
		f.cutNode(spec, docOf(spec))
	}
	for _, spec := range d.Specs {
		if t, ok := spec.(*ast.TypeSpec); ok && !slices.Contains(cut, spec) {
			if s, ok := t.Type.(*ast.StructType); ok {
				p.writeStruct(f, s)
			}
		}
	}
	return stays
}

// writeStruct writes the fields of a struct that stay.
func (p *bareSolution) writeStruct(f *bareFile, s *ast.StructType) {
	all := s.Fields.List
	goes := func(field *ast.Field) bool { return p.nodes[field].state == gone }
	stays := slices.DeleteFunc(slices.Clone(all), goes)
	if len(stays) == len(all) {
		return
	}
	var text strings.Builder
	for _, field := range stays {
		from, to := field.Pos(), field.End()
		if field.Doc != nil {
			from = field.Doc.Pos()
		}
		if field.Comment != nil {
			to = field.Comment.End()
		}
		start := f.offset(from)
		before := bytes.TrimRight(f.src[:start], " \t")
		if text.Len() > 0 && bytes.HasSuffix(before, []byte("\n\n")) {
			text.WriteByte('\n')
		}
		text.WriteByte('\n')
		text.Write(f.src[start:f.offset(to)])
	}
	if len(stays) > 0 {
		text.WriteByte('\n')
	}
	f.edits = append(f.edits, edit{f.offset(s.Fields.Opening) + 1, f.offset(s.Fields.Closing), text.String()})
}
