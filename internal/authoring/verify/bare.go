package verify

// This file checks the bare stub of a chapter, which `workshop reset --bare` puts in place. A learner who begins with
// it chooses the design, so other correct designs must fit: each has the exported names of the bare stub, with the same
// types. Its files and those of the solution that it keeps replace every file of the bare stub, so they need nothing of
// it. The truth shapes runs the tests over just these files.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

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
	if err := r.vet(layer, append([]string{yours}, r.importers()...)...); err != nil {
		return "compiled", []string{err.Error()}
	}
	var p problems
	failed := p.wantCode("the bare stub", r.chapter.Tasks, r.runTasks(r.code("", layer)), r.mayPass)
	fit := p.designs(r, layer)
	return fmt.Sprintf("%d tests fail for want of code, and %d other designs fit", failed, fit), p
}

// yours is the flag with which the tests of chapter 07 import the chapters.
const yours = "-tags=yours"

// importers returns the chapter's package and those that import it, also in their tests.
func (r *run) importers() []string {
	const imports = `{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`
	cmd := overlay.GoCommand(r.ctx, "list", "-e", yours, "-f", imports, "./...")
	cmd.Dir = r.root
	all := []string{r.pkg()}
	for line := range strings.Lines(string(must(cmd.Output()))) {
		names := strings.Fields(line)
		pkg := "./" + strings.TrimPrefix(names[0], module)
		if slices.Contains(names[1:], module+r.chapter.Dir) && pkg != r.pkg() {
			all = append(all, pkg)
		}
	}
	return all
}

// designs checks that other designs fit a bare stub, and returns how many do.
func (p *problems) designs(r *run, bare overlay.Layer) (fit int) {
	names := exportedNames(bare)
	for _, set := range r.sets[1:] { // the first is the solution's
		design := set.Code
		before := len(*p)
		has := exportedNames(design)
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
	return fit
}

// exportedNames returns the exported names of a layer and their types, as far as other packages see them. A parameter
// has no name in them, and a variable or constant no type.
func exportedNames(layer overlay.Layer) map[string]string {
	names := map[string]string{}
	for _, f := range layer.Files {
		tree := must(parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.SkipObjectResolution))
		ast.FileExports(tree)
		for n := range ast.Preorder(tree) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				symbol := stub.Symbol(n)
				if !ast.IsExported(symbol) { // a method of an unexported type
					continue
				}
				names[symbol] = "func" + list("[", n.Type.TypeParams, "]") + list("(", n.Type.Params, ")") +
					list(" (", n.Type.Results, ")")
			case *ast.ValueSpec:
				for _, name := range n.Names {
					names[name.Name] = "value"
				}
			case *ast.TypeSpec:
				s, isStruct := n.Type.(*ast.StructType)
				if !isStruct {
					names[n.Name.Name] = "type" + list("[", n.TypeParams, "]") + " " + types.ExprString(n.Type)
					continue
				}
				names[n.Name.Name] = "struct" + list("[", n.TypeParams, "]")
				for _, field := range s.Fields.List {
					for _, name := range stub.FieldNames(field) {
						names[n.Name.Name+"."+name.Name] = types.ExprString(field.Type)
					}
				}
			}
		}
	}
	return names
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
