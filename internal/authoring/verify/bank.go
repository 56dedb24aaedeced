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
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/testkit/env"
)

const chosenBug = "WORKSHOP_BUG"

// bank is a test binary that has wrong versions in it.
type bank struct {
	program
	has   map[string]bool
	right gotest.Result // of all tests, with no wrong version chosen
}

// buildBank builds what can be built as one. It leaves out wrong versions that do not compile, and those whose test the
// right code fails in the bank: a test that looks at how much memory a call takes may see the branches. A bank that has
// nothing in it is nil.
func (r *run) buildBank(right overlay.Layer, all []bugs.Bug) (*bank, error) {
	all = slices.Clone(all)
	for {
		merged, has := merge(right, all)
		if len(has) == 0 {
			return nil, nil
		}
		p, err := r.build(merged)
		if r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		if err != nil {
			wrong := branchesAt(merged, err.Error())
			if len(wrong) == 0 {
				return nil, nil // the right code does not compile, which other truths report
			}
			all = slices.DeleteFunc(all, func(b bugs.Bug) bool { return wrong[b.Name] })
			continue
		}
		bank := &bank{program: p, has: has}
		res, err := r.runBank(bank, "", ".")
		if err != nil || len(res.Tests) == 0 {
			return nil, err
		}
		bank.right = res
		for _, b := range all {
			if t, _ := res.Test(b.Test); t.Status != gotest.Passed {
				delete(has, b.Name)
			}
		}
		return bank, nil
	}
}

// branchesAt returns the wrong versions in whose branches a compiler's errors are.
func branchesAt(merged overlay.Layer, errors string) map[string]bool {
	found := map[string]bool{}
	for _, m := range compileError.FindAllStringSubmatch(errors, -1) {
		number, _ := strconv.Atoi(m[2]) // the pattern has digits here
		for _, f := range merged.Files {
			if f.Name != m[1] {
				continue
			}
			lines := strings.Split(string(f.Content), "\n")
			for i := min(number, len(lines)) - 1; i >= 0; i-- {
				if lines[i] == branchEnd {
					break // the line is in no branch
				}
				if m := branchStart.FindStringSubmatch(lines[i]); m != nil {
					found[m[1]] = true
					break
				}
			}
		}
	}
	return found
}

var branchStart = regexp.MustCompile(`^if workshopBug == "([^"]+)" \{$`)

// branchEnd is the line behind a branch.
const branchEnd = "} // the wrong version ends"

// runBank runs the tests that match a pattern over one of the wrong versions in the bank, or over none.
func (r *run) runBank(b *bank, name, pattern string) (gotest.Result, error) {
	cmd := r.start(b.program, "-test.run="+pattern)
	cmd.Env = append(cmd.Env, chosenBug+"="+name)
	if name == "" {
		cmd.Env = append(cmd.Env, env.Brief+"=1") // what is repeated for chance proves nothing about the branches
	}
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
	layer := overlay.Layer{Chapter: solution.Chapter, Name: "bank of " + solution.Name}
	for _, f := range solution.Files {
		f.Content = insert(f.Content, branches[f.Name])
		layer.Files = append(layer.Files, f)
	}
	choice := fmt.Sprintf("import \"os\"\n\nvar workshopBug = os.Getenv(%q)\n", chosenBug)
	return withSource(layer, "zz_workshop_bug.go", choice), has
}

// withSource adds a file to a layer, whose package it has. source is the text after the package clause.
func withSource(layer overlay.Layer, name, source string) overlay.Layer {
	for _, f := range layer.Files {
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.PackageClauseOnly)
		if err == nil {
			content := []byte("package " + tree.Name.Name + "\n\n" + source)
			layer.Files = append(layer.Files, overlay.File{Name: name, Content: content})
			break
		}
	}
	return layer
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
			found[r.Name] = append(found[r.Name], branch{rights[j].at, text + branchEnd + "\n"})
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
