package verify

// This file runs the chapter's tests over finished code: the solution, client-go, and other correct designs.

import (
	"fmt"
	"path/filepath"

	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

// Divergences is the file, in an oracle's folder, that lists tests which client-go may fail: "TestName: why".
const Divergences = "divergences.txt"

func solutions(r *run) (string, []string) {
	over, how := r.code("", r.solution), "without -race: it needs cgo and a C compiler"
	if r.race {
		over, how = r.code("race", r.solution, "-race"), "with -race"
	}
	res := r.test(r.often(over), ".", passes)
	return fmt.Sprintf("%d tests pass, %s", len(res.Tests), how), mustPass(res, "the solution", nil)
}

func oracle(r *run) (string, []string) {
	dir := filepath.Join(r.root, r.chapter.Oracle())
	layer := must(overlay.ReadDir(r.chapter.Dir, "client-go", dir))
	diverges := must(Reasons(filepath.Join(dir, Divergences), ": "))
	good := func(t gotest.Test) bool {
		_, diverge := diverges[t.Name]
		return passes(t) || diverge && t.Status == gotest.Failed
	}
	res := r.test(r.often(r.code("", layer)), ".", good)
	problems := mustPass(res, "client-go", diverges)
	for name := range diverges {
		t, found := res.Test(name)
		switch {
		case !found:
			problems = append(problems, fmt.Sprintf("%s lists %s, and there is no such test", Divergences, name))
		case t.Status == gotest.Passed:
			problems = append(problems, fmt.Sprintf("%s lists %s, and client-go passes it: take it off the list",
				Divergences, name))
		}
	}
	return fmt.Sprintf("client-go passes %d of %d tests, %d listed divergences", len(res.Tests)-len(diverges),
		len(res.Tests), len(diverges)), problems
}

// mustPass says what is wrong with a run in which every test had to pass, but for the exceptions.
func mustPass(res gotest.Result, who string, exceptions map[string]string) (problems []string) {
	failed := false
	for _, t := range res.Tests {
		if _, excepted := exceptions[t.Name]; excepted {
			failed = failed || t.Status == gotest.Failed
			continue
		}
		if t.Status != gotest.Passed {
			failed = true
			problems = append(problems, fmt.Sprintf("%s does not pass %s: %s\n%s", who, t.Name, t.Status, t.Text()))
		}
	}
	if len(res.Tests) == 0 || (res.Exit != 0 && !failed) {
		problems = append(problems, fmt.Sprintf("the tests over %s exit %d:\n%s", who, res.Exit, res.Outside))
	}
	return problems
}

// shapes runs the tests over each other correct design of the chapter, and the designs' wrong versions. One build of a
// design has both. If the tests shall run often, or do not pass in that build, they run over the design alone.
func shapes(r *run) (string, []string) {
	var p problems
	designs := r.sets[1:] // the first is the solution's
	if len(designs) == 0 {
		p.add("%s has no other correct design: the tests may know the shape of the solution", r.chapter.Solution())
	}
	wrong := 0
	for _, d := range designs {
		if len(d.Bugs) == 0 {
			p.add("%s has no wrong version of this design", d.Dir)
		}
		c := must(r.catch(d))
		p = append(p, c.problems...)
		wrong += len(c.runs)
		over := r.code("", d.Code)
		if r.count > 1 && r.race {
			over = r.code("race", d.Code, "-race")
		}
		if r.count <= 1 && len(mustPass(c.together.right, d.Code.Name, nil)) == 0 {
			r.keepTests(over, c.together.right, passes)
			continue
		}
		p = append(p, mustPass(r.test(r.often(over), ".", passes), "the "+d.Code.Name, nil)...)
	}
	return fmt.Sprintf("%d other designs pass, %d wrong versions of them are caught", len(designs), wrong), p
}
