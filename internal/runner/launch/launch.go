// Package launch runs another program of the workshop in this one's place, and builds it first if need be.
//
// What few people need, and needs much to build, is a program of its own, so that `go tool workshop` is there in
// seconds: the cluster's launcher, which is in a module of its own, and share, which serves HTTP.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Program is another program of the workshop.
type Program struct {
	Name   string // as a message calls it
	Module string // the folder of its module, relative to the workshop's root
	Pkg    string // relative to that
	Binary string // its name in .workshop/bin
}

// The programs that there are.
var (
	Cluster = Program{"the launcher of the cluster", "cluster", "./cmd/cluster", "cluster"}
	Share   = Program{"share", ".", "./cmd/share", "share"}
)

// Run builds the program in the workshop at root if need be, runs it with this process's standard input and outputs,
// and returns its exit code. It hears Ctrl-C itself, since it is in our process group; we only wait for it to clean up.
// An error means that it could not be built or started. When ctx ends it is told to end, by SIGTERM.
func (p Program) Run(ctx context.Context, root string, args ...string) (int, error) {
	bin := filepath.Join(root, ".workshop", "bin", p.Binary)
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, p.Pkg)
	build.Dir = filepath.Join(root, p.Module)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build %s: %w\n%s", p.Name, err, out)
	}
	cmd := exec.Command(bin, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "WORKSHOP_ROOT="+root)
	err := cmd.Start()
	if err == nil {
		// Ctrl-C is for all of the process group. What is for this process alone, such as kill, has to be handed on; the
		// other program takes a second word for the same thing.
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
		err = cmd.Wait()
		stop()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", p.Name, err)
	}
	return 0, nil
}
