// Package cmdtest is for tests of commands: it runs a program to its end, and lays out a small workshop for it.
package cmdtest

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// Run runs the program in dir until it ends by itself. The program is in the PATH, see testscript.Main.
func Run(t *testing.T, program, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}
