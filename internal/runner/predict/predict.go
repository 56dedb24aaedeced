// Package predict runs the programs whose output readers predict (course.Program): over the solution, over the wrong
// version that the program names, and over the learner's code.
//
//	Ask    what a program prints over the solution, over its wrong version, and over the learner's code
//	Start  what a program prints that is built already
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
	layers, err := layers(root, c, p, yours)
	if err != nil {
		return Answer{}, err
	}
	var outputs [3]Output
	var errs [3]error
	var all sync.WaitGroup
	for i, layer := range layers {
		all.Go(func() { outputs[i], errs[i] = run(ctx, root, p, layer) })
	}
	all.Wait()
	if broken, ok := errors.AsType[*buildError](errs[2]); ok {
		outputs[2].Lines = append([]string{"(it does not compile)"}, cut(broken.lines)...)
		errs[2] = nil
	}
	return Answer{Right: outputs[0], Wrong: outputs[1], Yours: outputs[2]}, errors.Join(errs[:]...)
}

// layers returns the solution, the wrong version that the program names, and with yours the learner's code, for the
// folder of the solution.
func layers(root string, c course.Chapter, p course.Program, yours bool) ([]overlay.Layer, error) {
	dir := filepath.Join(root, c.Solution())
	right, err := overlay.ReadDir(filepath.ToSlash(c.Solution()), "solution", dir)
	if err != nil {
		return nil, err
	}
	all, err := bugs.Load(dir)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(b bugs.Bug) bool { return b.Name == p.Wrong })
	if i < 0 {
		return nil, fmt.Errorf("%s: %s has no wrong version %q", p.Dir, c.Dir, p.Wrong)
	}
	wrong, err := all[i].Apply(right)
	if err != nil || !yours {
		return []overlay.Layer{right, wrong}, err
	}
	mine, err := overlay.ReadDir(right.Chapter, "code in "+c.Dir, filepath.Join(root, c.Dir))
	return []overlay.Layer{right, wrong, mine}, err
}

// run builds a program over a layer in a temporary folder, runs it and removes it.
func run(ctx context.Context, root string, p course.Program, layer overlay.Layer) (Output, error) {
	folder, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "predict")
	if err != nil {
		return Output{}, fmt.Errorf("build %s: %w", p.Dir, err)
	}
	defer os.RemoveAll(folder)
	o, err := overlay.Write(root, layer)
	if err != nil {
		return Output{}, err
	}
	built := filepath.Join(folder, "predict.exe") // Windows needs the suffix
	// Linking takes most of the time, and less without what only a debugger needs.
	cmd, err := o.Go(ctx, "build", "-ldflags=-w -s", "-o", built, "./"+p.Dir)
	if err != nil {
		return Output{}, err
	}
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return Output{}, ctx.Err()
	case err != nil:
		what := fmt.Sprintf("build %s over the %s", p.Dir, layer.Name)
		return Output{}, &buildError{what, compilerLines(string(out))}
	}
	all, err := Start(ctx, built, 1)
	if err != nil {
		return Output{}, err
	}
	return all[0], nil
}

// Start runs a built program several times in its folder, within Limits. Env is added to its environment. A run that
// was stopped is not repeated: its output counts for the runs after it.
func Start(ctx context.Context, built string, times int, env ...string) (all []Output, err error) {
	for n := range times {
		if n > 0 && all[n-1].Stopped {
			all = append(all, all[n-1])
			continue
		}
		cmd := exec.Command(built)
		cmd.Dir = filepath.Dir(built)
		// Only the first line of a dump is shown.
		cmd.Env = append(append(os.Environ(), "GOTRACEBACK=single"), env...)
		ran, err := gotest.RunProgram(ctx, cmd, Limits)
		if err != nil {
			return nil, err
		}
		all = append(all, outputOf(ran))
	}
	return all, nil
}

// buildError says that a program does not compile.
type buildError struct {
	what  string
	lines []string // what the compiler says, without the names of packages
}

func (e *buildError) Error() string { return e.what + ":\n" + strings.Join(e.lines, "\n") }

// compilerLines returns what the go command prints, without the names of packages and modules.
func compilerLines(text string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "go: downloading ") {
			lines = append(lines, strings.TrimPrefix(line, "./"))
		}
	}
	return lines
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
