package verify

// This file runs the chapter's tests over finished code: the solution, client-go, and the bank of wrong versions.

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

// Divergences is the file, in an oracle's folder, that lists tests which client-go may fail: "TestName: why".
const Divergences = "divergences.txt"

func solutions(r *run) (string, []string) {
	layer, err := r.solution()
	if err != nil {
		return "", []string{err.Error()}
	}
	args, how := r.often(), "without -race: it needs cgo and a C compiler"
	if r.race {
		args, how = append([]string{"-race"}, args...), "with -race"
	}
	res, err := r.test(layer, args...)
	if err != nil {
		return "", []string{err.Error()}
	}
	return fmt.Sprintf("%d tests pass, %s", len(res.Tests), how), mustPass(res, "the solution", nil)
}

// often is the chapter's package, to be tested as often as was asked for.
func (r *run) often() []string {
	if r.count <= 1 {
		return []string{r.pkg()}
	}
	return []string{fmt.Sprintf("-count=%d", r.count), "-timeout=0", r.pkg()}
}

func oracle(r *run) (string, []string) {
	dir := filepath.Join(r.root, r.chapter.Oracle())
	layer, err := overlay.ReadDir(r.chapter.Dir, "client-go", dir)
	if err != nil {
		return "", []string{err.Error()}
	}
	diverges, err := r.list(filepath.Join(dir, Divergences))
	if err != nil {
		return "", []string{err.Error()}
	}
	res, err := r.test(layer, r.often()...)
	if err != nil {
		return "", []string{err.Error()}
	}
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
	if res.BuildFailed() || len(res.Tests) == 0 || (res.Exit != 0 && !failed) {
		problems = append(problems, fmt.Sprintf("the tests over %s exit %d:\n%s", who, res.Exit, res.Outside))
	}
	return problems
}

func wrongVersions(r *run) (string, []string) {
	if problems := r.runBugs(); problems != nil {
		return "", problems
	}
	all, err := bugs.Load(filepath.Join(r.root, r.chapter.Solution()))
	if err != nil {
		return "", []string{err.Error()}
	}
	var problems []string
	unseen := 0
	for _, b := range all {
		res, ran := r.bugRuns[b.Name]
		if !ran {
			unseen++
			continue
		}
		if p := judgeBug(b, res); p != "" {
			problems = append(problems, p)
		}
	}
	detail := fmt.Sprintf("%d wrong versions caught, %d of them in one build", len(all)-unseen-len(problems), r.inBank)
	if unseen > 0 {
		detail += fmt.Sprintf(", %d need the race detector and were left out", unseen)
	}
	return detail, problems
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

// runBugs runs, for each wrong version, the test that is named for it. It does so once for all truths. Those that have
// to be built go one per processor; those in the bank two, because most of them wait until a test notices that nothing
// comes.
func (r *run) runBugs() (problems []string) {
	if r.bugRuns != nil {
		return nil
	}
	solution, err := r.solution()
	if err != nil {
		return []string{err.Error()}
	}
	all, err := bugs.Load(filepath.Join(r.root, r.chapter.Solution()))
	if err != nil {
		return []string{err.Error()}
	}
	together, err := r.buildBank(solution, all)
	if err != nil {
		return []string{err.Error()}
	}
	if together != nil {
		r.inBank = len(together.has)
	}
	var lock sync.Mutex // guards results and problems
	results := map[string]gotest.Result{}
	var workers sync.WaitGroup
	processors := runtime.GOMAXPROCS(0)
	builds, runs := make(chan struct{}, processors), make(chan struct{}, 2*processors)
	for _, b := range all {
		if b.RaceOnly && !r.race {
			continue
		}
		turns := builds
		if together != nil && together.has[b.Name] {
			turns = runs
		}
		turns <- struct{}{}
		workers.Go(func() {
			defer func() { <-turns }()
			res, err := r.runBug(b, solution, together)
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				problems = append(problems, err.Error())
			}
			results[b.Name] = res
		})
	}
	workers.Wait()
	r.bugRuns = results
	return problems
}

// runBug runs the test that is named for b, which is the first in the result: out of the bank if that has it, or else
// over a build of its own. If one of many times is not as it must be, that one counts.
func (r *run) runBug(b bugs.Bug, solution overlay.Layer, together *bank) (res gotest.Result, err error) {
	for range max(r.count, 1) {
		if res, err = r.runOver(b, solution, together, "^"+b.Test+"$", b.RaceOnly); err != nil || judgeBug(b, res) != "" {
			return res, err
		}
	}
	if !r.allTests {
		return res, nil
	}
	all, err := r.runOver(b, solution, together, ".", false) // the detector's reports are for Race alone
	for _, t := range all.Tests {
		if t.Name != b.Test {
			res.Tests = append(res.Tests, t)
		}
	}
	return res, err
}

// runOver runs the tests that match a pattern over a wrong version.
func (r *run) runOver(b bugs.Bug, solution overlay.Layer, together *bank, pattern string,
	race bool) (gotest.Result, error) {
	if together != nil && together.has[b.Name] {
		return r.runBank(together, b.Name, pattern)
	}
	layer, err := b.Apply(solution)
	if err != nil {
		return gotest.Result{}, err
	}
	args := []string{"-vet=off", "-run", pattern, r.pkg()}
	if race {
		args = append([]string{"-race"}, args...)
	}
	return r.test(layer, args...)
}
