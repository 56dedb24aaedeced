package verify

// This file builds most of a set of wrong versions as one program, whose code merge.go makes. Compiling and linking a
// test binary for each of 120 to 230 versions would be most of the time that all truths take together.
//
// WORKSHOP_BUG chooses the wrong version when the program starts. Those that cannot be merged are built one by one, as
// are those that only the race detector sees. Before the program is believed, every test has to pass over it with no
// wrong version chosen: the branches themselves must change nothing.

import (
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/testkit/env"
)

const chosenBug = "WORKSHOP_BUG"

// oneProgram is a test binary that has wrong versions in it.
type oneProgram struct {
	program
	has   map[string]bool
	right gotest.Result // of all tests, with no wrong version chosen
}

// buildWrong builds what can be built as one. It leaves out wrong versions that do not compile, and those whose test
// the right code fails in it: a test that looks at how much memory a call takes may see the branches. A set that has
// nothing in it is nil.
func (r *run) buildWrong(right overlay.Layer, all []bugs.Bug) (*oneProgram, error) {
	all = slices.Clone(all)
	bodiesOnly := false
	for {
		merged, has := merge(right, all, bodiesOnly)
		if len(has) == 0 {
			return nil, nil
		}
		p, err := r.build(merged)
		if r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		if err != nil {
			wrong := branchesAt(merged, err.Error())
			if len(wrong) == 0 && bodiesOnly {
				return nil, nil // the right code does not compile, which other truths report
			}
			bodiesOnly = bodiesOnly || len(wrong) == 0 // what was added disturbs the right code
			all = slices.DeleteFunc(all, func(b bugs.Bug) bool { return wrong[b.Name] })
			continue
		}
		set := &oneProgram{program: p, has: has}
		res, err := r.runTogether(set, "", ".")
		if err != nil || len(res.Tests) == 0 {
			return nil, err
		}
		set.right = res
		for _, b := range all {
			if t, _ := res.Test(b.Test); t.Status != gotest.Passed {
				delete(has, b.Name)
			}
		}
		return set, nil
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
				if strings.HasSuffix(lines[i], branchEnd) {
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

// runTogether runs the tests that match a pattern over one of the wrong versions in the set, or over none.
func (r *run) runTogether(b *oneProgram, name, pattern string) (gotest.Result, error) {
	cmd := r.start(b.program, "-test.run="+pattern)
	cmd.Env = append(cmd.Env, chosenBug+"="+name)
	if name == "" {
		cmd.Env = append(cmd.Env, env.Brief+"=1") // what is repeated for chance proves nothing about the branches
	}
	return gotest.Run(r.ctx, cmd)
}
