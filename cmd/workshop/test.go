package main

// This file is `workshop test`: it runs a chapter's tests, stores the result, and prints the failure to look at first.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui/meter"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace"
	"client-go-workshop/internal/workspace/progress"
)

func newTest() *cobra.Command {
	var o runner.Options
	var all, asJSON bool
	cmd := chapterCommand("test [chapter[/task]]", "Run a chapter's or task's tests, show the failure to look at first",
		`Run a chapter's tests, and show the failure to look at first. Without an
argument it runs those of the current chapter.

    go tool workshop test 05        the whole chapter
    go tool workshop test 05/2      its second task
    go tool workshop test 07 --on solutions,reflector=yours

It runs the same go test that the chapter's text shows. It exits with 1 if a test
fails; bonus tests do not count. During a long test, the terminal shows where the
test is. Ctrl-C ends the run, and the verdict says where the test was.`,
		func(a *app, c progress.Chapter, task course.Task) ([]string, error) {
			if a.named {
				o.Task = task
			}
			o.Stop = a.ctx.Done() // Ctrl-C: the verdict says where the run was
			v, err := a.test(context.WithoutCancel(a.ctx), a.errOut, c.Chapter, o)
			switch {
			case err != nil:
				return nil, err
			case v.Stopped == runner.EndedByUser:
				err = exitCode(130)
			case !v.Green():
				err = exitCode(1)
			}
			if asJSON {
				return nil, cmp.Or(a.printReports(v), err)
			}
			return a.verdictLines(v, all), err
		})
	cmd.Flags().BoolVar(&o.Race, "race", false, "with the race detector (needs a C compiler)")
	cmd.Flags().StringVar(&o.On, "on", "",
		"the layers below chapter 07 or a lab: solutions, client-go, yours, or a mixture such as solutions,reflector=yours")
	cmd.Flags().DurationVar(&o.Limit, "timeout", 0, "stop everything after this time, compiling included (0 is 5m)")
	cmd.Flags().BoolVar(&all, "all", false, "show every failure, not only the first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every failure as a JSON object in one line, for programs")
	return cmd
}

// test runs tests and stores their result. It does not store results over other layers below, nor results of files that
// were saved during the run.
func (a *app) test(ctx context.Context, errOut io.Writer, c course.Chapter, o runner.Options) (runner.Verdict, error) {
	a.reporter.begin(a.ctx)
	before, err := progress.Content(a.root, c)
	if err != nil {
		return runner.Verdict{}, err
	}
	m := meter.New(errOut, a.width())
	defer m.Clear()
	if o.Race && o.OnCompile == nil {
		o.OnCompile = func(done, all int) {
			if m.At("packages are compiled for the race detector", done, all); done == all {
				m.Clear()
			}
		}
	}
	if n := 0; o.OnTest == nil && isTerminal(errOut) {
		o.OnTest = func(t gotest.Test) {
			at := ""
			if t.Status != gotest.Running {
				n++
			} else if t.Place != nil {
				at = fmt.Sprintf(" is still running: %s (Ctrl-C ends it)", t.Place)
			}
			m.At(fmt.Sprintf("%d tests: %s%s", n, t.Name, at), 0, 0)
		}
	}
	v, err := runner.Run(ctx, a.root, c, o)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return v, err
	}
	after, err := progress.Content(a.root, c)
	if err == nil && before == after && o.On == "" && o.Only == "" && len(v.Build) == 0 && v.Stopped == "" {
		err = a.store(&v, o, before)
	} else {
		err = cmp.Or(err, a.move(&v, o))
	}
	if err != nil {
		fmt.Fprintln(errOut, "workshop:", err)
	}
	a.reporter.judged(v)
	return v, nil
}

// store stores a verdict on files whose Content is content, and the place: the task to work at. It notes in v which
// tasks were ever green.
func (a *app) store(v *runner.Verdict, o runner.Options, content string) error {
	return progress.Update(a.root, func(f *progress.File) {
		f.Record(*v, content)
		noteGreen(v, *f)
		task, open := v.First(o.Task.Number)
		if !open {
			task = v.Tasks[0] // it has passed, so the place is behind it
		}
		f.At = task.ID
	})
}

// move stores that the learner works at another chapter than before, although its tests came to no result.
func (a *app) move(v *runner.Verdict, o runner.Options) error {
	f, _ := progress.Load(a.root) // an empty one if it is broken, which was reported at the start
	noteGreen(v, f)
	c, err := progress.Read(a.root, v.Chapter, f)
	if err != nil || f.At == "" || o.On+o.Only != "" || c.Has(f.At) {
		return err
	}
	next, _ := c.Next()
	return progress.Update(a.root, func(f *progress.File) { f.At = cmp.Or(o.Task.ID, next.ID) })
}

// noteGreen notes in v which tasks were ever green.
func noteGreen(v *runner.Verdict, f progress.File) {
	for i, t := range v.Tasks {
		v.Tasks[i].Green = f.WasGreen(t.Task)
	}
}

// verdictLines returns the text of a verdict: with all every failure, otherwise the first.
func (a *app) verdictLines(v runner.Verdict, all bool) []string {
	out := []string{style.Faint("$ " + v.Command)}
	for _, note := range a.folderNotes(v.Chapter) {
		out = append(out, style.Warn(note))
	}
	if len(v.Build) > 0 {
		return append(out, style.Build(v, a.width(), 0)...)
	}
	for _, t := range v.Tasks {
		out = append(out, fmt.Sprintf("%s %d  %s %s", style.Mark(t.State), t.Number, padded(t.Title, 56),
			style.Faint(t.Result())))
	}
	if v.Stopped != "" {
		out = append(out, "", style.Stopped(v))
	}
	var failures []failure.Failure
	task, open := v.First(0)
	f, fails := task.Matters()
	atTheStop, stopped := v.AtTheStop()
	switch {
	case stopped:
		failures = append(failures, atTheStop)
	case all:
		for _, t := range v.Tasks {
			failures = append(failures, t.Failures()...)
		}
	case !open:
		good, next := style.Good("Every test passes."), a.next()
		_, chapters := a.now()
		i := slices.IndexFunc(chapters, func(c progress.Chapter) bool { return c.Dir == v.Chapter.Dir })
		if i >= 0 && len(v.Tasks) == len(v.Chapter.Tasks) {
			next = a.nextAfter(chapters[i])
			good += " What to take away: go tool workshop solution " + v.Chapter.Dir
		}
		return append(append(out, "", good), next...)
	case fails:
		failures = append(failures, f)
	case v.Crash != "":
		return append(append(out, ""), style.Crash(v, a.width())...)
	}
	for _, f := range failures {
		out = append(append(out, ""), style.Failure(runner.FromRoot(a.root, v.Chapter, f), a.width(), 0)...)
	}
	return out
}

// printReports prints each problem of a verdict as a JSON object in one line.
func (a *app) printReports(v runner.Verdict) error {
	for _, note := range a.folderNotes(v.Chapter) {
		a.warn(errors.New(note))
	}
	encoder := json.NewEncoder(a.out)
	for _, r := range v.Reports(a.root) {
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("print JSON: %w", err)
		}
	}
	return nil
}

// folderNotes returns notes about files of a chapter's folder that explain failures which are hard to understand.
func (a *app) folderNotes(c course.Chapter) (out []string) {
	out = a.reporter.notes()
	if edited, err := workspace.EditedTests(a.root, c); err == nil && len(edited) > 0 {
		out = append(out, fmt.Sprintf("Edited: %s. To restore the tests: go tool workshop reset --tests %s",
			strings.Join(edited, ", "), c.Dir))
	}
	missing, misnamed := workspace.BrokenFiles(a.root, c)
	if len(missing) > 0 {
		out = append(out, fmt.Sprintf("Missing: %s. To restore only the stub: go tool workshop reset --missing %s",
			strings.Join(missing, ", "), c.Dir))
	}
	for _, name := range misnamed {
		out = append(out, fmt.Sprintf("%s does not begin with \"package %s\", which the tests import", name, c.Package()))
	}
	return out
}
