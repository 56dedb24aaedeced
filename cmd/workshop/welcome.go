package main

// This file is the welcome before the first live view: it checks the machine, and asks for the first chapter.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

// welcome runs once, before the first live view. It returns the chapter that the learner starts with.
func welcome(cmd *cobra.Command, a app) (progress.Chapter, error) {
	out := append([]string{}, style.Strong("Welcome to the client-go workshop."), "",
		"You re-create client-go in seven chapters. In each you read its README.md, write",
		"the functions that are missing, and save: this window runs the tests and shows",
		"the one failure to look at. Everything also works with plain go test.", "")
	for _, check := range checkMachine(cmd.Context(), a.root) {
		mark := style.Good("✓")
		if !check.ok {
			mark = style.Warn("!")
		}
		out = append(out, fmt.Sprintf("  %s %s", mark, check.text))
	}
	out = append(out, "", "Any chapter can be the first; 05, the indexer, needs least of the rest.",
		"Press Enter to begin with "+a.chapters[0].Dir+", or type a number from 1 to 7: ")
	c := a.chapters[0]
	if err := style.Fprint(cmd.OutOrStdout(), strings.Join(out, "\n")); err != nil {
		return c, err
	}
	for answered := false; !answered; {
		line, err := readLine(cmd.Context(), cmd.InOrStdin())
		if err != nil && !errors.Is(err, io.EOF) {
			return c, err
		}
		number := strings.TrimLeft(strings.TrimSpace(line), "0")
		answered = number == ""
		for _, other := range a.chapters {
			if fmt.Sprint(other.Number) == number {
				c, answered = other, true
			}
		}
		if !answered {
			fmt.Fprintf(cmd.OutOrStdout(), "There is no chapter %q. A number from 1 to %d, or Enter: ", number, len(a.chapters))
		}
	}
	if _, err := progress.Update(a.root, func(f *progress.File) { f.At = c.Tasks[0].ID }); err != nil {
		warn(cmd, err)
	}
	return c, nil
}

type check struct {
	ok   bool
	text string
}

// checkMachine looks for the programs and the disk space that the workshop needs.
func checkMachine(ctx context.Context, root string) []check {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	checks := []check{{true, "Go: " + strings.TrimPrefix(runtime.Version(), "go")}}
	if free, err := freeDisk(root); err == nil {
		gb := float64(free) / (1 << 30)
		checks = append(checks, check{gb >= 3,
			fmt.Sprintf("disk: %.0f GB free (the build cache takes about 2; the cluster 4 more)", gb)})
	}
	if cc, err := exec.CommandContext(ctx, "go", "env", "CC").Output(); err == nil {
		fields := strings.Fields(string(cc))
		_, err := exec.LookPath(append(fields, "cc")[0])
		checks = append(checks, check{err == nil, found(err, "C compiler: there, so -race works",
			"C compiler: none, so -race does not work; all else does")})
	}
	_, err := exec.LookPath("git")
	checks = append(checks, check{err == nil, found(err, "git: there", "git: none; you can do without")})
	_, err = exec.LookPath("docker")
	return append(checks, check{true, found(err, "Docker: there, if you ever want kind", "Docker: none, and not needed")})
}

func found(err error, yes, no string) string {
	if err == nil {
		return yes
	}
	return no
}
