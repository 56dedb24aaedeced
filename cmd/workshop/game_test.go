//go:build unix

package main

// This test plays `workshop bugs` on a terminal. testdata/script/bugs.txtar plays without one.

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBugs_is_a_dialogue(t *testing.T) {
	s := sit(t, home(t, "testdata/workshop.txtar"), 100, 60, nil, "bugs", "1", "--anyway")
	s.sees(`(?s)wrong version 1 of 2  \(0 of 2 done\).*although it was emptied.*answer, next, \?, quit >`)
	s.types("?\n")
	s.sees(`(?s)Name this line as wrong.*Leave this one for later`)
	s.types("answer\n")
	answered := s.sees(`(?s)The rule: empty is empty.*1 of 2 done\..*next, \?, quit >`)
	require.NotContains(t, answered, "than was put in", "the next one has not been asked for")
	s.types("next\n")
	s.sees(`wrong version 2 of 2  \(1 of 2 done\)`)
	s.types("next\n")
	s.sees(`1 of 2 of 01-box done\. The others remain\.`)
	require.Equal(t, 0, s.ends())
}
