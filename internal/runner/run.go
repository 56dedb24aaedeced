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
	"regexp"
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
	Race bool
	On   string      // which layers lie below: the -on of a chapter with Layers
	Task course.Task // only this one's tests; zero means all
	Only string      // only the test of this name; "" means all
	// Stop ends the run when it is closed; the verdict then says EndedByUser and where the run was. It may be nil.
	Stop   <-chan struct{}
	Limit  time.Duration     // how long all of it may take, compiling included; 0 is Limits.Time
	OnTest func(gotest.Test) // receives each test as it begins, tells where it is, and ends; may be nil
	// OnCompile receives how many packages are compiled for the race detector, and of how many, if that takes long. It may
	// be nil.
	OnCompile func(done, all int)
	// OnGreen may be nil. Otherwise the tests run briefly first (see env.Brief), those of the tasks up to UpTo before the
	// others. If every one of a run passes, OnGreen receives that verdict before the next run begins. In the last run the
	// tests are those of the chapter, in full, with the race detector if the machine has it, and with go vet. A bonus task
	// that fails prevents it only if it is UpTo.
	OnGreen func(Verdict)
	UpTo    int // the number of the task that the learner works at; 0 means the last one

	named string // a pattern of tests that run, and of bonus tasks that count as begun
	skip  string // a pattern of tests that do not run
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
	if o.named != "" {
		args = append(args, "-run", o.named)
	}
	if o.skip != "" {
		args = append(args, "-skip", o.skip)
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

// Without vet, go test begins the tests sooner. With it, vet runs beside the compiler and the linker, with the checks
// that go test chooses, whatever GOFLAGS says.
const (
	withoutVet = "-vet=off"
	withVet    = "-vet="
)

// Run runs the tests of c in the workshop at root. A verdict on failing tests, or on code that does not compile, is no
// error; an error means that there is no verdict. When ctx ends, the verdict says that it was stopped.
func Run(ctx context.Context, root string, c course.Chapter, o Options) (Verdict, error) {
	if err := runnable(root, c, o); err != nil {
		return Verdict{}, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	j := &job{ctx: ctx, root: root, c: c, o: o, limits: Limits, timeout: testTimeout}
	if o.Limit > 0 {
		j.limits.Time, j.timeout = o.Limit, o.Limit
	}
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
	if o.OnGreen == nil {
		return j.whole(o.OnTest)
	}
	brief, err := j.inOrder()
	if !brief.Green() || !brief.passed(o.UpTo) {
		return brief, err
	}
	o.OnGreen(brief)
	j.o.Race = o.Race || RaceDetector(ctx)
	v, err := j.whole(nil)
	if v.Green() {
		v.Took = brief.Took
	}
	return v, err
}

// LaterTime is how long the tests of later tasks may take. They run over code that is not finished, and a learner waits
// for the next failure, but for no more than this.
const LaterTime = 10 * time.Second

// inOrder runs the tests briefly: those of the tasks up to the learner's, and then the others. The others run only if
// the first ones pass, so they never hide a failure of the task at hand. What they had no time for is not run. A bonus
// that the learner is at counts as begun.
func (j *job) inOrder() (Verdict, error) {
	upTo, later := j.patterns()
	j.o.skip = later
	if t, ok := j.c.Task(j.o.UpTo); ok && t.Bonus {
		j.o.named = upTo
	}
	v, err := j.test(true, withoutVet, j.o.OnTest)
	j.o.named, j.o.skip = "", ""
	v.Command = j.command()
	if err != nil || later == "" || !v.greenUpTo(j.o.UpTo) {
		return v, err
	}
	j.o.OnGreen(v)
	limits, timeout := j.limits, j.timeout
	j.limits.Time, j.timeout = min(limits.Time, LaterTime), min(timeout, LaterTime)
	j.o.skip = upTo
	rest, err := j.test(true, withoutVet, nil)
	j.limits, j.timeout, j.o.skip = limits, timeout, ""
	v.Tasks = slices.Clone(v.Tasks) // the caller shows those that it has received
	for i, t := range rest.Tasks {
		if t.Number > j.o.UpTo {
			v.Tasks[i] = t
		}
	}
	v.Crash, v.Took, v.Cut = rest.Crash, v.Took+rest.Took, rest.Stopped != ""
	return v, err
}

// patterns returns what selects the tests of the tasks up to the learner's, and those of the later ones, if there are
// any.
func (j *job) patterns() (upTo, later string) {
	if j.o.UpTo < 1 || j.o.Task.Number > 0 {
		return "", ""
	}
	var all [2][]string
	for _, t := range j.c.Tasks {
		after := 0
		if t.Number > j.o.UpTo {
			after = 1
		}
		all[after] = append(all[after], strings.TrimSuffix(t.Pattern(), "_")+"_")
	}
	return strings.Join(all[0], "|"), strings.Join(all[1], "|")
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
}

// whole runs the tests and vet, whose findings count once every test passes. While a function is not written, not every
// test of the chapter does, so vet waits for the tests: the first time, it reads all of client-go.
func (j *job) whole(onTest func(gotest.Test)) (Verdict, error) {
	if len(todos(filepath.Join(j.root, j.c.Dir))) > 0 {
		v, err := j.test(false, withoutVet, onTest)
		if !v.Green() {
			return v, err
		}
		j.o.Only = "-" // no test has this name
		found, err := j.run(false, withVet, nil)
		v.Stopped = found.Stopped
		return v.vetted(found), err
	}
	found, err := j.run(false, withVet, onTest)
	if err != nil || !found.BuildFailed() {
		return j.judge(found), err
	}
	v, err := j.test(false, withoutVet, onTest) // was it vet, or the compiler?
	return v.vetted(found), err
}

// vetted returns v with what a run with vet has found, if nothing else is wrong.
func (v Verdict) vetted(found gotest.Result) Verdict {
	if v.Green() && found.BuildFailed() {
		v.Build, v.Vetted = compilerLines(found.Outside), true
	}
	return v
}

// test runs the tests, with or without vet, and judges them.
func (j *job) test(brief bool, vet string, onTest func(gotest.Test)) (Verdict, error) {
	res, err := j.run(brief, vet, onTest)
	if err != nil {
		return Verdict{}, err
	}
	return j.judge(res), nil
}

// run runs the tests, with or without vet.
func (j *job) run(brief bool, vet string, onTest func(gotest.Test)) (gotest.Result, error) {
	shown, err := Command(j.c, j.o)
	if err != nil {
		return gotest.Result{}, err
	}
	flags := []string{"test", "-json", vet, "-ldflags=-w -s", fmt.Sprintf("-timeout=%v", j.timeout)}
	cmd := exec.Command("go", append(flags, shown[2:]...)...)
	cmd.Dir, cmd.Env = j.root, environment(brief)
	res, err := gotest.RunLimited(j.ctx, cmd, j.limits, onTest)
	if err != nil {
		return res, fmt.Errorf("test chapter %s: %w", j.c.Dir, err)
	}
	return res, nil
}

// judge says what a run of the tests came to.
func (j *job) judge(res gotest.Result) Verdict {
	dir := filepath.Join(j.root, j.c.Dir)
	if res.Began && res.Exit == 0 && len(res.Tests) > 0 {
		j.addMissing(&res, dir)
	}
	v := Judge(j.c, j.o, res)
	v.Command = j.command()
	v.Todos = todos(dir)
	v.markUntouched(dir, filepath.Join(j.root, j.c.Solution()))
	return v
}

// addMissing adds the tests in dir that should have run and did not, as broken ones.
func (j *job) addMissing(res *gotest.Result, dir string) {
	for _, name := range testNames(dir, strings.Fields(strings.Join(tags(j.o), " "))) {
		runs := (j.o.Only == "" || j.o.Only == name) && (j.o.skip == "" || !regexp.MustCompile(j.o.skip).MatchString(name)) &&
			(j.o.Task.Number == 0 || regexp.MustCompile(j.o.Task.Pattern()).MatchString(name))
		if _, ran := res.Test(name); runs && !ran {
			res.Tests = append(res.Tests, gotest.Test{Name: name, Status: gotest.Broken})
			res.Early = true
		}
	}
}

// command returns the command of the run, as one would type it.
func (j *job) command() string {
	shown, _ := Command(j.c, j.o) // it has run
	return strings.Join(shown, " ")
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
