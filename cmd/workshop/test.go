package main

// This file is `workshop test`: it runs a chapter's tests, stores the result, and prints the failure to look at first.

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace"
	"client-go-workshop/internal/workspace/progress"
)

func newTest() *cobra.Command {
	var o runner.Options
	var all bool
	cmd := chapterCommand("test [chapter[/task]]", "Run a chapter's tests, and show the failure to look at first",
		`Run a chapter's tests, and show the failure to look at first. Without an
argument it runs those of the current chapter.

    go tool workshop test 05        the whole chapter
    go tool workshop test 05/2      its second task
    go tool workshop test 07 --on solutions,reflector=yours

It runs the same go test that the chapter's text shows, and exits with 1 unless
every test passes, except for bonus tests.`,
		func(a *app, c progress.Chapter, task course.Task) ([]string, error) {
			if a.named {
				o.Task = task
			}
			v, err := a.test(a.ctx, a.errOut, c.Chapter, o)
			if err != nil {
				return nil, err
			}
			if !v.Green() {
				err = exitCode(1)
			}
			return a.verdictLines(v, all), err
		})
	cmd.Flags().BoolVar(&o.Race, "race", false, "with the race detector (needs a C compiler)")
	cmd.Flags().StringVar(&o.On, "on", "",
		"the layers below chapter 07: solutions, client-go, yours, or a mixture like solutions,reflector=yours")
	cmd.Flags().IntVar(&o.Count, "count", 0, "run each test so many times")
	cmd.Flags().DurationVar(&o.Limit, "timeout", 0, "stop everything after so long, compiling included (0 is 5m)")
	cmd.Flags().BoolVar(&all, "all", false, "show every failure, not only the first")
	return cmd
}

// test runs tests and stores their result. It does not store results over other layers below, nor results of files that
// were saved during the run.
func (a *app) test(ctx context.Context, errOut io.Writer, c course.Chapter, o runner.Options) (runner.Verdict, error) {
	before, err := progress.Content(a.root, c)
	if err != nil {
		return runner.Verdict{}, err
	}
	if o.OnTest == nil && isTerminal(errOut) {
		n := 0
		o.OnTest = func(t gotest.Test) {
			if t.Status != gotest.Running {
				n++
			}
			fmt.Fprintf(errOut, clearLine+"%d tests: %s", n, t.Name)
		}
		defer fmt.Fprint(errOut, clearLine)
	}
	v, err := runner.Run(ctx, a.root, c, o)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return v, err
	}
	after, err := progress.Content(a.root, c)
	if err == nil && before == after && o.On == "" && len(v.Build) == 0 && v.Stopped == "" {
		_, err = progress.Update(a.root, func(f *progress.File) {
			f.Record(v, before)
			if task, ok := v.First(o.Task.Number); ok {
				f.At = task.ID
			}
		})
	}
	if err != nil {
		fmt.Fprintln(errOut, "workshop:", err)
	}
	return v, nil
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
		passed, n := t.Count()
		out = append(out, fmt.Sprintf("%s %d  %s %s", style.Mark(t.State), t.Number, padded(t.Title, 56),
			style.Faint(fmt.Sprintf("%d/%d tests", passed, n))))
	}
	if v.Stopped != "" {
		out = append(out, "", style.Stopped(v))
	}
	var failures []failure.Failure
	task, open := v.First(0)
	f, fails := task.Matters()
	switch {
	case all:
		for _, t := range v.Tasks {
			failures = append(failures, t.Failures()...)
		}
	case !open:
		next := " What to take away: go tool workshop solution "
		if len(v.Tasks) < len(v.Chapter.Tasks) {
			next = " The whole chapter: go tool workshop test "
		}
		return append(out, "", style.Good("Every test passes.")+next+v.Chapter.Dir)
	case fails:
		failures = append(failures, f)
	case v.Crash != "":
		return append(append(out, ""), style.Crash(v, a.width())...)
	}
	for _, f := range failures {
		out = append(append(out, ""), style.Failure(f, a.width(), 0)...)
	}
	return out
}

// folderNotes returns notes about files of a chapter's folder that explain failures which are hard to understand.
func (a *app) folderNotes(c course.Chapter) (out []string) {
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
