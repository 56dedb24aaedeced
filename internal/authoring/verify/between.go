package verify

// This file checks the states in which a learner spends most of the time: some tasks are finished, the next one is
// begun. There is one such state after each task, in which the functions of the later tasks are not written, and there
// are those that authors wrote down (bugs.States), with the smallest code that the texts allow at that moment.
//
// In each state the finished tasks stay green, and a later test fails soon. It does not accuse a function that is
// right.

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
)

const (
	statesPerChapter = 2
	// The goals are 2 s for a test of a later task, and 10 s for all tests, on a quiet machine. The bounds are far above,
	// because checks share the processors.
	testWait  = 16 * time.Second
	wholeWait = 40 * time.Second
	attempts  = 3 // of which the quickest counts, because the machine may be busy
)

// testWork is the bound for the processor's time in a test: a random sequence is made short in most of that. It is less
// than the ten seconds after which package guard ends a loop. Only a test changes it.
var testWork = 8 * time.Second

// between checks the states between tasks. Its detail lists the first failure after each task, for a reader to judge.
// The test with which a task begins, says its text, is this one or the first of the task.
func between(r *run) (string, []string) {
	var p problems
	if len(r.states.Bugs) < statesPerChapter && len(r.chapter.Tasks) > statesPerChapter {
		p.add("%s/between.txtar has %d states; a chapter has %d or more",
			r.chapter.Solution(), len(r.states.Bugs), statesPerChapter)
	}
	var first []string
	longest := time.Duration(0)
	check := func(done int, written bugs.Bug) gotest.Result {
		s := state{r, r.partly(done, written), done, written.Name}
		res, problems := s.check()
		p = append(p, problems...)
		longest = max(longest, res.Took)
		return res
	}
	for i, task := range r.chapter.Tasks[:len(r.chapter.Tasks)-1] {
		res := check(task.Number, bugs.Bug{})
		first = append(first, fmt.Sprintf("after task %d: %s", task.Number,
			cmp.Or(firstOf(res, task.Number+1, false), "no test of the next task fails; those of a bonus are skipped")))
		if i == 0 {
			p = append(p, r.beginsElsewhere(res, task.Number)...)
		}
		p = append(p, r.beginsElsewhere(res, task.Number+1)...)
	}
	for _, b := range r.states.Bugs {
		if _, known := r.chapter.Task(b.After + 1); !known {
			p.add("the state %s is after task %d, and no task follows", b.Name, b.After)
			continue
		}
		check(b.After, b)
	}
	first = slices.Insert(first, 0, fmt.Sprintf("%d states and %d written ones; the longest run took %.1fs",
		len(first), len(r.states.Bugs), longest.Seconds()))
	return strings.Join(first, "\n"), p
}

// firstOf returns the first test of a task that did not pass, or with passed the first of all, or "".
func firstOf(res gotest.Result, task int, passed bool) string {
	for _, t := range res.Tests {
		if taskOf(t.Name) == task && (passed || t.Status != gotest.Passed && t.Status != gotest.Skipped) {
			return t.Name
		}
	}
	return ""
}

var beginsWith = regexp.MustCompile("(?m)^It begins with `(Test\\w+)`")

// beginsElsewhere compares the test with which a task begins, says the README, with the tests in a state before it.
func (r *run) beginsElsewhere(res gotest.Result, task int) (p problems) {
	comes, fails := firstOf(res, task, true), firstOf(res, task, false)
	readme := must(os.ReadFile(filepath.Join(r.root, r.chapter.Dir, "README.md")))
	for _, m := range beginsWith.FindAllSubmatch(readme, -1) {
		if named := string(m[1]); taskOf(named) == task && named != comes && named != fails {
			p.add("%s/README.md says that task %d begins with %s; its first test is %s, and the first that fails is %s",
				r.chapter.Dir, task, named, comes, cmp.Or(fails, "none"))
		}
	}
	return p
}

func taskOf(test string) int {
	m := testOfTask.FindStringSubmatch(test)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits, says the pattern
	return n
}

// state is a place between two tasks.
type state struct {
	r    *run
	code code
	done int    // the task that has just been finished
	name string // of a written state; empty if later functions are not written
}

func (s state) String() string {
	if s.name == "" {
		return fmt.Sprintf("the solution's code of tasks 1 to %d", s.done)
	}
	return fmt.Sprintf("the state %s, after task %d", s.name, s.done)
}

// check runs all tests in the state.
func (s state) check() (res gotest.Result, p problems) {
	res = s.r.test(s.code, ".", func(t gotest.Test) bool {
		found := s.checkTest(t)
		p = append(p, found...)
		return found == nil
	})
	for n := 1; n < attempts && res.Took > wholeWait; n++ {
		if again, err := s.r.tests(s.code); err == nil {
			res.Took = min(res.Took, again.Took)
		}
	}
	if len(res.Tests) == 0 {
		p.add("over %s no test runs:\n%s", s, res.Outside)
	}
	if res.Took > wholeWait {
		p.add("over %s all tests take %.1fs; %v is the bound", s, res.Took.Seconds(), wholeWait)
	}
	return res, p
}

// checkTest checks a test that ran in the state.
func (s state) checkTest(t gotest.Test) (p problems) {
	switch {
	case t.Crashed():
		p.add("over %s, %s ends the test binary:\n%s", s, t.Name, t.Text())
	case taskOf(t.Name) > s.done:
		return s.checkLater(t)
	case t.Status == gotest.Failed:
		p.add("over %s, %s fails, which belongs to a finished task:\n%s", s, t.Name, t.Text())
	}
	return p
}

// checkLater checks a test of a task that is not finished. A test that may have worked for long runs again by itself.
func (s state) checkLater(t gotest.Test) (p problems) {
	for _, f := range t.Failures {
		if name := s.accused(f); name != "" {
			p.add("over %s, %s accuses %s, which is right:\n%s", s, t.Name, name, t.Text())
		}
	}
	if t.Took <= testWork/8 { // on two processors, one of them busy
		return p
	}
	var wait, work time.Duration
	for range attempts {
		cmd, err := s.r.start(s.code, "-test.run=^"+t.Name+"$")
		res := gotest.Result{}
		if err == nil {
			res, err = gotest.Run(s.r.ctx, cmd)
		}
		if err != nil {
			p.add("over %s: %v", s, err)
			return p
		}
		wait, work = res.Took, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
		if wait <= testWait && work <= testWork {
			return p
		}
	}
	p.add("over %s, %s takes %.1fs, and %.1fs of a processor; %v and %v are the bounds:\n%s",
		s, t.Name, wait.Seconds(), work.Seconds(), testWait, testWork, t.Text())
	return p
}

// accused returns the function of a finished task that a failure names as its cause, or "".
func (s state) accused(f failure.Failure) string {
	if f.Kind != failure.Hang && f.Kind != failure.Panic && f.Kind != failure.Leak {
		return ""
	}
	problem, _, _ := strings.Cut(f.Problem, ", started at ") // what follows only says where a goroutine comes from
	problem = strings.NewReplacer("(*", "", ")", "").Replace(problem)
	named := strings.FieldsFunc(problem, func(r rune) bool { return strings.ContainsRune(" :,;\n", r) })
	for _, t := range s.r.todos {
		isNamed := func(word string) bool { return word == t.Symbol || word == t.Function }
		if t.Task <= s.done && slices.ContainsFunc(named, isNamed) {
			return cmp.Or(t.Symbol, t.Function)
		}
	}
	return ""
}
