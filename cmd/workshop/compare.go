package main

// This file is `workshop compare`: the learner's chapter, the solution and client-go, by lines and by benchmarks.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/runner/compare"
	"client-go-workshop/internal/tui/style"
)

func newCompare() *cobra.Command {
	count, bench, benchtime := 6, ".", 100*time.Millisecond
	var linesOnly bool
	cmd := chapterCommand("compare [chapter]", "Yours, the solution and client-go side by side: lines, speed, allocations",
		`Yours, the solution and client-go side by side: lines of code, and the medians of
the chapter's benchmarks, all run in one process. A factor stands beside a figure
if it differs from client-go's by more than chance (p < 0.05); 2.0x is twice as
fast, or half the memory. For figures to quote, close everything else and take
--count 10 --benchtime 1s.`,
		func(cmd *cobra.Command, a app, args []string) error {
			c, err := a.pickFinished(args)
			if err != nil {
				return err
			}
			yours, err := compare.DirLines(filepath.Join(a.root, c.Dir))
			if err != nil {
				return err
			}
			solution, err := compare.DirLines(filepath.Join(a.root, c.Solution()))
			if err != nil {
				return err
			}
			theirs, err := compare.ClientGoLines(a.root, filepath.Join(a.root, c.Oracle(), compare.List))
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			style.Fprint(out, compareRow(style.Strong(padded(c.Dir, 46)), "yours", "solution", "client-go"))
			style.Fprint(out, compareRow(padded("lines of code", 46), fmt.Sprint(yours), fmt.Sprint(solution),
				fmt.Sprint(theirs)))
			if linesOnly {
				return nil
			}
			shown := []string{"go", "test", "./" + c.Dir, "-run", "^$", "-bench", bench, "-benchmem",
				fmt.Sprintf("-count=%d", count), fmt.Sprintf("-benchtime=%v", benchtime)}
			fmt.Fprintln(cmd.ErrOrStderr(), "\n$ "+strings.Join(shown, " "))
			text, err := runBenchmarks(cmd, a.root, shown)
			if err != nil {
				return err
			}
			rows, err := compare.Read(bytes.NewReader(text))
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return fmt.Errorf("no benchmark of %s matches %q", c.Dir, bench)
			}
			factors := false
			for _, row := range rows {
				var cells []string
				for _, cell := range row.Cells {
					cells = append(cells, cellText(cell))
					factors = factors || cell.Ratio > 0
				}
				if err := style.Fprint(out, compareRow(padded(row.Name+" "+style.Faint(row.Unit), 46), cells...)); err != nil {
					return err
				}
			}
			if factors {
				return printLines(cmd, "", style.Faint("2.0x is twice as fast as client-go, or half the memory. "+
					"Without a factor, the difference may be chance."))
			}
			return nil
		})
	cmd.Flags().IntVar(&count, "count", count, "runs of each benchmark; with fewer than 5 every difference may be chance")
	cmd.Flags().StringVar(&bench, "bench", bench, "the benchmarks to run, as go test's -bench")
	cmd.Flags().DurationVar(&benchtime, "benchtime", benchtime, "how long one run takes")
	cmd.Flags().BoolVar(&linesOnly, "lines", false, "count lines only")
	return cmd
}

func compareRow(name string, cells ...string) string {
	line := name
	for _, cell := range cells {
		line += " " + padded(cell, 17)
	}
	return strings.TrimRight(line, " ") + "\n"
}

func cellText(c compare.Cell) string {
	switch {
	case c.Text == "":
		return style.Faint("not written")
	case c.Ratio > 1:
		return c.Text + style.Good(fmt.Sprintf(" %.1fx", c.Ratio))
	case c.Ratio > 0:
		return c.Text + style.Bad(fmt.Sprintf(" %.1fx", c.Ratio))
	}
	return c.Text
}

// runBenchmarks runs a command and returns its output. On a terminal it prints a dot for each line.
func runBenchmarks(cmd *cobra.Command, root string, shown []string) ([]byte, error) {
	run := exec.CommandContext(cmd.Context(), shown[0], shown[1:]...)
	run.Dir = root
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.WaitDelay = 10 * time.Second
	var text bytes.Buffer
	run.Stdout = &text
	if isTerminal(cmd.ErrOrStderr()) {
		run.Stdout = io.MultiWriter(&text, dots{cmd.ErrOrStderr()})
		defer fmt.Fprint(cmd.ErrOrStderr(), clearLine)
	}
	var exit *exec.ExitError
	if err := run.Run(); cmd.Context().Err() != nil {
		return nil, cmd.Context().Err()
	} else if errors.As(err, &exit) {
		return nil, fmt.Errorf("the benchmarks failed:\n%s", text.String())
	} else if err != nil {
		return nil, fmt.Errorf("run the benchmarks: %w", err)
	}
	return text.Bytes(), nil
}

// dots prints a dot for each line that is written to it.
type dots struct{ out io.Writer }

func (d dots) Write(p []byte) (int, error) {
	fmt.Fprint(d.out, strings.Repeat(".", bytes.Count(p, []byte("\n"))))
	return len(p), nil
}
