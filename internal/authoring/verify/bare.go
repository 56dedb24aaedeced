package verify

// This file checks the bare stub of a chapter, which `workshop reset --bare` puts in place. A learner who begins with
// it chooses the design, so other correct designs must fit: each has the exported names of the bare stub, with the same
// types. Its files and those of the solution that it keeps replace every file of the bare stub, so they need nothing of
// it. The truth shapes runs the tests over just these files.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/overlay"
)

// leastDesigns is how many other designs must fit the bare stub of a chapter.
const leastDesigns = 2

func bare(r *run) (string, []string) {
	files, err := stub.BareDir(filepath.Join(r.root, r.chapter.Solution()))
	if err != nil {
		return "made from the solution", []string{err.Error()}
	}
	layer := r.layer("bare stub", files)
	importers, err := r.importers()
	if err == nil {
		const tags = "-tags=yours" // with it, the tests of chapter 07 import the chapters
		err = r.vet(layer, append([]string{tags}, importers...)...)
	}
	if err != nil {
		return "compiled", []string{err.Error()}
	}
	var p problems
	failed := p.wantCode("the bare stub", r.chapter.Tasks, r.runTasks(r.code("", layer)), r.mayPass)
	fit, err := p.designs(r, layer)
	if err != nil {
		return "", []string{err.Error()}
	}
	return fmt.Sprintf("%d tests fail for want of code, and %d other designs fit", failed, fit), p
}

// importers returns the chapter's package and those that import it, also in their tests.
func (r *run) importers() (all []string, err error) {
	all = []string{r.pkg()}
	err = filepath.WalkDir(r.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, dir := e.Name(), filepath.Dir(path)
		if e.IsDir() && path != r.root {
			_, isModule := os.Stat(filepath.Join(path, "go.mod"))
			if name[0] == '.' || name == "testdata" || isModule == nil {
				return filepath.SkipDir
			}
		}
		if !course.IsGo(name) {
			return nil
		}
		src, err := os.ReadFile(path)
		if err == nil && bytes.Contains(src, []byte(module+r.chapter.Dir+`"`)) {
			if rel, _ := filepath.Rel(r.root, dir); !slices.Contains(all, "./"+filepath.ToSlash(rel)) {
				all = append(all, "./"+filepath.ToSlash(rel))
			}
		}
		return err
	})
	return all, err
}

// designs checks that other designs fit a bare stub, and returns how many do.
func (p *problems) designs(r *run, bare overlay.Layer) (fit int, err error) {
	names, err := exportedNames(bare)
	if err != nil {
		return 0, err
	}
	for _, set := range r.sets[1:] { // the first is the solution's
		design := set.Code
		before := len(*p)
		has, err := exportedNames(design)
		if err != nil {
			return fit, err
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if has[name] != names[name] {
				p.add("the %s does not fit the bare stub: %s is %q in it, not %q", design.Name, name, has[name], names[name])
			}
		}
		if len(*p) == before {
			fit++
		}
	}
	if len(r.sets)-1 < leastDesigns {
		p.add("%s has fewer than %d other designs, so the bare stub may require ours", r.chapter.Solution(), leastDesigns)
	}
	return fit, nil
}

// exportedNames returns the exported names of a layer and their types, as far as other packages see them. A parameter
// has no name in them, and a variable or constant no type.
func exportedNames(layer overlay.Layer) (map[string]string, error) {
	names := map[string]string{}
	for _, f := range layer.Files {
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the %s: %w", layer.Name, err)
		}
		for _, decl := range tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				symbol := stub.Symbol(d)
				if receiver, _, _ := strings.Cut(symbol, "."); ast.IsExported(receiver) && d.Name.IsExported() {
					names[symbol] = "func" + list("[", d.Type.TypeParams, "]") + list("(", d.Type.Params, ")") +
						list(" (", d.Type.Results, ")")
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					addExported(names, spec)
				}
			}
		}
	}
	return names, nil
}

// addExported adds the exported names that a specification declares.
func addExported(names map[string]string, spec ast.Spec) {
	for _, name := range stub.Declared(spec) {
		if !name.IsExported() {
			continue
		}
		names[name.Name] = "value"
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		s, isStruct := t.Type.(*ast.StructType)
		if !isStruct {
			names[name.Name] = "type" + list("[", t.TypeParams, "]") + " " + types.ExprString(t.Type)
			continue
		}
		names[name.Name] = "struct" + list("[", t.TypeParams, "]")
		for _, field := range s.Fields.List {
			for _, fieldName := range stub.FieldNames(field) {
				if fieldName.IsExported() {
					names[name.Name+"."+fieldName.Name] = types.ExprString(field.Type)
				}
			}
		}
	}
}

// list returns the types of parameters or results between two brackets, and nothing if there is no list.
func list(open string, fields *ast.FieldList, closing string) string {
	if fields == nil {
		return ""
	}
	var all []string
	for _, field := range fields.List {
		for range max(1, len(field.Names)) {
			all = append(all, types.ExprString(field.Type))
		}
	}
	return open + strings.Join(all, ", ") + closing
}
