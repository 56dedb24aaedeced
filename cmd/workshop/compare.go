package main

// This file is `workshop compare`: the learner's chapter, the solution and client-go, by lines and by benchmarks.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/compare"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/tui/meter"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newCompare() *cobra.Command {
	count, bench, benchtime := 6, ".", 100*time.Millisecond
	var linesOnly bool
	cmd := chapterCommand("compare [chapter]", "Compare your code, the solution and client-go: lines and speed",
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
			rows, err := a.benchmarks(c, bench, count, benchtime)
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

// benchmarks runs a chapter's benchmarks and returns their rows. A run of one iteration each comes first: it compiles
// them, and says how many there are.
func (a *app) benchmarks(c progress.Chapter, bench string, count int, benchtime time.Duration) ([]compare.Row, error) {
	args := func(count int, benchtime string) []string {
		return []string{"test", "./" + c.Dir, "-run", "^$", "-bench", bench, "-benchmem", fmt.Sprintf("-count=%d", count),
			"-benchtime=" + benchtime}
	}
	shown := args(count, benchtime.String())
	fmt.Fprintln(a.errOut, "\n$ go "+strings.Join(shown, " "))
	m := meter.New(a.errOut, a.width())
	defer func() { m.Clear() }()
	m.At("compile the benchmarks, and run each once", 0, 0)
	text, err := a.goTest(args(1, "1x"), func(string) {})
	all := count * strings.Count(text, "ns/op")
	if err != nil || all == 0 {
		return nil, err
	}
	m.Clear()
	m = meter.New(a.errOut, a.width())
	done := 0
	m.At(c.Dir, done, all)
	text, err = a.goTest(shown, func(line string) {
		if strings.Contains(line, "ns/op") {
			done++
			name, _, _ := strings.Cut(line, " ")
			m.At(strings.TrimSpace(name), done, all)
		}
	})
	if err != nil {
		return nil, err
	}
	m.Clear()
	return a.medians(text)
}

// medians returns the rows of the benchmarks' output. A program of its own makes them (cmd/medians).
func (a *app) medians(text string) (rows []compare.Row, err error) {
	run := overlay.GoCommand(a.ctx, "run", "./cmd/medians")
	run.Dir, run.Stdin = a.root, strings.NewReader(text)
	out, err := run.Output()
	if err == nil {
		err = json.Unmarshal(out, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("compare the benchmarks: %w", err)
	}
	return rows, nil
}

// goTest runs a go command, and returns its output. It calls line for each line, as soon as it is there.
func (a *app) goTest(args []string, line func(string)) (string, error) {
	run := overlay.GoCommand(a.ctx, args...)
	run.Dir = a.root
	var text bytes.Buffer
	out, writer := io.Pipe()
	run.Stdout = io.MultiWriter(&text, writer)
	var reader sync.WaitGroup
	reader.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			line(lines.Text())
		}
		io.Copy(io.Discard, out) // after a very long line
	})
	err := run.Run()
	writer.Close()
	reader.Wait()
	var exit *exec.ExitError
	switch {
	case a.ctx.Err() != nil:
		return "", a.ctx.Err()
	case errors.As(err, &exit):
		return "", fmt.Errorf("the benchmarks failed:\n%s", text.String())
	case err != nil:
		return "", fmt.Errorf("run the benchmarks: %w", err)
	}
	return text.String(), nil
}
