package gotest

// This file runs a learner's code, which may loop or print without end, or start other programs. It limits time and
// output, and it stops the whole family of processes: the go command, the test binary, and their children.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"time"

	"client-go-workshop/internal/testkit/env"
)

// Limits is what a run may take. Zero means no limit.
type Limits struct {
	Time   time.Duration
	Output int64 // bytes on standard output, as JSON
}

// RunLimited is Run under limits. It stops a run that exceeds a limit or whose context ends; the result then holds the
// tests until that moment, and Stopped has the reason. onTest may be nil; RunLimited calls it as tests begin and end,
// one call at a time. When RunLimited returns, no process of the run is left.
func RunLimited(ctx context.Context, cmd *exec.Cmd, limits Limits, onTest func(Test)) (Result, error) {
	cmd.Env = append(cmd.Environ(), env.Failures+"=1")
	var stderr clipped
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return Result{}, fmt.Errorf("run %s: %w", cmd, err)
	}
	cmd.WaitDelay = time.Second // for a grandchild that got away and holds standard error open
	startGroup(cmd)
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("run %s: %w", cmd, err)
	}
	running, stop := context.WithCancelCause(context.Background()) // the first cause is the reason
	defer stop(nil)
	defer context.AfterFunc(running, func() { killGroup(cmd) })()
	defer context.AfterFunc(ctx, func() { stop(errors.New("it was cancelled")) })()
	if limits.Time > 0 {
		defer time.AfterFunc(limits.Time, func() { stop(fmt.Errorf("it ran for %v", limits.Time)) }).Stop()
	}
	limited := &io.LimitedReader{R: stdout, N: cmp.Or(limits.Output, math.MaxInt64)}
	r, err := read(limited, onTest)
	if limited.N <= 0 {
		stop(fmt.Errorf("it printed more than %d MB", limits.Output>>20))
	}
	if err != nil {
		stop(errors.New("what it printed could not be read"))
	}
	io.Copy(io.Discard, stdout) // Wait closes the pipe, and must not do so under a writer
	err = cmd.Wait()
	killGroup(cmd) // what a test has started and not waited for
	_, exited := errors.AsType[*exec.ExitError](err)
	switch why := context.Cause(running); {
	case why != nil:
		r.Stopped = why.Error()
	case err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay):
		return Result{}, fmt.Errorf("run %s: %w", cmd, err)
	}
	r.Outside += stderr.String()
	r.Exit, r.Took = cmd.ProcessState.ExitCode(), time.Since(start)
	return r, nil
}
