package gotest

// This file runs a learner's code, which may loop or print without end, or start other programs. It limits time and
// output, and it stops the whole family of processes: the go command, the test binary, and their children.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"time"

	"client-go-workshop/internal/testkit/env"
)

// Limits is what a run may take. Zero means no limit.
type Limits struct {
	Time   time.Duration
	Output int64 // bytes on standard output, as JSON
	Memory int64 // bytes that a test process may hold; only Linux tells
	// Begin is how long the test binary may run before its first test begins.
	Begin time.Duration
}

const memoryEvery = 200 * time.Millisecond

// RunLimited is Run under limits. It stops a run that exceeds a limit or whose context ends; the result then holds the
// tests until that moment, and Stopped has the reason. onTest may be nil; RunLimited calls it as tests begin, tell
// where they are, and end, one call at a time. When RunLimited returns, no process of the run is left.
func RunLimited(ctx context.Context, cmd *exec.Cmd, limits Limits, onTest func(Test)) (r Result, err error) {
	cmd.Env = append(cmd.Environ(), env.Failures+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if onTest == nil {
		onTest = func(Test) {}
	}
	var begins *time.Timer // nil before the binary starts
	var isLate atomic.Bool
	start := time.Now()
	why, err := underLimits(ctx, cmd, limits, func(stdout io.Reader, stop context.CancelCauseFunc) error {
		r, err = read(stdout, onTest, func(action string) {
			switch {
			case action == "start" && limits.Begin > 0 && begins == nil:
				begins = time.AfterFunc(limits.Begin, func() { // ask the binary where it is, and end it
					isLate.Store(true)
					quitGroup(cmd)
					time.AfterFunc(longestDump, func() { stop(errors.New("no test began")) })
				})
			case action == "run" && begins != nil:
				begins.Stop()
			}
		})
		return err
	})
	if begins != nil {
		begins.Stop()
	}
	if err != nil {
		return Result{}, err
	}
	r.Outside += stderr.String()
	switch {
	case isLate.Load():
		r.Stopped = "no test began within " + limits.Begin.String() + neverEnded(r.Outside)
	case why != nil:
		r.Stopped = why.Error()
	}
	r.Exit, r.Took = cmd.ProcessState.ExitCode(), time.Since(start)
	if r.Stopped != "" {
		r.Exit = -1 // the supervisor reports the signal as a code of its own
	}
	if r.Early = r.Early && r.Exit == 0 && len(r.Tests) > 0; r.Early {
		r.Tests[len(r.Tests)-1].Status = Broken // test2json adds the binary's pass to the last test
	}
	return r, nil
}

// underLimits runs cmd as the leader of a process group and gives read what it prints. Standard error comes with it, in
// the order of writing, unless cmd has one. It kills the group when cmd exceeds the limits, when ctx ends, or when read
// calls its stop. why is the first of these reasons.
func underLimits(ctx context.Context, cmd *exec.Cmd, limits Limits,
	read func(io.Reader, context.CancelCauseFunc) error) (why, err error) {
	name := cmd.String()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = cmd.Stdout
	}
	cmd.WaitDelay = time.Second // for a grandchild that got away and holds standard error open
	startGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	running, stop := context.WithCancelCause(context.Background())
	defer stop(nil) // ends watchMemory
	defer context.AfterFunc(running, func() { killGroup(cmd) })()
	defer context.AfterFunc(ctx, func() { stop(reason(ctx)) })()
	if limits.Time > 0 {
		defer time.AfterFunc(limits.Time, func() { stop(fmt.Errorf("it ran for %v", limits.Time)) }).Stop()
	}
	if limits.Memory > 0 {
		go watchMemory(running, cmd.Process.Pid, limits.Memory, stop)
	}
	out := &io.LimitedReader{R: stdout, N: cmp.Or(limits.Output, math.MaxInt64)}
	err = read(out, stop)
	switch {
	case out.N <= 0 && limits.Output < 1<<20:
		stop(fmt.Errorf("it printed more than %d KB", limits.Output>>10))
	case out.N <= 0:
		stop(fmt.Errorf("it printed more than %d MB", limits.Output>>20))
	case err != nil:
		stop(errors.New("its output could not be read"))
	}
	io.Copy(io.Discard, stdout) // Wait closes the pipe, and must not do so under a writer
	err = cmd.Wait()
	killGroup(cmd) // what it has started and not waited for
	_, exited := errors.AsType[*exec.ExitError](err)
	if why = context.Cause(running); why == nil && err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	return why, nil
}

// reason returns why a context has ended: the cause that it was given, or else that it was cancelled.
func reason(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return cause
	}
	return errors.New("it was cancelled")
}

// watchMemory stops a run whose test process holds more than limit. It returns when the run has ended.
func watchMemory(running context.Context, leader int, limit int64, stop context.CancelCauseFunc) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-running.Done():
			return
		case <-tick.C:
			if largest(leader) > limit {
				stop(fmt.Errorf("it took more than %d MiB of memory", limit>>20))
			}
		}
	}
}

const longestDump = 3 * time.Second

var initFrame = regexp.MustCompile(`(?m)^(\S*(?:\.init|glob\.\.func)\S*)\(.*\)\n\s+(\S+\.go):(\d+)`)

// neverEnded returns what a dump of all goroutines says about the initialization of a package that never ended.
func neverEnded(dump string) string {
	m := initFrame.FindStringSubmatch(dump)
	if m == nil {
		return ""
	}
	return fmt.Sprintf(": the initialization of a package never ended, at %s:%s", filepath.Base(m[2]), m[3])
}
