package verify

// This file builds most of a set of wrong versions as one program, whose code merge.go makes. Compiling and linking a
// test binary for each of hundreds of versions would be most of the time that all truths take together.
//
// WORKSHOP_BUG chooses the wrong version when the program starts. Those that only the race detector sees have a program
// of their own. What cannot be merged is built one by one. Before a program is believed, the tests have to pass over it
// with no wrong version chosen: the branches themselves must change nothing.

import (
	"errors"
	"slices"
	"strings"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/testkit/env"
)

const chosenBug = "WORKSHOP_BUG"

// oneProgram is a test binary that has wrong versions in it.
type oneProgram struct {
	built code
	has   map[string]bool
	layer overlay.Layer // the right code
	right gotest.Result // of all tests, with no wrong version chosen
}

// over is the program with a wrong version chosen.
func (p *oneProgram) over(bug string) code {
	c := p.built
	c.env = []string{chosenBug + "=" + bug}
	return c
}

// buildMerged builds code with what can be merged into it as one, without what does not compile. If nothing is left,
// the program is the code alone.
func (r *run) buildMerged(right overlay.Layer, all []bugs.Bug, flags ...string) (*oneProgram, error) {
	for {
		merged, has, err := merge(right, all)
		if err != nil || len(has) == 0 {
			return &oneProgram{built: r.code("", right), layer: right}, nil // each is built for itself, and tells
		}
		path, err := r.build(merged, flags...)
		if broken, ok := errors.AsType[*buildError](err); ok && r.ctx.Err() == nil {
			wrong := branchesAt(merged, broken.output)
			all = slices.DeleteFunc(slices.Clone(all), func(b bugs.Bug) bool { return len(wrong) == 0 || wrong[b.Name] })
			continue
		}
		return &oneProgram{built: code{build: func() (string, error) { return path, nil }}, has: has, layer: right}, err
	}
}

// buildWrong builds what can be built as one. It leaves out wrong versions whose test the right code fails in it: a
// test that looks at how much memory a call takes may see the branches. It returns an empty set if none are left. Flags
// are those of the build; without them, all tests run over the right code, not only those that are named.
func (r *run) buildWrong(right overlay.Layer, all []bugs.Bug, flags ...string) (*oneProgram, error) {
	p, err := r.buildMerged(right, all, flags...)
	if err != nil || len(p.has) == 0 {
		return &oneProgram{}, err
	}
	over := p.over("")
	over.env = append(over.env, env.Brief+"=1") // what is repeated for chance proves nothing about the branches
	var named []string
	for _, b := range all {
		if len(flags) > 0 {
			named = append(named, "^"+b.Test+"$")
		}
	}
	if p.right, err = r.tests(over, "-test.run="+strings.Join(named, "|")); err != nil || len(p.right.Tests) == 0 {
		return &oneProgram{}, err
	}
	for _, b := range all {
		if t, _ := p.right.Test(b.Test); t.Status != gotest.Passed {
			delete(p.has, b.Name)
		}
	}
	return p, nil
}
