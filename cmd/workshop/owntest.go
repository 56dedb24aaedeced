package main

// This file is the hard way to win at `workshop bugs`: a test of the player's own, which has to pass over the right code
// and to fail over the wrong version. The other way, to name the line, is in game.go.

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
)

// tryTest runs the player's test: it has to pass over the solution and to fail over the wrong version.
func (g *game) tryTest() error {
	path := filepath.Join(g.desk.root, g.chapter.Dir, testFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(path, []byte(fmt.Sprintf(testToBegin, g.chapter.Package(), g.chapter.Dir, g.chapter.Package())), 0o644); err != nil {
			return fmt.Errorf("make a test to begin with: %w", err)
		}
		return g.say(fmt.Sprintf("Made %s/%s. Write the test, then try again.", g.chapter.Dir, testFile))
	}
	right, err := g.run(g.solution)
	if err != nil {
		return err
	}
	if problem := notPassing(right); problem != "" {
		return g.miss("Your test has to pass over the right code, and does not:\n" + problem)
	}
	wrong, err := g.run(g.wrong)
	if err != nil {
		return err
	}
	if notPassing(wrong) == "" {
		return g.miss("Your test passes over the wrong code too, so it does not see the bug.")
	}
	if err := g.say(style.Good("Your test catches it."), notPassing(wrong)); err != nil {
		return err
	}
	return g.show(bugFound)
}

func (g *game) run(layer overlay.Layer) (gotest.Result, error) {
	o, err := overlay.Write(g.desk.root, filepath.Join(g.desk.root, ".workshop", "overlay"), layer)
	if err != nil {
		return gotest.Result{}, err
	}
	cmd, err := o.Go(g.cmd.Context(), "test", "-json", "-timeout="+g.limit.String(), "-run", "^TestBug", "./"+g.chapter.Dir)
	if err != nil {
		return gotest.Result{}, err
	}
	return gotest.RunLimited(g.cmd.Context(), cmd, runner.Limits, nil)
}

// notPassing is what is wrong with a run in which at least one test had to pass and none to fail.
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

const testToBegin = `package %s_test

// A test of your own, for the game: it passes over the right code and fails over the wrong version.

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "client-go-workshop/%s" // take the _ away to use it as %s
	"client-go-workshop/internal/testkit/guard"
)

func TestBug_is_caught(t *testing.T) {
	guard.Test(t, "the rule", func(t *guard.T) {
		t.Did("what you do")
		require.Equal(t, "what has to come", "what has to come", "the value")
	})
}
`
