// Package cmdtest is for tests of commands: it builds the command in the current folder once, and runs it as people do,
// as a process with arguments. What it leaves out: terminals and signals, which few tests need.
package cmdtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Main is a TestMain: it builds the command under a name, with flags for go build, sets program to its path, runs the
// tests, and exits.
func Main(m *testing.M, program *string, name string, flags ...string) {
	dir, err := os.MkdirTemp("", "built")
	if err != nil {
		panic(err)
	}
	*program = filepath.Join(dir, name)
	if runtime.GOOS == "windows" {
		*program += ".exe"
	}
	if out, err := exec.Command("go", slices.Concat([]string{"build"}, flags, []string{"-o", *program,
		"."})...).CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Run runs the program in dir until it ends by itself.
func Run(t *testing.T, program, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}
