package gotest

// This file runs a program that is not a test, under the same limits.

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
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
	out := &limitedText{limit: limits.Output}
	cmd.Stdout, cmd.Stderr = out, out // equal values make one pipe, so that the order is kept
	start := time.Now()
	running, stop, release, err := begin(ctx, cmd, limits)
	if err != nil {
		return Program{}, err
	}
	defer release()
	out.setFull(func() { stop(fmt.Errorf("it printed more than %d KB", limits.Output>>10)) })
	err = cmd.Wait()
	killGroup(cmd) // what it has started and not waited for
	_, exited := errors.AsType[*exec.ExitError](err)
	why := context.Cause(running)
	switch {
	case ctx.Err() != nil:
		return Program{}, ctx.Err()
	case why == nil && err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay):
		return Program{}, fmt.Errorf("run %s: %w", cmd, err)
	}
	p := Program{Output: printable(out.String()), Exit: cmd.ProcessState.ExitCode(), Took: time.Since(start)}
	if why != nil {
		p.Stopped, p.Exit = why.Error(), -1
	}
	return p, nil
}

// limitedText keeps the first bytes that are written to it, up to a limit; 0 is none.
type limitedText struct {
	limit int64

	mu   sync.Mutex
	text strings.Builder
	full func() // called once, when a write exceeds the limit
	over bool
}

// Write never fails: a program whose output is too long is stopped, and does not receive an error.
func (l *limitedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := p
	if room := l.limit - int64(l.text.Len()); l.limit > 0 && int64(len(p)) > room {
		kept = p[:room]
		if !l.over && l.full != nil {
			l.full()
		}
		l.over = true
	}
	l.text.Write(kept)
	return len(p), nil
}

// setFull sets what Write calls when the text is full, and calls it if that has happened.
func (l *limitedText) setFull(full func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full = full; l.over {
		full()
	}
}

// String returns what was kept.
func (l *limitedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
