package runner

// This file compiles what the race detector needs, because that takes a minute the first time and go test is silent
// meanwhile.

import (
	"bufio"
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/overlay"
)

// fewPackages are compiled so soon that nobody waits for them.
const fewPackages = 10

// compiled has the chapters that this process has compiled for the race detector, by root and folder.
var compiled sync.Map

// compile compiles the packages behind a chapter's tests for the race detector, if some are missing in Go's cache. It
// calls report with the number of packages that it has begun, and of all; in the end both are the same. The tests
// report what does not compile.
func compile(ctx context.Context, root string, c course.Chapter, o Options, report func(done, all int)) {
	if _, again := compiled.LoadOrStore(root+"\x00"+c.Dir, true); again {
		return
	}
	command := func(args ...string) *exec.Cmd {
		cmd := overlay.GoCommand(ctx, args...)
		cmd.Dir, cmd.Env = root, environment(false)
		return cmd
	}
	const stale = "{{if .Stale}}{{.ImportPath}}{{end}}"
	list := slices.Concat([]string{"list", "-race"}, tags(o), []string{"-deps", "-test", "-f", stale, "./" + c.Dir})
	out, _ := command(list...).Output() // of what does not compile, nothing
	missing := slices.DeleteFunc(strings.Split(string(out), "\n"), func(name string) bool {
		ofTest := strings.HasSuffix(name, ".test") || strings.ContainsAny(name, " [")
		return name == "" || ofTest || strings.HasSuffix(name, "/"+c.Dir)
	})
	if len(missing) < fewPackages {
		return
	}
	report(0, len(missing))
	build := command(slices.Concat([]string{"build", "-race", "-v"}, tags(o), missing)...)
	names, err := build.StderrPipe()
	if err != nil || build.Start() != nil {
		return
	}
	lines := bufio.NewScanner(names)
	for done := 1; lines.Scan(); done++ {
		report(min(done, len(missing)), len(missing)) // what else the go command says is no package
	}
	build.Wait() // the tests report what does not compile
	report(len(missing), len(missing))
}
