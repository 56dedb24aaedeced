package verify

// This file builds most of a set of wrong versions as one program, whose code merge.go makes. Compiling and linking a
// test binary for each of 120 to 230 versions would be most of the time that all truths take together.
//
// WORKSHOP_BUG chooses the wrong version when the program starts. Those that cannot be merged are built one by one, as
// are those that only the race detector sees. Before the program is believed, every test has to pass over it with no
// wrong version chosen: the branches themselves must change nothing.

import (
	"errors"
	"slices"

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
func (r *run) buildMerged(right overlay.Layer, all []bugs.Bug) (*oneProgram, error) {
	for {
		merged, has, err := merge(right, all)
		if err != nil || len(has) == 0 {
			return &oneProgram{built: r.code("", right), layer: right}, nil // each is built for itself, and tells
		}
		path, err := r.build(merged)
		if broken, ok := errors.AsType[*buildError](err); ok && r.ctx.Err() == nil {
			wrong := branchesAt(merged, broken.output)
			all = slices.DeleteFunc(slices.Clone(all), func(b bugs.Bug) bool { return len(wrong) == 0 || wrong[b.Name] })
			continue
		}
		return &oneProgram{built: code{build: func() (string, error) { return path, nil }}, has: has, layer: right}, err
	}
}

// buildWrong builds what can be built as one. It leaves out wrong versions whose test the right code fails in it: a
// test that looks at how much memory a call takes may see the branches. It returns an empty set if none are left.
func (r *run) buildWrong(right overlay.Layer, all []bugs.Bug) (*oneProgram, error) {
	p, err := r.buildMerged(right, all)
	if err != nil || len(p.has) == 0 {
		return &oneProgram{}, err
	}
	over := p.over("")
	over.env = append(over.env, env.Brief+"=1") // what is repeated for chance proves nothing about the branches
	if p.right, err = r.tests(over); err != nil || len(p.right.Tests) == 0 {
		return &oneProgram{}, err
	}
	for _, b := range all {
		if t, _ := p.right.Test(b.Test); t.Status != gotest.Passed {
			delete(p.has, b.Name)
		}
	}
	return p, nil
}
