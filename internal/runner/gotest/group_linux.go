package gotest

import (
	"os/exec"
	"syscall"
)

// dieWithParent asks the kernel to kill the command when this process ends, even by SIGKILL. Package guard then ends
// the test binary, whose parent has gone.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
