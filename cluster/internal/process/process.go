// Package process starts programs that outlive the launcher, and finds them
// again later without ever mistaking another program for one of them.
//
// A PID alone is not enough to do that: the system gives it to somebody else
// once its owner has gone. So a Process remembers a second thing, when its
// PID was given out, and every signal is preceded by a comparison.
//
//	process.go           what a Process is, starting, stopping, looking
//	run.go               running a program, together with all that it starts
//	find.go              finding processes by their command lines
//	process_unix.go      sessions and signals
//	process_linux.go     start times and memory, from /proc
//	process_darwin.go    start times, from the kernel; memory, from ps
//	process_windows.go   all of it for Windows
//
// Left out: supervision. Nothing here restarts what has died.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// errGone is what startIdentity returns for a PID that nobody has, or that
// only a zombie has: a process that ended and waits for its parent to notice.
var errGone = errors.New("no such process")

// Process names one run of one program, on this boot of this machine.
type Process struct {
	PID int `json:"pid"`
	// Started is when the PID was given out, in whatever unit the operating
	// system keeps exactly; it is only ever compared for equality.
	Started string `json:"started"`
}

// Command is a program to start.
type Command struct {
	Path string
	Args []string // without the program's name
	Env  []string // the whole environment; nothing is inherited
	Log  string   // file that stdout and stderr are appended to
}

// Child is a Process that this very process started.
type Child struct {
	Process
	exited chan struct{}
	err    error // how it ended; read only after exited is closed
}

// Start runs command in the background, in a session of its own: it survives
// the launcher, its terminal, and a Ctrl-C in that terminal.
func Start(command Command) (*Child, error) {
	log, err := os.OpenFile(command.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	defer log.Close() // the child has its own copy

	cmd := exec.Command(command.Path, command.Args...)
	cmd.Env = command.Env
	cmd.Dir = filepath.Dir(command.Path) // not to hold on to the folder that we were called in
	cmd.Stdout, cmd.Stderr = log, log    // stdin stays the null device
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	child := &Child{Process: Process{PID: cmd.Process.Pid}, exited: make(chan struct{})}
	// Until Wait, below, collects it, the child's PID cannot be given to
	// anyone else: the identity that is read now is the child's.
	child.Started, err = startIdentity(child.PID)
	go func() {
		child.err = cmd.Wait()
		close(child.exited)
	}()
	if err != nil && !errors.Is(err, errGone) { // gone: Exited tells it better
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("reading the start time of process %d: %w", child.PID, err)
	}
	return child, nil
}

// Exited is closed when the child has ended; then Err says how.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Err is nil if the child ended with exit code 0. Valid once Exited is closed.
func (c *Child) Err() error { return c.err }

// Alive reports whether this very process still runs.
func (p Process) Alive() bool {
	if p.PID <= 0 || p.Started == "" {
		return false
	}
	started, err := startIdentity(p.PID)
	return err == nil && started == p.Started
}

// Kill ends the process at once; it cannot clean up. A process that is gone
// already is no error.
func (p Process) Kill() error { return p.signal((*os.Process).Kill) }

// Terminate asks the process to end (Windows cannot ask: there it is a Kill).
func (p Process) Terminate() error { return p.signal(terminate) }

func (p Process) signal(send func(*os.Process) error) error {
	// On Linux and Windows the handle pins the process: opened before the
	// identity is compared, it can never come to mean another one.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return nil // Windows says so when the process is gone
	}
	defer handle.Release()
	if !p.Alive() {
		return nil
	}
	if err := send(handle); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling process %d: %w", p.PID, err)
	}
	return nil
}

// Memory is the process's resident set in bytes; false where it is unknown.
func (p Process) Memory() (int64, bool) {
	if !p.Alive() {
		return 0, false
	}
	return residentSet(p.PID)
}

// AwaitEnd returns true once every process is gone, or false when ctx ends
// first.
func AwaitEnd(ctx context.Context, processes ...Process) bool {
	// These need not be our children, so there is nothing to wait on but to look.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		alive := false
		for _, p := range processes {
			alive = alive || p.Alive()
		}
		if !alive {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// Stop ends all the processes: it asks, waits up to patience, and then kills.
// When it returns nil none of them is left.
func Stop(patience time.Duration, processes ...Process) error {
	var failures []error
	for _, p := range processes {
		failures = append(failures, p.Terminate())
	}
	asked, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if AwaitEnd(asked, processes...) {
		return errors.Join(failures...)
	}
	for _, p := range processes {
		failures = append(failures, p.Kill())
	}
	killed, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if !AwaitEnd(killed, processes...) {
		failures = append(failures, errors.New("a process did not end although it was killed (its disk may hang)"))
	}
	return errors.Join(failures...)
}
