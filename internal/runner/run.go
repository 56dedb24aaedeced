package runner

// This file runs the go command: which one, with what environment, how often, and within what limits. What it came to
// is judged in verdict.go.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/env"
)

// Options is how to run the tests. The zero value is plain `go test`.
type Options struct {
	Race  bool
	On    string      // which layers lie below: the -on of a chapter with Layers
	Count int         // how often; 0 is once, and Go may answer from its cache
	Task  course.Task // only this one's tests; zero means all
	Only  string      // only the test of this name; "" means all
	// Stop ends the run when it is closed; the verdict then says EndedByUser and where the run was. It may be nil.
	Stop   <-chan struct{}
	Limit  time.Duration     // how long all of it may take, compiling included; 0 is Limits.Time
	OnTest func(gotest.Test) // receives each test as it begins, tells where it is, and ends; may be nil
	// OnCompile receives how many packages are compiled for the race detector, and of how many, if that takes long. It may
	// be nil.
	OnCompile func(done, all int)
	// OnGreen may be nil. Otherwise the tests run briefly first (see env.Brief). If every one passes, OnGreen receives
	// that verdict before the tests run in full, with the race detector if the machine has it, and go vet follows.
	OnGreen func(Verdict)
}

// Limits is what a learner's code may take before it is stopped. The tests have a limit of their own, which says more,
// so this one is for what runs outside of them, such as a package variable's initial value. The tests limit their own
// memory to half of this.
var Limits = gotest.Limits{Time: 5 * time.Minute, Output: 64 << 20, Memory: 3 << 30, Begin: 20 * time.Second}

// EndedByUser is why a run was stopped that the learner has ended.
const EndedByUser = "you ended it"

const testTimeout = 2 * time.Minute

// Command is the go test that o means for a chapter, without flags that only a program wants.
func Command(c course.Chapter, o Options) ([]string, error) {
	if o.On != "" && !c.Layers {
		return nil, fmt.Errorf("chapter %s does not run on other layers; -on is for chapter 07, and for labs that build "+
			"on layers", c.Dir)
	}
	args := []string{"go", "test"}
	if o.Race {
		args = append(args, "-race")
	}
	args = append(append(args, tags(o)...), "./"+c.Dir)
	if o.Task.Number > 0 {
		args = append(args, "-run", o.Task.Pattern())
	}
	if o.Only != "" {
		args = append(args, "-run", "^"+o.Only+"$")
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

// Run runs the tests of c in the workshop at root. A verdict on failing tests, or on code that does not compile, is no
// error; an error means that there is no verdict. When ctx ends, the verdict says that it was stopped.
func Run(ctx context.Context, root string, c course.Chapter, o Options) (Verdict, error) {
	if err := runnable(root, c, o); err != nil {
		return Verdict{}, err
	}
	ctx, end := context.WithCancelCause(ctx)
	j := newJob(ctx, root, c, o)
	defer j.vetting.Wait()
	defer end(nil)
	go func() {
		select {
		case <-o.Stop:
			end(errors.New(EndedByUser))
		case <-ctx.Done():
		}
	}()
	if o.Race && o.OnCompile != nil {
		compile(ctx, root, c, o, o.OnCompile)
	}
	var v Verdict
	var err error
	if o.OnGreen == nil {
		v, err = j.test(false, j.vetBeside(o.OnTest))
	} else if v, err = j.test(true, o.OnTest); v.Green() {
		o.OnGreen(v)
		took := v.Took
		j.o.Race = o.Race || RaceDetector(ctx)
		if v, err = j.test(false, j.vetBeside(nil)); v.Green() {
			v.Took = took
		}
	}
	if !v.Green() {
		return v, err
	}
	vetted, err := j.vet()
	if err != nil {
		return Verdict{}, err
	}
	if v.Stopped = vetted.Stopped; vetted.Exit != 0 {
		v.Build, v.Vetted = compilerLines(vetted.Outside), true
	}
	return v, nil
}

// runnable returns why there can be no verdict on c, if so.
func runnable(root string, c course.Chapter, o Options) error {
	if _, err := Command(c, o); err != nil {
		return err
	}
	for flag := range strings.FieldsSeq(Flags()) {
		if name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "="); name == "run" || name == "skip" {
			return fmt.Errorf("test chapter %s: GOFLAGS has %s, which skips tests; to remove it: "+
				"unset GOFLAGS, or go env -u GOFLAGS", c.Dir, flag)
		}
	}
	if _, err := course.Code(filepath.Join(root, c.Dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("test chapter %s: %w", c.Dir, err) // the go command would wait for a named pipe
	}
	return nil
}

// job is one Run: its go commands, which share limits.
type job struct {
	ctx     context.Context
	root    string
	c       course.Chapter
	o       Options
	limits  gotest.Limits
	timeout time.Duration // of the tests

	// vet runs the checks of vet that go test asks for, once.
	vet     func() (gotest.Result, error)
	vetting sync.WaitGroup
}

func newJob(ctx context.Context, root string, c course.Chapter, o Options) *job {
	j := &job{ctx: ctx, root: root, c: c, o: o, limits: Limits, timeout: testTimeout}
	if o.Limit > 0 {
		j.limits.Time, j.timeout = o.Limit, o.Limit
	}
	j.vet = sync.OnceValues(func() (gotest.Result, error) {
		return j.run(false, nil, slices.Concat([]string{"vet"}, vetOfGoTest, tags(o), []string{"./" + c.Dir})...)
	})
	return j
}

// run runs the go command.
func (j *job) run(brief bool, onTest func(gotest.Test), args ...string) (gotest.Result, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = j.root, environment(brief)
	res, err := gotest.RunLimited(j.ctx, cmd, j.limits, onTest)
	if err != nil {
		return res, fmt.Errorf("test chapter %s: %w", j.c.Dir, err)
	}
	return res, nil
}

// test runs the tests and judges them.
func (j *job) test(brief bool, onTest func(gotest.Test)) (Verdict, error) {
	shown, err := Command(j.c, j.o)
	if err != nil {
		return Verdict{}, err
	}
	flags := []string{"test", "-json", "-vet=off", "-ldflags=-w -s", fmt.Sprintf("-timeout=%v", j.timeout)}
	res, err := j.run(brief, onTest, append(flags, shown[2:]...)...)
	if err != nil {
		return Verdict{}, err
	}
	v := Judge(j.c, j.o, res)
	v.Command = strings.Join(shown, " ")
	dir := filepath.Join(j.root, j.c.Dir)
	v.Holes = holes(dir)
	v.markUntouched(dir, filepath.Join(j.root, j.c.Solution()))
	return v, nil
}

// vetBeside returns onTest, which may be nil, and starts vet when the first test begins: vet takes as long as the tests
// of many chapters, and what does not compile is not for it. Before the end of Run, vetting has to end.
func (j *job) vetBeside(onTest func(gotest.Test)) func(gotest.Test) {
	var begun sync.Once
	return func(t gotest.Test) {
		begun.Do(func() { j.vetting.Go(func() { _, _ = j.vet() }) })
		if onTest != nil {
			onTest(t)
		}
	}
}

// Flags returns GOFLAGS: of the environment, or as `go env -w` has stored it.
var Flags = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOFLAGS").Output() // without go, every command reports it
	return strings.TrimSpace(string(out))
})

// RaceDetector reports whether -race works on this machine: it needs cgo and a C compiler.
func RaceDetector(ctx context.Context) bool {
	out, _ := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED", "CC").Output()
	fields := strings.Fields(string(out)) // none after an error
	if len(fields) < 2 || fields[0] != "1" {
		return false
	}
	_, err := exec.LookPath(fields[1])
	return err == nil
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
