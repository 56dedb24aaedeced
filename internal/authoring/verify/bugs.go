package verify

// This file runs the wrong versions of a chapter: each must fail in the test that it names.

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

func wrongVersions(r *run) (string, []string) {
	set, problems := r.runBugs()
	if problems != nil {
		return "", problems
	}
	problems = append(r.caught.judge(set), r.missing(set)...)
	detail := fmt.Sprintf("%d wrong versions caught, %d of them in one build",
		len(r.caught.runs)-len(r.caught.judge(set)), r.caught.together)
	if r.caught.kept > 0 {
		detail += fmt.Sprintf(", %d in an earlier run", r.caught.kept)
	}
	if len(r.caught.retried) > 0 {
		detail += fmt.Sprintf(", only in a second and third run: %s", strings.Join(r.caught.retried, ", "))
	}
	if unseen := len(set.Bugs) - len(r.caught.runs); unseen > 0 {
		detail += fmt.Sprintf(", %d need the race detector and were left out", unseen)
	}
	return detail, problems
}

// leastPerTask is how many wrong versions the tests of a task must catch. Fewer prove little about the tests.
const leastPerTask = 3

// missing reports tasks with too few wrong versions, and a set that has not as many as its preamble says.
func (r *run) missing(set bugs.Set) []string {
	var p problems
	counts := map[int]int{} // by task
	for _, b := range set.Bugs {
		if m := testOfTask.FindStringSubmatch(b.Test); m != nil {
			task, _ := strconv.Atoi(m[1]) // digits, says the pattern
			counts[task]++
		}
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
	runs     map[string]gotest.Result // by wrong version: the test that is named for it
	together int                      // how many of them ran out of one build
	kept     int                      // how many of them ran earlier, with the same code and test
	right    gotest.Result            // of all tests over the right code in that build; empty if there is none
	// retried has the wrong versions that survived their first run and were caught in the two after it.
	retried []string
}

// judge returns a problem for each wrong version that was run and not caught.
func (c *caught) judge(set bugs.Set) (problems []string) {
	for _, b := range set.Bugs {
		if res, ran := c.runs[b.Name]; ran {
			if p := judgeBug(b, res); p != "" {
				problems = append(problems, p)
			}
		}
	}
	return problems
}

func judgeBug(b bugs.Bug, res gotest.Result) string {
	what := fmt.Sprintf("the wrong version %s (%s)", b.Name, b.Rule)
	t, found := res.Test(b.Test)
	switch {
	case res.BuildFailed():
		return fmt.Sprintf("%s does not compile:\n%s", what, res.Outside)
	case !found:
		return fmt.Sprintf("%s is to be caught by %s, and there is no such test", what, b.Test)
	case t.Crashed():
		return fmt.Sprintf("%s takes the test binary with it instead of failing:\n%s%s", what, t.Text(), res.Outside)
	case t.Status != gotest.Failed:
		return fmt.Sprintf("%s survives: %s %s", what, b.Test, t.Status)
	}
	return ""
}

// runBugs runs the wrong versions of the solution. It does so once for all truths.
func (r *run) runBugs() (bugs.Set, []string) {
	sets, err := bugs.Sets(r.root, r.chapter)
	if err != nil {
		return bugs.Set{}, []string{err.Error()}
	}
	var problems []string
	if r.caught == nil {
		r.caught, problems = r.catch(sets[0])
	}
	return sets[0], problems
}

// fewBugs is how many wrong versions are built one by one sooner than in one build, which all tests have to pass.
const fewBugs = 2

// catch runs, for each wrong version in a set, the test that is named for it, unless its result was kept. Those that
// have to be built go one per processor; those in one build two, because most of them wait until a test notices that
// nothing comes.
func (r *run) catch(set bugs.Set) (c *caught, problems []string) {
	c = &caught{runs: map[string]gotest.Result{}}
	var key func(bugs.Bug) string
	if r.inputs != nil {
		code := r.layerSum(set.Code)
		key = func(b bugs.Bug) string {
			return r.testKey(fmt.Sprintf("bug %q %v", b.Changes, b.RaceOnly), code, b.Test)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(set.Bugs), func(b bugs.Bug) bool {
		if b.RaceOnly && !r.race {
			return true
		}
		var res gotest.Result
		if r.inputs == nil || !r.results.get(key(b), &res) {
			return false
		}
		c.runs[b.Name] = res
		return true
	})
	c.kept = len(c.runs)
	var together *oneProgram
	var err error
	if c.kept == 0 || len(missing) > fewBugs {
		together, err = r.buildWrong(set.Code, missing)
	}
	if err != nil {
		return nil, []string{err.Error()}
	}
	if together != nil && set.Code.Name == "solution" {
		r.wrong = together
	}
	if together != nil {
		c.together, c.right = len(together.has), together.right
	}
	var lock sync.Mutex // guards c.runs and problems
	var workers sync.WaitGroup
	processors := runtime.GOMAXPROCS(0)
	builds, runs := make(chan struct{}, processors), make(chan struct{}, 2*processors)
	for _, b := range missing {
		turns := builds
		if together != nil && together.has[b.Name] {
			turns = runs
		}
		turns <- struct{}{}
		workers.Go(func() {
			defer func() { <-turns }()
			res, retried, err := r.runBug(b, set.Code, together)
			lock.Lock()
			defer lock.Unlock()
			if retried {
				c.retried = append(c.retried, b.Name)
			}
			if err != nil {
				problems = append(problems, err.Error())
			}
			c.runs[b.Name] = res
			if r.inputs != nil && err == nil && judgeBug(b, res) == "" {
				r.results.put(key(b), res)
			}
		})
	}
	workers.Wait()
	if problems != nil {
		return nil, problems
	}
	slices.Sort(c.retried)
	return c, nil
}

// runBug runs the test that is named for b, which is the first in the result: out of the set if that has it, or else
// over a build of its own. If one of many times is not as it must be, that one counts. Without many times, a wrong
// version that survives gets two more runs, and retried says that both caught it: some mistakes need two goroutines
// that meet, and one meeting that a busy machine prevents is not a gap in the tests. --count finds such tests.
func (r *run) runBug(
	b bugs.Bug, right overlay.Layer, together *oneProgram,
) (res gotest.Result, retried bool, err error) {
	times := max(r.count, 1)
	for i := 0; i < times; i++ {
		res, err = r.runOver(b, right, together, "^"+b.Test+"$", b.RaceOnly)
		if err == nil && r.count <= 1 && !retried && survives(b, res) {
			retried, times = true, times+2
			continue
		}
		if err != nil || judgeBug(b, res) != "" {
			return res, false, err
		}
	}
	if !r.allTests {
		return res, retried, nil
	}
	all, err := r.runOver(b, right, together, ".", false) // the detector's reports are for Race alone
	for _, t := range all.Tests {
		if t.Name != b.Test {
			res.Tests = append(res.Tests, t)
		}
	}
	return res, retried, err
}

// survives reports whether the test that is named for b ran and passed.
func survives(b bugs.Bug, res gotest.Result) bool {
	t, found := res.Test(b.Test)
	return found && t.Status == gotest.Passed
}

// runOver runs the tests that match a pattern over a wrong version.
func (r *run) runOver(b bugs.Bug, right overlay.Layer, together *oneProgram, pattern string,
	race bool) (gotest.Result, error) {
	if together != nil && together.has[b.Name] {
		return r.runTogether(together, b.Name, pattern)
	}
	layer, err := b.Apply(right)
	if err != nil {
		return gotest.Result{}, err
	}
	args := []string{"-vet=off", "-run", pattern, r.pkg()}
	if race {
		args = append([]string{"-race"}, args...)
	}
	return r.test(layer, args...)
}
