package gotest

import (
	"os/exec"
	"strconv"
	"syscall"
)

// asFamily keeps a Ctrl-C in the terminal from the command: we decide when it ends.
func asFamily(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killFamily kills the command and what it has started, while it still runs.
func killFamily(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
		cmd.Process.Kill()
	}
}
