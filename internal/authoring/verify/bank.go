package verify

// This file builds most of a bank of wrong versions as one program. Compiling and linking a test binary for each of
// sixty to ninety versions was more than half of the time that all truths took together.
//
// A wrong version that differs from the solution in the bodies of functions alone becomes a branch at their beginning:
//
//	func (i *index) update(…) {
//		if workshopBug == "forgets-the-old-entry" {
//			…the wrong body…
//			return
//		}
//		…the right body…
//	}
//
// and WORKSHOP_BUG chooses when the program starts. The others (another signature, field or import, a label) are built
// one by one as before, as are those that only the race detector sees. Before the program is believed, every test has
// to pass over it with no wrong version chosen: the branches themselves must change nothing.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

const chosenBug = "WORKSHOP_BUG"

// bank is a test binary that has wrong versions in it.
type bank struct {
	program
	has map[string]bool
}

// buildBank builds what can be built as one. A bank that has nothing in it is none; so is one over which the right code
// does not pass.
func (r *run) buildBank(solution overlay.Layer, all []bugs.Bug) (*bank, error) {
	merged, has := merge(solution, all)
	if len(has) == 0 {
		return nil, nil
	}
	p, err := r.build(merged)
	if err != nil {
		return nil, r.ctx.Err() // a branch that does not compile: each for itself, then
	}
	b := &bank{p, has}
	res, err := r.runBank(b, "", ".")
	if err != nil || len(mustPass(res, "the solution", nil)) > 0 {
		return nil, err
	}
	return b, nil
}

// runBank runs the tests that match a pattern over one of the wrong versions in the bank, or over none.
func (r *run) runBank(b *bank, name, pattern string) (gotest.Result, error) {
	cmd := r.start(b.program, "-test.run="+pattern)
	cmd.Env = append(cmd.Env, chosenBug+"="+name)
	return gotest.Run(r.ctx, cmd)
}

// merge makes a layer of the solution with as many wrong versions as branches as can be, and says which.
func merge(solution overlay.Layer, all []bugs.Bug) (overlay.Layer, map[string]bool) {
	has := map[string]bool{}
	branches := map[string][]branch{} // by file
	for _, b := range all {
		if b.RaceOnly {
			continue
		}
		wrong, err := b.Apply(solution)
		if err != nil {
			continue // to be said when it is run for itself
		}
		if mine, ok := differences(b.Name, solution, wrong); ok {
			has[b.Name] = true
			for file, list := range mine {
				branches[file] = append(branches[file], list...)
			}
		}
	}
	layer := overlay.Layer{Chapter: solution.Chapter, Name: "bank"}
	pkg := ""
	for _, f := range solution.Files {
		f.Content = insert(f.Content, branches[f.Name])
		layer.Files = append(layer.Files, f)
		if tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.PackageClauseOnly); err == nil {
			pkg = tree.Name.Name
		}
	}
	choice := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar workshopBug = os.Getenv(%q)\n", pkg, chosenBug)
	layer.Files = append(layer.Files, overlay.File{Name: "zz_workshop_bug.go", Content: []byte(choice)})
	return layer, has
}

// branch is a wrong body, and where in the right file it goes: after the opening brace of the function's body.
type branch struct {
	at   int
	text string
}

// differences finds how wrong differs from right; ok is false if it does in more than the bodies of functions.
func differences(name string, right, wrong overlay.Layer) (map[string][]branch, bool) {
	found := map[string][]branch{}
	for i, r := range right.Files {
		w := wrong.Files[i]
		if bytes.Equal(r.Content, w.Content) {
			continue
		}
		rights, ok := declarations(r.Content)
		wrongs, also := declarations(w.Content)
		if !ok || !also || len(rights) != len(wrongs) {
			return nil, false
		}
		for j := range rights {
			if rights[j].head != wrongs[j].head || wrongs[j].labels && rights[j].body != wrongs[j].body {
				return nil, false
			}
			if rights[j].body == wrongs[j].body {
				continue
			}
			text := fmt.Sprintf("\nif workshopBug == %q {\n%s\n", name, wrongs[j].body)
			if !wrongs[j].results {
				text += "return\n"
			}
			found[r.Name] = append(found[r.Name], branch{rights[j].at, text + "}\n"})
		}
	}
	return found, len(found) > 0
}

// declaration is a top-level declaration: for a function what is outside of its body, for all else everything.
type declaration struct {
	head    string
	body    string // without braces
	at      int    // where the body begins
	results bool
	labels  bool // in the body: a function can have each only once
}

func declarations(src []byte) (all []declaration, ok bool) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution) // without comments: they change nothing
	if err != nil {
		return nil, false
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	for _, decl := range tree.Decls {
		f, isFunc := decl.(*ast.FuncDecl)
		if !isFunc || f.Body == nil {
			all = append(all, declaration{head: string(src[offset(decl.Pos()):offset(decl.End())])})
			continue
		}
		d := declaration{
			head:    string(src[offset(f.Pos()):offset(f.Body.Lbrace)]),
			body:    string(src[offset(f.Body.Lbrace)+1 : offset(f.Body.Rbrace)]),
			at:      offset(f.Body.Lbrace) + 1,
			results: f.Type.Results != nil,
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			_, label := n.(*ast.LabeledStmt)
			d.labels = d.labels || label
			return true
		})
		all = append(all, d)
	}
	return all, true
}

// insert puts branches into a file.
func insert(src []byte, branches []branch) []byte {
	var out strings.Builder
	for at := range len(src) {
		for _, b := range branches {
			if b.at == at {
				out.WriteString(b.text)
			}
		}
		out.WriteByte(src[at])
	}
	return []byte(out.String())
}
