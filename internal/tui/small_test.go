package tui

// This file tests the screen of a very small terminal, and the screen of a green chapter.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
)

func TestScreen_of_six_rows_names_the_failing_test(t *testing.T) {
	all := seven(runner.Open)
	m := screenOf(t, all, "layer1/part1", 20, 6)
	v := green(all[0])
	v.Tasks[0].State = runner.Failing
	v.Tasks[0].Tests = []runner.Test{{Name: "TestTask1_Pop_waits", Status: gotest.Failed,
		Failures: []failure.Failure{{Test: "TestTask1_Pop_waits", Problem: "not equal"}}}}
	m.Update(judged(v))
	rows := picture(m)
	require.Len(t, rows, 6)
	require.Contains(t, strings.Join(rows, "\n"), "TestTask1_Pop_waits")
}

func TestGreen_chapter_offers_its_bonus_before_the_next_one(t *testing.T) {
	all := seven(runner.Open)
	m := screenOf(t, all, "layer1/part5", 80, 24)
	v := green(all[0])
	v.Tasks[5].State = runner.Bonus
	m.Update(judged(v))
	text := strings.Join(picture(m), "\n")
	bonus, next := strings.Index(text, "n  on to the bonus, if you want it: task 6, Part 6"), strings.Index(text, "N  the next")
	require.Positive(t, bonus, text)
	require.Greater(t, next, bonus, text)
}
