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
	for _, t := range r.Tests {
		if t.Name == name {
			return t, true
		}
	}
	return Test{}, false
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

// read collects the events in what go test -json prints. It calls onTest with each test when it begins (then it is
// Running), when it tells where it is, and when it has ended, and onEvent with the action of each event.
func read(stdout io.Reader, onTest func(Test), onEvent func(action string)) (Result, error) {
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
	r := Result{Outside: c.outside.String(), Began: c.began, Early: c.began && !c.ended}
	for _, t := range c.order {
		r.Tests = append(r.Tests, t.end())
	}
	return r, err
}

// event is a line of go test -json.
type event struct {
	Action                   string
	Test, Output, Key, Value string
	Elapsed                  float64 // seconds
}

// collector sorts events by top-level test.
type collector struct {
	tests   map[string]*running
	order   []*running
	outside clipped
	onTest  func(Test)
	onEvent func(action string)
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

// line takes a line, which is an event, or what a program has printed past go test.
func (c *collector) line(line []byte) error {
	var e event
	if line = bytes.TrimRight(line, "\r\n"); json.Unmarshal(line, &e) != nil || e.Action == "" {
		c.outside.add(printable(string(line)) + "\n")
		return nil
	}
	c.began = c.began || e.Action == "start"
	c.onEvent(e.Action)
	e.Output = printable(e.Output)
	name, _, isSubtest := strings.Cut(e.Test, "/")
	if name == "" {
		c.ended = c.ended || e.Output == "PASS\n" || e.Output == "FAIL\n"
		c.outside.add(e.Output)
		return nil
	}
	c.ended = false
	t := c.tests[name]
	if t == nil {
		t = &running{Test: Test{Name: name, Status: Broken}, failures: map[string]*failure.Decoder{}}
		c.tests[name] = t
		c.order = append(c.order, t)
	}
	switch e.Action {
	case "output":
		t.print(e.Output)
	case "attr":
		return c.attribute(t, e)
	case "run", "pass", "fail", "skip":
		if !isSubtest {
			c.change(t, e)
		}
	}
	return nil
}

// print keeps what a test prints, without lines such as === RUN. A long line comes in several events, of which only the
// first has the mark.
func (r *running) print(text string) {
	if r.marked = r.marked || strings.HasPrefix(text, "=== "); !r.marked {
		r.output.add(text)
	}
	r.marked = r.marked && !strings.HasSuffix(text, "\n")
}

// change begins or ends a test. One that has failed stays so, whatever its other runs under -count bring.
func (c *collector) change(t *running, e event) {
	if t.Status != Failed {
		t.Status = map[string]Status{"run": Broken, "pass": Passed, "fail": Failed, "skip": Skipped}[e.Action]
	}
	t.Took += time.Duration(e.Elapsed * float64(time.Second))
	if e.Action == "run" {
		c.onTest(Test{Name: t.Name, Status: Running})
	} else {
		c.onTest(t.end())
	}
}

// attribute keeps the place that an attribute tells, or the failure that it completes.
func (c *collector) attribute(t *running, e event) error {
	if p, err := failure.PlaceOf(e.Key, e.Value); p != nil || err != nil {
		t.Place = p
		c.onTest(Test{Name: t.Name, Status: Running, Place: p})
		return err
	}
	if t.failures[e.Test] == nil {
		t.failures[e.Test] = &failure.Decoder{}
	}
	f, err := t.failures[e.Test].Add(e.Key, e.Value)
	if f != nil {
		f.Test = e.Test
		t.Failures = append(t.Failures, *f)
	}
	return err
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
