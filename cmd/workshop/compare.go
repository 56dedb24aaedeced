package main

// This file is `workshop compare`: the learner's chapter, the solution and client-go, by lines and by benchmarks.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/compare"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newCompare() *cobra.Command {
	count, bench, benchtime := 6, ".", 100*time.Millisecond
	var linesOnly bool
	cmd := chapterCommand("compare [chapter]", "Compare your code, the solution and client-go: lines, speed, allocations",
		`Compare your code, the solution and client-go: lines of code, without those of bonus
tasks, and the medians of the chapter's benchmarks, all run in one process. A figure
has a factor if it differs from client-go's by more than chance (p < 0.05); 2.0x is
twice as fast, or half the memory. To quote figures, close all other programs and
use --count 10 --benchtime 1s.`,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			c = a.finished(c)
			if err := a.compareLines(c); err != nil || linesOnly {
				return nil, err
			}
			rows, err := a.benchmarks("test", "./"+c.Dir, "-run", "^$", "-bench", bench, "-benchmem",
				fmt.Sprintf("-count=%d", count), fmt.Sprintf("-benchtime=%v", benchtime))
			if err == nil && len(rows) == 0 {
				err = fmt.Errorf("no benchmark of %s matches %q", c.Dir, bench)
			}
			return benchmarkRows(rows), err
		})
	cmd.Flags().IntVar(&count, "count", count, "runs of each benchmark; with fewer than 5 every difference may be chance")
	cmd.Flags().StringVar(&bench, "bench", bench, "the benchmarks to run, as go test's -bench")
	cmd.Flags().DurationVar(&benchtime, "benchtime", benchtime, "the duration of one run")
	cmd.Flags().BoolVar(&linesOnly, "lines", false, "count lines only")
	return cmd
}

func (a *app) compareLines(c progress.Chapter) error {
	bonus, err := compare.BonusFiles(a.root, c.Chapter)
	if err != nil {
		return err
	}
	yours, err := compare.DirLines(filepath.Join(a.root, c.Dir), bonus)
	if err != nil {
		return err
	}
	solution, err := compare.DirLines(filepath.Join(a.root, c.Solution()), bonus)
	if err != nil {
		return err
	}
	theirs, err := compare.ClientGoLines(a.root, filepath.Join(a.root, c.Oracle(), compare.List))
	if err != nil {
		return err
	}
	return a.print(
		compareRow(style.Strong(c.Dir), "yours", "solution", "client-go"),
		compareRow("lines of code", fmt.Sprint(yours), fmt.Sprint(solution), fmt.Sprint(theirs)))
}

func compareRow(name string, cells ...string) string {
	line := padded(name, 46)
	for _, cell := range cells {
		line += " " + padded(cell, 17)
	}
	return strings.TrimRight(line, " ")
}

func benchmarkRows(rows []compare.Row) (out []string) {
	factors := false
	for _, row := range rows {
		var cells []string
		for _, c := range row.Cells {
			text, factor := c.Text, fmt.Sprintf(" %.1fx", c.Ratio)
			switch {
			case text == "":
				text = style.Faint("not written")
			case c.Ratio > 1:
				text += style.Good(factor)
			case c.Ratio > 0:
				text += style.Bad(factor)
			}
			cells = append(cells, text)
			factors = factors || c.Ratio > 0
		}
		out = append(out, compareRow(row.Name+" "+style.Faint(row.Unit), cells...))
	}
	if factors {
		out = append(out, "", style.Faint("2.0x is twice as fast as client-go, or half the memory. "+
			"Without a factor, the difference may be chance."))
	}
	return out
}

// benchmarks runs a go command and reads its output. On a terminal it prints a dot for each line.
func (a *app) benchmarks(args ...string) ([]compare.Row, error) {
	fmt.Fprintln(a.errOut, "\n$ go "+strings.Join(args, " "))
	run := overlay.GoCommand(a.ctx, args...)
	run.Dir = a.root
	var text bytes.Buffer
	run.Stdout = &text
	if isTerminal(a.errOut) {
		run.Stdout = io.MultiWriter(&text, dots{a.errOut})
		defer fmt.Fprint(a.errOut, clearLine)
	}
	var exit *exec.ExitError
	switch err := run.Run(); {
	case a.ctx.Err() != nil:
		return nil, a.ctx.Err()
	case errors.As(err, &exit):
		return nil, fmt.Errorf("the benchmarks failed:\n%s", text.String())
	case err != nil:
		return nil, fmt.Errorf("run the benchmarks: %w", err)
	}
	return compare.Read(&text)
}

// dots prints a dot for each line that is written to it.
type dots struct{ out io.Writer }

func (d dots) Write(p []byte) (int, error) {
	fmt.Fprint(d.out, strings.Repeat(".", bytes.Count(p, []byte("\n"))))
	return len(p), nil
}
