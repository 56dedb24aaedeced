package main

// This file is `workshop bugs --try`: the player's own test must pass over the solution and fail over the wrong
// version.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

// tryTest runs the player's test over both. If there is none, it creates one to start with.
func (g *game) tryTest() error {
	path := filepath.Join(g.app.root, g.chapter.Dir, progress.BugTest)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		pkg := g.chapter.Package()
		if err := os.WriteFile(path, fmt.Appendf(nil, testTemplate, pkg, g.chapter.Dir, pkg), 0o644); err != nil {
			return fmt.Errorf("create a test: %w", err)
		}
		return g.say(fmt.Sprintf("Created %s/%s. Write the test, then try again.", g.chapter.Dir, progress.BugTest))
	}
	right, err := g.run(g.solution)
	if err != nil {
		return err
	}
	if problem := notPassing(right); problem != "" {
		return g.miss("Your test must pass over the right code, and does not:\n" + problem)
	}
	wrong, err := g.run(g.wrong)
	if err != nil {
		return err
	}
	if notPassing(wrong) == "" {
		return g.miss("Your test passes over the wrong code too, so it does not catch the bug.")
	}
	if err := g.say(style.Good("Your test catches it."), notPassing(wrong)); err != nil {
		return err
	}
	return g.show(bugFound)
}

func (g *game) run(layer overlay.Layer) (gotest.Result, error) {
	o, err := overlay.Write(g.app.root, filepath.Join(g.app.root, ".workshop", "overlay"), layer)
	if err != nil {
		return gotest.Result{}, err
	}
	cmd, err := o.Go(g.cmd.Context(), "test", "-json", "-timeout="+g.limit.String(), "-run", "^TestBug",
		"./"+g.chapter.Dir)
	if err != nil {
		return gotest.Result{}, err
	}
	return gotest.RunLimited(g.cmd.Context(), cmd, runner.Limits, nil)
}

// notPassing returns why a run did not pass, or "". At least one test must have run.
func notPassing(r gotest.Result) string {
	var out []string
	if r.Stopped != "" {
		out = append(out, "Stopped: "+r.Stopped+". Is there a loop that never ends?")
	}
	for _, t := range r.Tests {
		if t.Status != gotest.Passed && t.Status != gotest.Skipped {
			out = append(out, strings.TrimRight(t.Text(), "\n"))
		}
	}
	if len(r.Tests) == 0 {
		out = append(out, strings.TrimSpace(r.Outside), "No test whose name begins with TestBug ran.")
	}
	return strings.Join(out, "\n")
}

const testTemplate = `package %s_test

// A test of your own, for the game: it passes over the right code and fails over the wrong version.

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "client-go-workshop/%s" // remove the _ to use it as %s
	"client-go-workshop/internal/testkit/guard"
)

func TestBug_is_caught(t *testing.T) {
	guard.Test(t, "the rule", func(t *guard.T) {
		t.Did("what you do")
		require.Equal(t, "what has to come", "what has to come", "the value")
	})
}
`
