// Package predict runs the programs whose output readers predict (course.Program): over the solution, over the wrong
// version that the program names, and over the learner's code.
//
//	Ask     what a program prints over the solution, over its wrong version, and over the learner's code
//	Repeat  the same, several times, without the learner's code
//	Start   what a program prints that is built already
//
// The programs import the solution's package. Package overlay puts the other versions into the solution's folder for
// one build; nothing is written there. Not here: how the outputs are shown.
package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

// Limits is what one run of a program may take.
var Limits = gotest.Limits{Time: 10 * time.Second, Output: 64 << 10, Memory: 1 << 30}

// MaxLines is how many lines of an output are shown.
const MaxLines = 12

// Answer is what a program prints.
type Answer struct {
	Right Output // over the solution
	Wrong Output // over the wrong version that the program names
	Yours Output // over the learner's code; if that does not compile, it says so
}

// Ask builds and runs a program over the solution, over the wrong version that it names, and with yours over the
// learner's code, all at the same time.
func Ask(ctx context.Context, root string, c course.Chapter, p course.Program, yours bool) (Answer, error) {
	var mine []Output
	var mineErr error
	var beside sync.WaitGroup
	if yours {
		beside.Go(func() { mine, mineErr = overYours(ctx, root, c, p) })
	}
	all, err := Repeat(ctx, root, c, p, 1)
	beside.Wait()
	if err = errors.Join(err, mineErr); err != nil {
		return Answer{}, err
	}
	if yours {
		all[0].Yours = mine[0]
	}
	return all[0], nil
}

// Repeat runs the built programs several times and returns an answer for each. A run that was stopped is not repeated:
// its output counts for the runs after it.
func Repeat(ctx context.Context, root string, c course.Chapter, p course.Program, times int) ([]Answer, error) {
	right, wrong, err := layers(root, c, p)
	if err != nil {
		return nil, err
	}
	var rights, wrongs []Output
	var rightErr, wrongErr error
	var both sync.WaitGroup
	both.Go(func() { rights, rightErr = run(ctx, root, p, right, times) })
	both.Go(func() { wrongs, wrongErr = run(ctx, root, p, wrong, times) })
	both.Wait()
	if err := errors.Join(rightErr, wrongErr); err != nil {
		return nil, err
	}
	all := make([]Answer, times)
	for i := range all {
		all[i] = Answer{Right: rights[i], Wrong: wrongs[i]}
	}
	return all, nil
}

// overYours builds and runs a program over the learner's code.
func overYours(ctx context.Context, root string, c course.Chapter, p course.Program) ([]Output, error) {
	layer, err := overlay.ReadDir(filepath.ToSlash(c.Solution()), "code in "+c.Dir, filepath.Join(root, c.Dir))
	if err != nil {
		return nil, err
	}
	all, err := run(ctx, root, p, layer, 1)
	if broken, ok := errors.AsType[*BuildError](err); ok && len(broken.Lines) > 0 {
		return []Output{{Lines: append([]string{"(it does not compile)"}, cut(broken.Lines)...)}}, nil
	}
	return all, err
}

// layers returns the solution and the wrong version that the program names, for the folder of the solution.
func layers(root string, c course.Chapter, p course.Program) (right, wrong overlay.Layer, err error) {
	dir := filepath.Join(root, c.Solution())
	right, err = overlay.ReadDir(filepath.ToSlash(c.Solution()), "solution", dir)
	if err != nil {
		return right, wrong, err
	}
	all, err := bugs.Load(dir)
	if err != nil {
		return right, wrong, err
	}
	i := slices.IndexFunc(all, func(b bugs.Bug) bool { return b.Name == p.Wrong })
	if i < 0 {
		return right, wrong, fmt.Errorf("%s: %s has no wrong version %q", p.Dir, c.Dir, p.Wrong)
	}
	wrong, err = all[i].Apply(right)
	return right, wrong, err
}

// run builds a program over a layer in a temporary folder, runs it several times and removes it.
func run(ctx context.Context, root string, p course.Program, layer overlay.Layer, times int) (all []Output, err error) {
	folder, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "predict")
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", p.Dir, err)
	}
	defer os.RemoveAll(folder)
	built := filepath.Join(folder, "predict.exe") // Windows needs the suffix
	if err := build(ctx, root, p, layer, built); err != nil {
		return nil, err
	}
	return Start(ctx, built, times)
}

// Start runs a built program several times in its folder, within Limits. Env is added to its environment.
func Start(ctx context.Context, built string, times int, env ...string) (all []Output, err error) {
	for len(all) < times {
		if n := len(all); n > 0 && all[n-1].Stopped {
			all = append(all, all[n-1])
			continue
		}
		out, err := start(ctx, built, env)
		if err != nil {
			return nil, err
		}
		all = append(all, out)
	}
	return all, nil
}

// BuildError says that a program does not compile over a layer.
type BuildError struct {
	Program, Layer string
	Lines          []string // what the compiler says, without the names of packages
}

// Error returns all that the compiler says.
func (e *BuildError) Error() string {
	return fmt.Sprintf("build %s over the %s:\n%s", e.Program, e.Layer, strings.Join(e.Lines, "\n"))
}

// build builds p over a layer of the folder of the solution.
func build(ctx context.Context, root string, p course.Program, layer overlay.Layer, to string) error {
	o, err := overlay.Write(root, layer)
	if err != nil {
		return err
	}
	// Linking takes most of the time, and less without what only a debugger needs.
	cmd, err := o.Go(ctx, "build", "-ldflags=-w -s", "-o", to, "./"+p.Dir)
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &BuildError{p.Dir, layer.Name, compilerLines(string(out))}
	}
	return nil
}

// compilerLines returns what the go command prints, without the names of packages and modules.
func compilerLines(text string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "go: downloading ") {
			lines = append(lines, strings.TrimPrefix(line, "./"))
		}
	}
	return lines
}

func start(ctx context.Context, built string, env []string) (Output, error) {
	cmd := exec.Command(built)
	cmd.Dir = filepath.Dir(built)
	cmd.Env = append(append(os.Environ(), "GOTRACEBACK=single"), env...) // only the first line of a dump is shown
	ran, err := gotest.RunProgram(ctx, cmd, Limits)
	if err != nil {
		return Output{}, err
	}
	return outputOf(ran), nil
}

// Output is what one run printed, standard output and standard error, and how it ended.
type Output struct {
	Lines   []string // at most MaxLines; a note in parentheses says how the run ended, unless it ended well
	Stopped bool     // it exceeded a limit
	Exit    int
}

// Text returns the lines as one text, without a newline at its end.
func (o Output) Text() string { return strings.Join(o.Lines, "\n") }

var (
	// dump is the first line of a panic or of another end by the runtime; goroutines and their stacks follow.
	dump = regexp.MustCompile(`(?m)^(?:panic|fatal error): .*$`)
	// logHeader is what klog writes before a message: it differs at each run.
	logHeader = regexp.MustCompile(`(?m)^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (\S+\.go:\d+\] )`)
)

// outputOf returns what is shown of a run: a dump in its first line, log messages without the time.
func outputOf(ran gotest.Program) Output {
	o := Output{Stopped: ran.Stopped != "", Exit: ran.Exit}
	text := logHeader.ReplaceAllString(ran.Output, "$1")
	at := dump.FindStringIndex(text)
	if at != nil {
		text = text[:at[1]]
	}
	if text = strings.TrimRight(text, " \t\r\n"); text != "" {
		for line := range strings.SplitSeq(text, "\n") {
			o.Lines = append(o.Lines, strings.TrimRight(line, " \t\r"))
		}
	}
	o.Lines = cut(o.Lines)
	switch {
	case o.Stopped && ran.Took >= Limits.Time:
		o.Lines = append(o.Lines, fmt.Sprintf("(it never ended, and was stopped after %v)", Limits.Time))
	case o.Stopped:
		o.Lines = append(o.Lines, fmt.Sprintf("(it was stopped: %s)", ran.Stopped))
	case ran.Exit != 0 && at == nil: // a dump says it by itself
		o.Lines = append(o.Lines, fmt.Sprintf("(exit code %d)", ran.Exit))
	case len(o.Lines) == 0:
		o.Lines = []string{"(nothing)"}
	}
	return o
}

// Compare returns what a reader has predicted beside what a program has printed, line by line, and reports whether
// they are the same. Space does not count.
func Compare(predicted, printed []string) (lines []string, same bool) {
	same = true
	for i := range max(len(predicted), len(printed)) {
		var guess, actual string
		if i < len(predicted) {
			guess = strings.Join(strings.Fields(predicted[i]), " ")
		}
		if i < len(printed) {
			actual = strings.Join(strings.Fields(printed[i]), " ")
		}
		if guess == actual {
			lines = append(lines, "✓ "+actual)
			continue
		}
		same = false
		lines = append(lines, "✗ you: "+cmp.Or(guess, "(nothing)"), "  it:  "+cmp.Or(actual, "(nothing)"))
	}
	return lines, same
}

// cut returns the first lines, with the number of the others.
func cut(lines []string) []string {
	if len(lines) <= MaxLines {
		return lines
	}
	return append(lines[:MaxLines-1:MaxLines-1], fmt.Sprintf("… %d more lines", len(lines)-MaxLines+1))
}
