package verify

// This file runs the wrong versions of a chapter: each must fail in the test that it names.

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

func wrongVersions(r *run) (string, []string) {
	c := must(r.bugs())
	detail := fmt.Sprintf("%d wrong versions caught, %d of them in one build",
		len(c.runs)-len(c.problems), len(c.together.has)+len(c.racing.has))
	if c.kept > 0 {
		detail += fmt.Sprintf(", %d in an earlier run", c.kept)
	}
	if len(c.retried) > 0 {
		detail += fmt.Sprintf(", only in a second and third run: %s", strings.Join(c.retried, ", "))
	}
	if unseen := len(r.sets[0].Bugs) - len(c.runs); unseen > 0 {
		detail += fmt.Sprintf(", %d need the race detector and were left out", unseen)
	}
	missing := r.missing(r.sets[0])
	if unnamed := r.unnamed(); len(unnamed) > 0 {
		missing = append(missing, fmt.Sprintf("no wrong version names %d tests: %s; add one for each, or remove the test",
			len(unnamed), strings.Join(unnamed, ", ")))
	}
	return detail, append(c.problems, missing...)
}

// unnamed returns the tests that no wrong version names, of the solution or of another design. Nothing may need them.
func (r *run) unnamed() []string {
	return slices.DeleteFunc(slices.Clone(r.inputs.names), func(test string) bool {
		return slices.ContainsFunc(r.sets, func(set bugs.Set) bool {
			return slices.ContainsFunc(set.Bugs, func(b bugs.Bug) bool { return b.Test == test })
		})
	})
}

// leastPerTask is how many wrong versions the tests of a task must catch. Fewer prove little about the tests.
const leastPerTask = 3

// missing reports tasks with too few wrong versions, and a set that has not as many as its preamble says.
func (r *run) missing(set bugs.Set) []string {
	var p problems
	counts := map[int]int{} // by task
	for _, b := range set.Bugs {
		counts[taskOf(b.Test)]++
	}
	for _, t := range r.chapter.Tasks {
		if counts[t.Number] < leastPerTask {
			p.add("task %d has %d wrong versions; it takes %d or more", t.Number, counts[t.Number], leastPerTask)
		}
	}
	if set.Stated != len(set.Bugs) {
		p.add("%s has %d wrong versions and says that it has %d; its first line is to say \"%d wrong versions\"",
			bugs.File, len(set.Bugs), set.Stated, len(set.Bugs))
	}
	return p
}

// caught is what came of the wrong versions in a set.
type caught struct {
	lock     sync.Mutex               // guards runs, problems and retried while they run
	runs     map[string]gotest.Result // by wrong version: the test that is named for it
	problems []string                 // one for each that was not caught
	together *oneProgram              // those that ran out of one build
	racing   *oneProgram              // and out of one with the race detector
	kept     int                      // how many of them ran earlier, with the same code and test
	// retried has the wrong versions that survived their first run and were caught in the two after it.
	retried []string
}

// judgeBug returns what is wrong with the run of a wrong version, or "".
func judgeBug(b bugs.Bug, res gotest.Result, err error) string {
	what := fmt.Sprintf("the wrong version %s (%s)", b.Name, b.Rule)
	t, found := res.Test(b.Test)
	broken, isBroken := errors.AsType[*buildError](err)
	switch {
	case isBroken:
		return fmt.Sprintf("%s does not compile:\n%s", what, broken.output)
	case err != nil:
		return err.Error()
	case !found:
		return fmt.Sprintf("%s is to be caught by %s, and no such test ran (exit code %d):\n%s",
			what, b.Test, res.Exit, res.Outside)
	case t.Crashed():
		return fmt.Sprintf("%s takes the test binary with it instead of failing:\n%s%s", what, t.Text(), res.Outside)
	case t.Status != gotest.Failed:
		return fmt.Sprintf("%s survives: %s %s", what, b.Test, t.Status)
	}
	return ""
}

// program returns the build that b ran out of, if it has b.
func (c *caught) program(b bugs.Bug) *oneProgram {
	if b.RaceOnly {
		return c.racing
	}
	return c.together
}

// fewBugs is how many wrong versions are built one by one sooner than in one build, which all tests have to pass.
const fewBugs = 2

// catch runs, for each wrong version in a set, the test that is named for it, unless its result was kept. Those that
// have to be built go one per processor; those in one build two, because most of them wait until a test notices that
// nothing comes.
func (r *run) catch(set bugs.Set) (c *caught, err error) {
	c = &caught{runs: map[string]gotest.Result{}, together: &oneProgram{}, racing: &oneProgram{}}
	base := r.key(set.Code, "bug")
	key := func(b bugs.Bug) (c code) {
		if base != "" {
			c.key = sum(base, fmt.Sprintf("%q %v", b.Changes, b.RaceOnly))
		}
		return c
	}
	missing := slices.DeleteFunc(slices.Clone(set.Bugs), func(b bugs.Bug) bool {
		t, kept := r.keptTest(key(b), b.Test)
		if kept {
			c.runs[b.Name] = gotest.Result{Tests: []gotest.Test{t}, Exit: 1}
		}
		return kept || b.RaceOnly && !r.race
	})
	c.kept = len(c.runs)
	if c.kept == 0 || len(missing) > fewBugs {
		racing := slices.DeleteFunc(slices.Clone(missing), func(b bugs.Bug) bool { return !b.RaceOnly })
		plain := slices.DeleteFunc(slices.Clone(missing), func(b bugs.Bug) bool { return b.RaceOnly })
		if c.together, err = r.buildWrong(set.Code, plain); err != nil {
			return nil, err
		}
		if c.racing, err = r.buildWrong(set.Code, racing, "-race"); err != nil {
			return nil, err
		}
	}
	check := func(limit int, some []bugs.Bug) {
		atOnce(limit*runtime.GOMAXPROCS(0), len(some), func(i int) {
			if res, good := r.runBug(c, some[i], set.Code); good {
				r.keepTests(key(some[i]), res, func(t gotest.Test) bool { return t.Name == some[i].Test })
			}
		})
	}
	merged := func(b bugs.Bug) bool { return c.program(b).has[b.Name] }
	check(1, slices.DeleteFunc(slices.Clone(missing), merged))
	check(2, slices.DeleteFunc(missing, func(b bugs.Bug) bool { return !merged(b) }))
	slices.Sort(c.retried)
	slices.Sort(c.problems)
	return c, nil
}

// runBug runs the test that is named for b, which is the first in the result: out of the set if that has it, or else
// over a build of its own. If one of many times is not as it must be, that one counts. Without many times, a wrong
// version that survives gets two more runs, which both have to catch it: some mistakes need two goroutines that meet,
// and one meeting that a busy machine prevents is not a gap in the tests. --count finds such tests.
func (r *run) runBug(c *caught, b bugs.Bug, right overlay.Layer) (res gotest.Result, good bool) {
	over := c.program(b).over(b.Name)
	if !c.program(b).has[b.Name] {
		over = r.ownBuild(b, right)
		defer func() {
			if path, err := over.build(); err == nil {
				os.Remove(path)
			}
		}()
	}
	problem, retried := "", false
	for times := max(r.count, 1); times > 0 && problem == ""; times-- {
		var err error
		res, err = r.tests(over, "-test.run=^"+b.Test+"$")
		problem = judgeBug(b, res, err)
		if t, _ := res.Test(b.Test); problem != "" && t.Status == gotest.Passed && r.count <= 1 && !retried {
			problem, retried, times = "", true, times+2
		}
	}
	if r.allTests && problem == "" && !b.RaceOnly { // the detector's reports are for its test alone
		all, err := r.tests(over)
		if err != nil {
			problem = err.Error()
		}
		for _, t := range all.Tests {
			if t.Name != b.Test {
				res.Tests = append(res.Tests, t)
			}
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.runs[b.Name] = res
	if problem != "" {
		c.problems = append(c.problems, problem)
	} else if retried {
		c.retried = append(c.retried, b.Name)
	}
	return res, problem == ""
}

// ownBuild is a wrong version that is built for itself.
func (r *run) ownBuild(b bugs.Bug, right overlay.Layer) code {
	return code{build: sync.OnceValues(func() (string, error) {
		layer, err := b.Apply(right)
		if err != nil {
			return "", err
		}
		layer.Name += " of the " + right.Name // two sets may have a wrong version of the same name
		if b.RaceOnly {
			return r.build(layer, "-race")
		}
		return r.build(layer)
	})}
}
