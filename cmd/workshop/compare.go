package main

// This file is `workshop compare`: the learner's chapter, the solution and client-go, by lines and by benchmarks.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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
	count, benchtime := 6, 100*time.Millisecond
	cmd := chapterCommand("compare [chapter]", "Compare your code, the solution and client-go: lines and speed",
		`Compare your code, the solution and client-go: lines of code, without those of bonus
tasks, and the medians of the chapter's benchmarks, all run in one process. A figure
has a factor if it differs from client-go's by more than chance (p < 0.05); 2.0x is
twice as fast, or half the memory. To quote figures, close all other programs and
use --count 10 --benchtime 1s.`,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			c = a.finished(c)
			if err := a.compareLines(c); err != nil {
				return nil, err
			}
			rows, err := a.benchmarks(c, count, benchtime)
			if err == nil && len(rows) == 0 {
				err = fmt.Errorf("%s has no benchmark", c.Dir)
			}
			return benchmarkRows(rows), err
		})
	cmd.Flags().IntVar(&count, "count", count, "runs of each benchmark; with fewer than 5 every difference may be chance")
	cmd.Flags().DurationVar(&benchtime, "benchtime", benchtime, "the duration of one run")
	return cmd
}

func (a *app) compareLines(c progress.Chapter) error {
	bonus, err := compare.BonusFiles(a.root, c.Chapter)
	yours, yoursErr := compare.DirLines(filepath.Join(a.root, c.Dir), bonus)
	solution, solutionErr := compare.DirLines(filepath.Join(a.root, c.Solution()), bonus)
	theirs, theirsErr := compare.ClientGoLines(a.root, filepath.Join(a.root, c.Oracle(), compare.List))
	if err := cmp.Or(err, yoursErr, solutionErr, theirsErr); err != nil {
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

// benchmarks runs a chapter's benchmarks, shows how far it is, and returns their rows.
func (a *app) benchmarks(c progress.Chapter, count int, benchtime time.Duration) (rows []compare.Row, err error) {
	run := overlay.GoCommand(a.ctx, "test", "./"+c.Dir, "-run", "^$", "-bench", ".", "-benchmem",
		fmt.Sprintf("-count=%d", count), "-benchtime="+benchtime.String())
	fmt.Fprintln(a.errOut, "\n$ "+strings.Join(run.Args, " "))
	var text bytes.Buffer
	run.Dir, run.Stdout = a.root, io.MultiWriter(&text, a.errOut)
	if err := run.Run(); err != nil {
		return nil, cmp.Or(a.ctx.Err(), fmt.Errorf("run the benchmarks: %w", err))
	}
	if !strings.Contains(text.String(), "ns/op") {
		return nil, nil
	}
	// A program of its own makes the rows, with benchstat's statistics.
	medians := overlay.GoCommand(a.ctx, "run", "./cmd/medians")
	medians.Dir, medians.Stdin = a.root, &text
	out, err := medians.Output()
	if err = cmp.Or(err, json.Unmarshal(out, &rows)); err != nil {
		return nil, fmt.Errorf("compare the benchmarks: %w", err)
	}
	return rows, nil
}
