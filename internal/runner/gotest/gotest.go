// Package gotest runs one `go test -json` and says what became of each test.
//
// It reads the events that `go doc test2json` describes, and sorts them by test. It leaves out what to test and with
// which code under it: see package overlay.
package gotest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"client-go-workshop/internal/testkit/failure"
)

// Result is what one run of `go test` came to.
type Result struct {
	Tests []Test // top-level tests, in the order in which they started
	// Outside is what was printed outside of any test: compile errors, the dump of a crash, the final line.
	Outside string
	Began   bool // the test binary was built and started
	Exit    int  // the exit code of the command, -1 if it was stopped
	Early   bool // the test binary ended with exit code 0, without the line that package testing prints at the end
	Took    time.Duration
	// Stopped says why RunLimited stopped the command: "it ran for 1m30s". Empty if the command ended by itself.
	Stopped string
}

// Test is what became of one top-level test.
type Test struct {
	Name   string
	Status Status
	Took   time.Duration // how long it ran; 0 if it has no end
	// Failures are those that it and its subtests reported as data (package failure), in order.
	Failures []failure.Failure
	// Output is what it and its subtests printed besides, without lines such as === RUN; of very much, both ends.
	Output string
	// Place is where it was when it last told, which a test does that takes longer than two seconds; nil before.
	Place *failure.Place
}

// Status is how a test ended. A test that began and has no end is Broken: the test binary died with it. Running is for
// who watches a run: no Result has it.
type Status string

const (
	Running Status = "running"
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Broken  Status = "broken"
)

// Test finds a test by its name; found reports whether it ran at all.
func (r Result) Test(name string) (test Test, found bool) {
	i := slices.IndexFunc(r.Tests, func(t Test) bool { return t.Name == name })
	if i < 0 {
		return Test{}, false
	}
	return r.Tests[i], true
}

// Crashed reports whether a panic, or the runtime, ended the test binary while this test ran.
func (t Test) Crashed() bool { return t.Status == Broken || crash.MatchString(t.Output) }

// crash is how such a dump begins: at the start of a line, where no test's own output begins.
var crash = regexp.MustCompile(`(?m)^(panic: |fatal error: )`)

// Todo returns what the test needs and is not written yet, nil if that is not why it failed.
func (t Test) Todo() *failure.Todo {
	for _, f := range t.Failures {
		if f.Todo != nil {
			return f.Todo
		}
	}
	return nil
}

// Text returns the failures of the test and everything else that it printed, for people.
func (t Test) Text() string {
	var b strings.Builder
	for _, f := range t.Failures {
		b.WriteString(f.String())
	}
	return b.String() + t.Output
}

// BuildFailed reports whether there was nothing to run because the code does not compile.
func (r Result) BuildFailed() bool {
	return strings.Contains(r.Outside, "[build failed]") || strings.Contains(r.Outside, "[setup failed]")
}

// Run runs cmd, a `go test -json`, without limits. Failing tests are a result, not an error. An error means that the
// command could not be run, that its output cannot be read, or that ctx has ended.
func Run(ctx context.Context, cmd *exec.Cmd) (Result, error) {
	r, err := RunLimited(ctx, cmd, Limits{}, nil)
	if err == nil && r.Stopped != "" {
		err = fmt.Errorf("run %s: %s", cmd, r.Stopped)
	}
	return r, err
}

// read collects the events in what go test -json prints. onTest, unless it is nil, receives each test when it begins
// (then it is Running), when it tells where it is, and when it has ended. onEvent, unless it is nil, receives the
// action of each event.
func read(stdout io.Reader, onTest func(Test), onEvent func(action)) (Result, error) {
	c := collector{tests: map[string]*running{}, onTest: onTest, onEvent: onEvent}
	lines := bufio.NewReader(stdout)
	var err error
	for err == nil {
		var line []byte
		if line, err = lines.ReadBytes('\n'); len(line) > 0 {
			err = cmp.Or(c.line(line), err)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	r := Result{Outside: c.outside.String(), Began: c.began}
	for _, t := range c.order {
		r.Tests = append(r.Tests, t.end())
	}
	r.Early = r.Began && !c.ended
	return r, err
}

// event is a line of go test -json.
type event struct {
	Action                   action
	Test, Output, Key, Value string
	Elapsed                  float64 // seconds
}

type action string

const (
	actionStart  action = "start" // the test binary starts
	actionRun    action = "run"
	actionOutput action = "output"
	actionAttr   action = "attr"
	actionPass   action = "pass"
	actionFail   action = "fail"
	actionSkip   action = "skip"
)

// collector sorts events by top-level test.
type collector struct {
	tests   map[string]*running
	order   []*running
	outside clipped
	onTest  func(Test)
	onEvent func(action)
	began   bool
	ended   bool // package testing printed PASS or FAIL after the last test
}

// running is a test whose output may still grow.
type running struct {
	Test
	output   clipped
	marked   bool                        // whether the output is in a line such as === ATTR
	failures map[string]*failure.Decoder // by the name of the test or subtest
}

func (r *running) end() Test {
	r.Output = r.output.String()
	return r.Test
}

// statuses is the status of a test after an event.
var statuses = map[action]Status{actionRun: Broken, actionPass: Passed, actionFail: Failed, actionSkip: Skipped}

// line takes a line, which is an event, or what a program has printed past go test.
func (c *collector) line(line []byte) error {
	var e event
	if line = bytes.TrimRight(line, "\r\n"); json.Unmarshal(line, &e) != nil || e.Action == "" {
		fmt.Fprintln(&c.outside, printable(string(line)))
		return nil
	}
	return c.event(e)
}

// event takes one event.
func (c *collector) event(e event) error {
	c.began = c.began || e.Action == actionStart
	e.Output = printable(e.Output)
	if c.onEvent != nil {
		c.onEvent(e.Action)
	}
	name, _, isSubtest := strings.Cut(e.Test, "/")
	if name == "" {
		c.ended = c.ended || e.Output == "PASS\n" || e.Output == "FAIL\n"
		fmt.Fprint(&c.outside, e.Output)
		return nil
	}
	c.ended = false
	t := c.tests[name]
	if t == nil {
		t = &running{Test: Test{Name: name, Status: Broken}, failures: map[string]*failure.Decoder{}}
		c.tests[name] = t
		c.order = append(c.order, t)
	}
	status, changes := statuses[e.Action]
	switch {
	case e.Action == actionOutput:
		// A long line comes in several events, of which only the first has the mark.
		if t.marked = t.marked || strings.HasPrefix(e.Output, "=== "); !t.marked {
			fmt.Fprint(&t.output, e.Output)
		}
		t.marked = t.marked && !strings.HasSuffix(e.Output, "\n")
	case e.Action == actionAttr:
		told, err := t.attribute(e)
		if told && c.onTest != nil {
			c.onTest(Test{Name: t.Name, Status: Running, Place: t.Place})
		}
		return err
	case !changes, isSubtest:
	default:
		if t.Status != Failed { // under -count it stays so, whatever the other times bring
			t.Status = status
		}
		t.Took += time.Duration(e.Elapsed * float64(time.Second))
		c.notify(e.Action, t)
	}
	return nil
}

// notify passes on a test that begins or has ended.
func (c *collector) notify(a action, t *running) {
	switch {
	case c.onTest == nil:
	case a == actionRun:
		c.onTest(Test{Name: t.Name, Status: Running})
	default:
		c.onTest(t.end())
	}
}

// attribute keeps the failure that an attribute completes, if it does, and the place that one tells. told reports
// whether it was a place.
func (r *running) attribute(e event) (told bool, err error) {
	if p, err := failure.PlaceOf(e.Key, e.Value); p != nil || err != nil {
		r.Place = p
		return err == nil, err
	}
	if r.failures[e.Test] == nil {
		r.failures[e.Test] = &failure.Decoder{}
	}
	f, err := r.failures[e.Test].Add(e.Key, e.Value)
	if f != nil {
		f.Test = e.Test
		r.Failures = append(r.Failures, *f)
	}
	return false, err
}

// printable returns a text without escape sequences and control characters, which could change the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, ansi.Strip(text))
}
