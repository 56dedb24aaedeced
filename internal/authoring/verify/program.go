package verify

// This file runs a chapter's tests over some code. It builds them once as a program, because `go test` links again each
// time it is called, and linking takes longer than most tests. What ran before, over the same code, does not run again
// (kept.go).

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/testkit/env"
)

// code is what runs under a chapter's tests.
type code struct {
	layer overlay.Layer          // may be empty if it is built otherwise
	key   string                 // of its results; empty if none are kept
	build func() (string, error) // returns the path of a program; called when a test has to run
	env   []string               // for the program
	args  []string               // for the program
}

// code returns a layer to run tests over. what distinguishes it from other code that is made of the same layer. flags
// are those of the build.
func (r *run) code(what string, layer overlay.Layer, flags ...string) code {
	return code{layer: layer, key: r.key(layer, "code", what), build: sync.OnceValues(func() (string, error) {
		return r.build(layer, flags...)
	})}
}

// often makes the tests run as often as was asked for.
func (r *run) often(c code) code {
	if r.count > 1 {
		c.args = []string{fmt.Sprintf("-test.count=%d", r.count), "-test.timeout=0"}
	}
	return c
}

// build makes the test binary over a layer. It links without what only a debugger needs.
func (r *run) build(layer overlay.Layer, flags ...string) (string, error) {
	folder := filepath.Join(r.root, ".workshop", "programs")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w", r.chapter.Dir, err)
	}
	name := strings.ReplaceAll(r.chapter.Dir, "/", "-") + "-" + layer.Name + strings.Join(flags, "") + ".test.exe"
	path := filepath.Join(folder, name)
	cmd, err := r.command(layer, "test", append(flags, "-c", "-vet=off", "-ldflags=-w -s", "-o", path, r.pkg())...)
	if err != nil {
		return "", err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &buildError{fmt.Sprintf("the tests of %s over the %s", r.chapter.Dir, layer.Name), string(out)}
	}
	return path, nil
}

// buildError says that code does not compile.
type buildError struct{ what, output string }

func (e *buildError) Error() string { return fmt.Sprintf("build %s:\n%s", e.what, e.output) }

// start prepares a run of the tests as `go test -json` would run them; args are flags of a test binary.
func (r *run) start(c code, args ...string) (*exec.Cmd, error) {
	path, err := c.build()
	if err != nil {
		return nil, err
	}
	all := append(slices.Clone(test2json()), "-t", "-p", module+r.chapter.Dir, path,
		"-test.v=test2json", "-test.timeout=120s", "-test.paniconexit0")
	cmd := overlay.Command(r.ctx, slices.Concat(all, c.args, args)...)
	cmd.Dir = filepath.Join(r.root, r.chapter.Dir)
	cmd.Env = append(append(cmd.Env, env.Recordings+"=off"), c.env...)
	return cmd, nil
}

// tests runs tests without a look at what was kept.
func (r *run) tests(c code, args ...string) (gotest.Result, error) {
	cmd, err := r.start(c, args...)
	if err != nil {
		return gotest.Result{}, err
	}
	return gotest.Run(r.ctx, cmd)
}

// test returns the result of the tests that match a pattern. It runs those that were not kept, calls good for each of
// them, and keeps those that are good. If they cannot be run, the result has no tests, and says why outside of them.
func (r *run) test(c code, pattern string, good func(gotest.Test) bool) (res gotest.Result) {
	matching, err := regexp.Compile(pattern)
	if err != nil {
		return gotest.Result{Outside: err.Error(), Exit: -1}
	}
	var old []gotest.Test
	var skip []string
	missing := false
	for _, name := range r.inputs.names {
		if !matching.MatchString(name) {
			continue
		}
		t, kept := r.keptTest(c, name)
		if missing = missing || !kept; kept {
			old, skip = append(old, t), append(skip, "^"+name+"$")
		}
	}
	if missing || len(old) == 0 {
		if res, err = r.tests(c, "-test.run="+pattern, "-test.skip="+strings.Join(skip, "|")); err != nil {
			return gotest.Result{Outside: err.Error(), Exit: -1}
		}
		r.keepTests(c, res, good)
	}
	for _, t := range old {
		res.Took += t.Took
		if t.Status == gotest.Failed {
			res.Exit = max(res.Exit, 1)
		}
	}
	res.Tests = append(old, res.Tests...)
	slices.SortStableFunc(res.Tests, func(a, b gotest.Test) int {
		return slices.Index(r.inputs.names, a.Name) - slices.Index(r.inputs.names, b.Name)
	})
	return res
}

// passes reports whether a test passed, or was left out on purpose.
func passes(t gotest.Test) bool { return t.Status == gotest.Passed || t.Status == gotest.Skipped }

// test2json returns the command that turns the output of a test binary into JSON. `go tool` would find the program
// again at each of two thousand runs, which takes longer than most tests.
var test2json = sync.OnceValue(func() []string {
	out, err := exec.Command("go", "tool", "-n", "test2json").Output()
	path := strings.TrimSpace(string(out))
	if _, missing := os.Stat(path); err != nil || missing != nil {
		return []string{"go", "tool", "test2json"}
	}
	return []string{path}
})
