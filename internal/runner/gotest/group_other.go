//go:build unix && !linux

package gotest

import (
	"os/exec"
	"syscall"
)

// startGroup makes the command the leader of a process group, which its children join. A child with a session of its
// own leaves the group, and outlives the run.
func startGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills all processes of the group. An empty group is not an error.
func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// quitGroup asks all processes of the group for a dump of their goroutines, which ends them.
func quitGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT) }
