package gotest

// This file runs code that nobody vouches for: a learner's, which may loop for ever, print for ever, or start programs
// of its own. Time and output are limited, and whoever watches may change their mind. What is stopped is the whole
// family of processes: the go command, the test binary, and what that has started.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"client-go-workshop/internal/testkit/env"
)

// Limits is what a run may take. Zero means no limit.
type Limits struct {
	Time   time.Duration
	Output int64 // bytes on standard output, as JSON
}

// RunLimited is Run under limits. A run that goes over one, or whose context ends, is stopped; its result holds what
// was known until then, and says in Stopped why. onTest may be nil; it is called as tests begin and end, on the
// caller's goroutine. When RunLimited returns, no process of the run is left.
func RunLimited(ctx context.Context, cmd *exec.Cmd, limits Limits, onTest func(Test)) (Result, error) {
	cmd.Env = append(cmd.Environ(), env.Failures+"=1")
	var stderr lockedBuffer
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
	stop := &stopper{kill: func() { killGroup(cmd) }}
	if limits.Time > 0 {
		defer time.AfterFunc(limits.Time, func() { stop.because(fmt.Sprintf("it ran for %v", limits.Time)) }).Stop()
	}
	defer context.AfterFunc(ctx, func() { stop.because("it was cancelled") })()

	counted := &countingReader{from: stdout, left: limits.Output, over: func() {
		stop.because(fmt.Sprintf("it printed more than %d MB", limits.Output>>20))
	}}
	r, scanErr := read(counted, onTest)
	if scanErr != nil {
		stop.because("what it printed could not be read")
	}
	io.Copy(io.Discard, stdout) // Wait closes the pipe, and must not do so under a writer
	waitErr := cmd.Wait()
	killGroup(cmd) // what a test has started and not waited for
	var exit *exec.ExitError
	switch r.Stopped = stop.reason(); {
	case r.Stopped != "":
	case scanErr != nil:
		return Result{}, fmt.Errorf("read what %s printed: %w", cmd, scanErr)
	case waitErr != nil && !errors.As(waitErr, &exit) && !errors.Is(waitErr, exec.ErrWaitDelay):
		return Result{}, fmt.Errorf("run %s: %w", cmd, waitErr)
	}
	r.Outside += stderr.String()
	r.Exit, r.Took = cmd.ProcessState.ExitCode(), time.Since(start)
	return r, nil
}

// stopper stops a run once, for the first reason that is given.
type stopper struct {
	kill func()
	mu   sync.Mutex
	why  string
}

func (s *stopper) because(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == "" {
		s.why = why
		s.kill()
	}
}

func (s *stopper) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// countingReader ends its stream, and says so, when there was more than it may pass on. left 0 means no limit.
type countingReader struct {
	from io.Reader
	left int64
	over func()
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.left > 0 {
		if c.left -= int64(n); c.left <= 0 {
			c.over()
			return 0, io.EOF
		}
	}
	return n, err
}

// lockedBuffer keeps the first megabyte: Wait may give up on its writer while that still writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := 1<<20 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
