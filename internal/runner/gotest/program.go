package gotest

// This file runs a program that is not a test, under the same limits.

import (
	"cmp"
	"context"
	"io"
	"os/exec"
	"time"
)

// Program is what came of a program that is not a test.
type Program struct {
	Output string // standard output and standard error, in the order in which they were written
	Exit   int
	Took   time.Duration
	// Stopped says why RunProgram stopped the program: "it ran for 10s". Empty if the program ended by itself.
	Stopped string
}

// RunProgram runs cmd under limits, without Limits.Begin. A program that fails is a result; an error means that it
// could not be run, or that ctx has ended. When RunProgram returns, no process of the run is left.
func RunProgram(ctx context.Context, cmd *exec.Cmd, limits Limits) (Program, error) {
	start := time.Now()
	var out []byte
	why, err := underLimits(ctx, cmd, limits, func(both io.Reader, _ context.CancelCauseFunc) (err error) {
		out, err = io.ReadAll(both)
		return err
	})
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return Program{}, err
	}
	p := Program{Output: printable(string(out)), Exit: cmd.ProcessState.ExitCode(), Took: time.Since(start)}
	if why != nil {
		p.Stopped, p.Exit = why.Error(), -1
	}
	return p, nil
}
