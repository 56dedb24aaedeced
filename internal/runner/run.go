package runner

// This file runs the go command: which one, with what environment, how often, and within what limits. What it came to
// is judged in verdict.go.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/env"
)

// Options is how to run the tests. The zero value is plain `go test`.
type Options struct {
	Race   bool
	On     string            // which layers lie below: the -on of chapter 07
	Count  int               // how often; 0 is once, and Go may answer from its cache
	Task   course.Task       // only this one's tests; zero means all
	Limit  time.Duration     // how long all of it may take, compiling included; 0 is Limits.Time
	OnTest func(gotest.Test) // receives each test as it begins and as it ends; may be nil
	// OnGreen may be nil. Otherwise the tests run briefly first (see env.Brief). If every one passes, OnGreen receives
	// that verdict before the tests run in full and go vet follows.
	OnGreen func(Verdict)
}

// Limits is what a learner's code may take before it is stopped. The tests have a limit of their own, which says more,
// so this one is for what runs outside of them, such as a package variable's initial value.
var Limits = gotest.Limits{Time: 5 * time.Minute, Output: 64 << 20}

const testTimeout = 2 * time.Minute

// Command is the go test that o means for a chapter, without flags that only a program wants.
func Command(c course.Chapter, o Options) ([]string, error) {
	if o.On != "" && !HasLayers(c) {
		return nil, fmt.Errorf("chapter %s does not run on other layers, so -on means nothing to it; chapter 07 does", c.Dir)
	}
	args := []string{"go", "test"}
	if o.Race {
		args = append(args, "-race")
	}
	args = append(append(args, tags(o)...), "./"+c.Dir)
	if o.Task.Number > 0 {
		args = append(args, "-run", o.Task.Pattern())
	}
	if o.Count > 0 {
		args = append(args, fmt.Sprintf("-count=%d", o.Count))
	}
	if o.On != "" {
		args = append(args, "-on", o.On)
	}
	return args, nil
}

func tags(o Options) []string {
	if strings.Contains(o.On, "yours") {
		return []string{"-tags", "yours"}
	}
	return nil
}

// vetOfGoTest are the parts of vet that a plain go test runs by itself: see go help test.
var vetOfGoTest = []string{
	"-atomic", "-bools", "-buildtag", "-directive", "-errorsas", "-ifaceassert", "-nilfunc", "-printf", "-slog",
	"-stringintconv", "-tests",
}

// HasLayers reports whether a chapter runs on layers of the learner's choice.
func HasLayers(c course.Chapter) bool { return c.Topic == "controller" }

// Run runs the tests of c in the workshop at root. A verdict on failing tests, or on code that does not compile, is no
// error; an error means that there is no verdict. When ctx ends, the verdict says that it was stopped.
func Run(ctx context.Context, root string, c course.Chapter, o Options) (Verdict, error) {
	shown, err := Command(c, o)
	if err != nil {
		return Verdict{}, err
	}
	limits, timeout := Limits, testTimeout
	if o.Limit > 0 {
		limits.Time, timeout = o.Limit, o.Limit
	}
	run := func(brief bool, onTest func(gotest.Test), args ...string) (gotest.Result, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = root, environment(brief)
		res, err := gotest.RunLimited(ctx, cmd, limits, onTest)
		if err != nil {
			return res, fmt.Errorf("test chapter %s: %w", c.Dir, err)
		}
		return res, nil
	}
	flags := []string{"test", "-json", "-vet=off", "-ldflags=-w -s", fmt.Sprintf("-timeout=%v", timeout)}
	test := func(brief bool, onTest func(gotest.Test)) (Verdict, error) {
		res, err := run(brief, onTest, append(flags, shown[2:]...)...)
		if err != nil {
			return Verdict{}, err
		}
		v := Judge(c, o, res)
		v.Command = strings.Join(shown, " ")
		v.Holes = holes(filepath.Join(root, c.Dir))
		v.markUntouched(filepath.Join(root, c.Solution()))
		return v, nil
	}
	v, err := test(o.OnGreen != nil, o.OnTest)
	if v.Green() && o.OnGreen != nil {
		o.OnGreen(v)
		took := v.Took
		if v, err = test(false, nil); v.Green() {
			v.Took = took
		}
	}
	if !v.Green() {
		return v, err
	}
	// The checks of vet that go test asks for take as long as the tests of many chapters, so they come last.
	vetted, err := run(false, nil, slices.Concat([]string{"vet"}, vetOfGoTest, tags(o), []string{"./" + c.Dir})...)
	if err != nil {
		return Verdict{}, err
	}
	if v.Stopped = vetted.Stopped; vetted.Exit != 0 {
		v.Build, v.Vetted = compilerLines(vetted.Outside), true
	}
	return v, nil
}

// environment is for the go command. Compilers and the linker are a tenth faster if they may leave garbage lying; up to
// a gigabyte of it, and only if the learner has not said anything about it.
func environment(brief bool) []string {
	vars := os.Environ()
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		vars = append(vars, "GOGC=off", "GOMEMLIMIT=1GiB", env.HastyBuild+"=1")
	}
	if brief {
		vars = append(vars, env.Brief+"=1")
	}
	return vars
}
