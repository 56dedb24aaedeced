//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// twoPrograms is a workshop whose first task has two programs to predict.
func twoPrograms(t *testing.T) string {
	t.Helper()
	return home(t, "testdata/workshop.txtar")
}

func TestPredict_asks_before_it_shows_an_answer(t *testing.T) {
	s := sit(t, twoPrograms(t), 80, 50, nil, "predict", "01/1")
	question := s.sees(`Type what it prints`)
	require.Regexp(t, "(?s)Two things go into a box.*What does `Len` return\\?.*package main", question)
	require.NotContains(t, question, "It prints")
	s.types("3\n")
	s.types("\n")
	answer := s.sees(`Press Enter for the next program`)
	require.Regexp(t, `(?s)Not quite.*✗ you: 3 *\n *it:  2 .*With the wrong version adds-two it prints: *\n  4 `, answer)
	require.NotContains(t, answer, "One thing goes into a box")
	s.types("\n")
	s.sees(`(?s)One thing goes into a box.*Type what it prints`)
	s.types("\n")
	s.sees(`(?s)It prints: *\n  \(nothing\).*It should not`)
	require.Equal(t, 0, s.ends())
}

func TestPredict_says_that_a_prediction_is_right(t *testing.T) {
	s := sit(t, twoPrograms(t), 80, 50, nil, "predict", "01/1")
	s.sees(`Type what it prints`)
	s.types("  2 \n")
	s.types("\n")
	s.sees(`(?s)Right. It prints: *\n *✓ 2 .*With the wrong version adds-two it prints: *\n  4 `)
	s.types("q\n")
	require.Equal(t, 0, s.ends())
}

func TestPredict_says_that_a_build_takes_long(t *testing.T) {
	bin, may := t.TempDir(), filepath.Join(t.TempDir(), "may")
	path := "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
	real, err := exec.LookPath("go")
	require.NoError(t, err)
	slow := fmt.Sprintf("#!/bin/sh\n[ $1 = build ] && until [ -e %s ]; do sleep 0.1; done\nexec %s \"$@\"\n", may, real)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(slow), 0o755))
	s := sit(t, twoPrograms(t), 80, 50, []string{path}, "predict", "01/1")
	s.sees(`Type what it prints`)
	s.types("2\n\n")
	require.NotContains(t, s.sees(`The program runs. Its first build takes some seconds`), "It prints")
	require.NoError(t, os.WriteFile(may, nil, 0o644))
	s.sees(`It prints: *\n *✓ 2 `)
	s.types("q\n")
	require.Equal(t, 0, s.ends())
}

func TestPredict_repeats_a_question_that_has_scrolled_away(t *testing.T) {
	s := sit(t, twoPrograms(t), 80, 16, nil, "predict", "01/1")
	asked := s.sees(`Type what it prints`)
	require.Regexp(t, "(?s)fmt.Println.*Two things go into a box.*What does `Len` return\\?.*Type what it prints", asked)
	s.types("q\n")
	require.Equal(t, 0, s.ends())
}

func TestPredict_ends_with_q(t *testing.T) {
	s := sit(t, twoPrograms(t), 80, 50, nil, "predict", "01/1")
	s.sees(`Type what it prints`)
	s.types("q\n")
	require.Equal(t, 0, s.ends())
	require.NotContains(t, s.text(), "It prints")
}

func TestPredict_ends_with_ctrl_c(t *testing.T) {
	s := sit(t, twoPrograms(t), 80, 50, nil, "predict", "01/1")
	s.sees(`Type what it prints`)
	s.types("\x03")
	require.Equal(t, 130, s.ends())
}

func TestLive_predict_asks_and_answers(t *testing.T) {
	s := sit(t, twoPrograms(t), 80, 40, nil, "watch", "01")
	s.sees(`Box\.Put is not written yet`)
	s.types("p")
	question := s.sees(`Type what it prints`)
	require.Contains(t, question, "Two things go into a box")
	s.types("2\n\n")
	answer := s.sees(`Press Enter for the next program`)
	require.Regexp(t, `(?s)Right. It prints: *\n *✓ 2 .*With the wrong version adds-two it prints: *\n  4 `, answer)
	s.types("\n")
	s.sees(`(?s)One thing goes into a box.*Type what it prints`)
	s.types("q\n")
	s.sees(`Box\.Put is not written yet`)
	s.types("n")
	s.sees(`task 2 of 2`)
	s.types("p")
	s.sees(`task 2 of 01-box has no program to predict`)
	s.types("b")
	s.sees(`task 1 of 2`)
	s.types("q")
	require.Equal(t, 0, s.ends())
}
