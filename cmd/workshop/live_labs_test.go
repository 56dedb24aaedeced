//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/authoring/cmdtest"
)

func TestLive_of_a_lab(t *testing.T) {
	root := box(t)
	require.NoError(t, cmdtest.Add(root, "testdata/lab.txtar"))
	require.NoError(t, generateAll(root))
	stdout, stderr, _ := run(t, root, "hint", "1/1") // makes the progress file
	require.Contains(t, stdout, "task 1", stderr)

	s := sit(t, root, 60, 24, nil)
	require.NotContains(t, s.sees(`01-box  task 1 of 2`), "paper-box")
	s.types("L")
	first := s.sees(`(?s)labs/paper-box  task 1 of 2: Put.*Box\.Put is not written yet`)
	require.Regexp(t, `\npaper-box ··`, first)
	path := filepath.Join(root, "labs", "paper-box", "box.go")
	solution, err := os.ReadFile(filepath.Join(root, "labs", "solutions", "paper-box", "box.go"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, solution, 0o644))
	s.sees(`(?m)^paper-box ✓✓`)
	s.types("1")
	s.sees(`01-box  task 1 of 2`)
	s.types("q")
	require.Equal(t, 0, s.ends())

	s = sit(t, root, 60, 24, nil, "paper")
	s.sees(`labs/paper-box  task 1 of 2`)
	s.types("q")
	require.Equal(t, 0, s.ends())
}
