package verify

// This file builds most of a set of wrong versions as one program, whose code merge.go makes. Compiling and linking a
// test binary for each of 120 to 230 versions would be most of the time that all truths take together.
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
	right gotest.Result // of all tests, with no wrong version chosen
}

// over is the program with a wrong version chosen.
func (p *oneProgram) over(bug string) code {
	c := p.built
	c.env = []string{chosenBug + "=" + bug}
	return c
}

// buildWrong builds what can be built as one. It leaves out wrong versions that do not compile, and those whose test
// the right code fails in it: a test that looks at how much memory a call takes may see the branches. It returns an
// empty set if none are left. Flags are those of the build; without them, all tests run over the right code, not only
// those that are named.
func (r *run) buildWrong(right overlay.Layer, all []bugs.Bug, flags ...string) (*oneProgram, error) {
	for {
		merged, has, err := merge(right, all)
		if err != nil || len(has) == 0 {
			return &oneProgram{}, nil // each is built for itself, and tells
		}
		p := &oneProgram{has: has}
		p.built.build = func() (string, error) { return r.build(merged, flags...) }
		built, err := p.built.build()
		p.built.build = func() (string, error) { return built, err }
		if broken, ok := errors.AsType[*buildError](err); ok && r.ctx.Err() == nil {
			wrong := branchesAt(merged, broken.output)
			if len(wrong) == 0 {
				return &oneProgram{}, nil
			}
			all = slices.DeleteFunc(slices.Clone(all), func(b bugs.Bug) bool { return wrong[b.Name] })
			continue
		}
		right := p.over("")
		right.env = append(right.env, env.Brief+"=1") // what is repeated for chance proves nothing about the branches
		var named []string
		for _, b := range all {
			named = append(named, "^"+b.Test+"$")
		}
		if len(flags) == 0 {
			named = nil
		}
		if p.right, err = r.tests(right, "-test.run="+strings.Join(named, "|")); err != nil || len(p.right.Tests) == 0 {
			return &oneProgram{}, err
		}
		for _, b := range all {
			if t, _ := p.right.Test(b.Test); t.Status != gotest.Passed {
				delete(has, b.Name)
			}
		}
		return p, nil
	}
}
