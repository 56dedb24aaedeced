package verify

// This file builds a chapter's tests over one layer as a program that can be run many times. `go test` links again each
// time it is called, and linking takes longer than most tests.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/testkit/env"
)

// program is a chapter's test binary.
type program struct{ path string }

// build makes the test binary over a layer. It links without what only a debugger needs.
func (r *run) build(layer overlay.Layer) (program, error) {
	folder := filepath.Join(r.root, ".workshop", "programs")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return program{}, fmt.Errorf("build the tests of %s: %w", r.chapter.Dir, err)
	}
	o, err := overlay.Write(r.root, layer)
	if err != nil {
		return program{}, fmt.Errorf("put %s under the tests of %s: %w", layer.Name, r.chapter.Dir, err)
	}
	name := strings.ReplaceAll(r.chapter.Dir, "/", "-") + "-" + layer.Name + ".test.exe"
	p := program{filepath.Join(folder, name)}
	cmd, err := o.Go(r.ctx, "test", "-c", "-vet=off", "-ldflags=-w -s", "-o", p.path, r.pkg())
	if err != nil {
		return program{}, err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("build the tests of %s over %s: %w\n%s", r.chapter.Dir, layer.Name, err, out)
	}
	return p, nil
}

// start prepares a run of p as `go test -json` would run it; args are flags of a test binary, such as -test.run.
func (r *run) start(p program, args ...string) *exec.Cmd {
	all := append(slices.Clone(test2json()), "-t", "-p", "client-go-workshop/"+r.chapter.Dir, p.path,
		"-test.v=test2json", "-test.timeout=120s", "-test.paniconexit0")
	cmd := overlay.Command(r.ctx, append(all, args...)...)
	cmd.Dir = filepath.Join(r.root, r.chapter.Dir)
	cmd.Env = append(cmd.Env, env.Recordings+"=off")
	return cmd
}

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
