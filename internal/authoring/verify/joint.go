package verify

// This file builds all programs to predict of a chapter as one, over the solution with their wrong versions merged in.
// A program and its wrong version are then chosen when it starts, instead of two builds for each. The answer of such a
// run counts only if it is the one that the text shows. After any other answer, the program is built for itself.

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/runner/predict"
)

const chosenProgram = "WORKSHOP_PREDICT"

const jointSource = `package main

import (
	"os"

%s)

func main() {
	switch os.Getenv(%q) {
%s	}
}
`

// joint is a built program that has all of a chapter's programs in it. The nil joint has none.
type joint struct {
	path string
	has  map[string]bool // the wrong versions
}

// joinPrograms returns nil if the programs cannot be built as one.
func (r *run) joinPrograms(programs []course.Program) *joint {
	layers, has, err := r.jointLayers(programs)
	if err != nil || len(programs) == 0 {
		return nil
	}
	o, err := overlay.Write(r.root, layers...)
	if err != nil {
		return nil
	}
	folder, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "predict")
	if err != nil {
		return nil
	}
	j := &joint{filepath.Join(folder, "predict.exe"), has}
	cmd, err := o.Go(r.ctx, "build", "-ldflags=-w -s", "-o", j.path, "./"+path.Dir(programs[0].Dir))
	if err == nil {
		err = cmd.Run()
	}
	if err != nil {
		j.remove()
		return nil
	}
	return j
}

// jointLayers returns the solution with the wrong versions, which it names, the programs as packages, and the main
// package that imports them.
func (r *run) jointLayers(programs []course.Program) (layers []overlay.Layer, has map[string]bool, err error) {
	sets, err := bugs.Sets(r.root, r.chapter)
	if err != nil {
		return nil, nil, err
	}
	named := slices.DeleteFunc(slices.Clone(sets[0].Bugs), func(b bugs.Bug) bool {
		return !slices.ContainsFunc(programs, func(p course.Program) bool { return p.Wrong == b.Name })
	})
	solution, has := merge(sets[0].Code, named, false)
	solution.Chapter = filepath.ToSlash(r.chapter.Solution())
	layers = append(layers, solution)
	var imports, cases strings.Builder
	for i, p := range programs {
		layer, err := overlay.ReadDir(p.Dir, p.Name, filepath.Join(r.root, p.Dir))
		if err != nil {
			return nil, nil, err
		}
		for k := range layer.Files {
			if layer.Files[k].Content, err = asPackage(layer.Files[k].Content); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", p.Dir, err)
			}
		}
		layers = append(layers, layer)
		fmt.Fprintf(&imports, "\tp%d \"client-go-workshop/%s\"\n", i, p.Dir)
		fmt.Fprintf(&cases, "\tcase %q:\n\t\tp%d.Main()\n", p.Name, i)
	}
	if len(programs) > 0 {
		source := fmt.Sprintf(jointSource, imports.String(), chosenProgram, cases.String())
		layers = append(layers, overlay.Layer{Chapter: path.Dir(programs[0].Dir), Name: "programs",
			Files: []overlay.File{{Name: "main.go", Content: []byte(source)}}})
	}
	return layers, has, nil
}

// asPackage makes a package of a program's file: its function main becomes Main.
func asPackage(src []byte) ([]byte, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	tree.Name.Name = "program"
	for _, decl := range tree.Decls {
		if f, isFunc := decl.(*ast.FuncDecl); isFunc && f.Recv == nil && f.Name.Name == "main" {
			f.Name.Name = "Main"
		}
	}
	var out bytes.Buffer
	err = format.Node(&out, set, tree)
	return out.Bytes(), err
}

// answers returns by name what each program prints at two runs over the solution and two over its wrong version. It
// leaves out those that j cannot tell. Many programs wait most of their time, so several run at once.
func (j *joint) answers(r *run, programs []course.Program) map[string][]predict.Answer {
	all := map[string][]predict.Answer{}
	var lock sync.Mutex // guards all
	var running sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, p := range programs {
		if j == nil || !j.has[p.Wrong] {
			continue
		}
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			if both := j.run(r, p); both != nil {
				lock.Lock()
				defer lock.Unlock()
				all[p.Name] = both
			}
		})
	}
	running.Wait()
	return all
}

// run returns what a program prints at two runs over the solution and two over its wrong version, nil after an error.
func (j *joint) run(r *run, p course.Program) []predict.Answer {
	both := make([]predict.Answer, 2)
	errs := make([]error, 4)
	var runs sync.WaitGroup
	for i := range both {
		start := func(bug string, to *predict.Output, err *error) {
			runs.Go(func() {
				var printed []predict.Output
				printed, *err = predict.Start(r.ctx, j.path, 1, chosenProgram+"="+p.Name, chosenBug+"="+bug)
				if *err == nil {
					*to = printed[0]
				}
			})
		}
		start("", &both[i].Right, &errs[2*i])
		start(p.Wrong, &both[i].Wrong, &errs[2*i+1])
	}
	runs.Wait()
	if errors.Join(errs...) != nil {
		return nil
	}
	return both
}

// remove removes what was built.
func (j *joint) remove() {
	if j != nil {
		os.RemoveAll(filepath.Dir(j.path))
	}
}
