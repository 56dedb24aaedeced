//go:build unix

package gotest

import (
	"os/exec"
	"syscall"
)

// asFamily lets the command lead a process group, which its children join by themselves.
func asFamily(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killFamily kills the whole group. That there is nobody left in it is no error.
func killFamily(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
