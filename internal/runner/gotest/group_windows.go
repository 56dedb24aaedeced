package gotest

import (
	"os/exec"
	"strconv"
	"syscall"
)

// startGroup keeps a Ctrl-C in the terminal from the command.
func startGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills the command, while it runs, and its children.
func killGroup(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
		cmd.Process.Kill()
	}
}

// quitGroup does nothing: there is no signal that asks for a dump.
func quitGroup(*exec.Cmd) {}
