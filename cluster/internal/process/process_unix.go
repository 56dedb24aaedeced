//go:build unix

// Sessions and signals.

package process

import (
	"errors"
	"os"
	"syscall"
)

// detached puts a child into a session of its own, away from the terminal and
// from its signals.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// ownGroup makes a child the leader of a process group that everything it
// starts belongs to as well. The group's number is the leader's PID.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGINT) }
func killGroup(leader int)      { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// Become replaces the running program with another one, and so only returns
// on failure. The new program has our terminal, our PID, our signals.
func Become(path string, args, env []string) error {
	for {
		err := syscall.Exec(path, append([]string{path}, args...), env)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
