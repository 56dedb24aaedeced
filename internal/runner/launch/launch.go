// Package launch builds another program of the workshop and runs it in place of this one.
//
// A part that few people need and that takes long to build is a program of its own, so that `go tool workshop` builds
// in seconds: the cluster's launcher, which is in a module of its own, share, which serves HTTP, and show, which
// compiles client-go.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Program is another program of the workshop.
type Program struct {
	name   string // for messages
	module string // the folder of its module, relative to the workshop's root
	binary string // its name in the module's cmd and in .workshop/bin
}

// The programs.
var (
	Cluster = Program{name: "the launcher of the cluster", module: "cluster", binary: "cluster"}
	Share   = Program{name: "share", module: ".", binary: "share"}
	Show    = Program{name: "show", module: ".", binary: "show"}
)

// Run builds the program in the workshop at root, runs it with this process's standard input and outputs, and returns
// its exit code. The program receives Ctrl-C itself, because it is in this process group; Run waits until it ends. When
// ctx ends, Run sends it SIGTERM. An error means that it could not be built or started. The program contains the
// learner's layers only if the arguments ask for them, so code that does not compile stops nothing else.
func (p Program) Run(ctx context.Context, root string, args ...string) (int, error) {
	bin := filepath.Join(root, ".workshop", "bin", p.binary)
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	tags := ""
	if strings.Contains(strings.Join(args, " "), "yours") && p == Show {
		p.name, tags = "show with your layers", "yours"
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", bin, "./cmd/"+p.binary)
	build.Dir = filepath.Join(root, p.module)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	late := time.AfterFunc(2*time.Second, func() {
		fmt.Fprintf(os.Stderr, "Building %s. The first time this takes up to a minute.\n", p.name)
	})
	out, err := build.CombinedOutput()
	late.Stop()
	if err != nil {
		return 0, fmt.Errorf("build %s: %w\n%s", p.name, err, out)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "WORKSHOP_ROOT="+root)
	// Ctrl-C is for all of the process group. A signal for this process alone, such as kill, has to be passed on; the
	// other program accepts a second one. Its exit code counts, not the end of ctx.
	cmd.Cancel = func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return os.ErrProcessDone
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", p.name, err)
	}
	return 0, nil
}
