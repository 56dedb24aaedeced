package tui

// This file tests the screen of a very small terminal, and the screen of a green chapter.

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
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

// A run skips the tests of a bonus unless the learner is at it, so its verdict is not about the bonus.
func TestBonus_is_tested_when_the_learner_goes_to_it(t *testing.T) {
	all := seven(runner.Open)
	m := screenOf(t, all, "layer1/part5", 80, 24)
	v := green(all[0])
	v.Tasks[5].State = runner.Bonus
	v.Tasks[5].Tests = []runner.Test{{Name: "TestTask6_Lid", Status: gotest.Skipped}}
	m.Update(judged(v))
	require.False(t, m.running)
	press(m, "n")
	require.True(t, m.running, "a run at the bonus")

	v.Tasks[5].Tests[0].Status = gotest.Failed
	v.Tasks[5].Tests[0].Failures = []failure.Failure{{Test: "TestTask6_Lid", Problem: "called Lid: not written yet",
		Todo: &failure.Todo{Symbol: "Lid", Task: 6}}}
	v.Todos = []failure.Todo{{Symbol: "Lid", At: failure.Position{File: "box.go", Line: 7}, Task: 6}}
	m.Update(judged(v))
	text := strings.Join(picture(m), "\n")
	require.Contains(t, text, "Lid is not written yet")
	require.Contains(t, text, "To write in this task:")
	require.Contains(t, text, "box.go:7")
}

func TestBonus_that_fails_is_not_under_a_green_line(t *testing.T) {
	all := seven(runner.Open)
	m := screenOf(t, all, "layer1/part6", 80, 24)
	m.start()
	v := green(all[0])
	v.Tasks[5].State = runner.Failing
	v.Tasks[5].Tests = []runner.Test{{Name: "TestTask6_Lid", Status: gotest.Failed,
		Failures: []failure.Failure{{Test: "TestTask6_Lid", Problem: "not equal"}}}}
	m.Update(change(func(m *Model) tea.Cmd { return m.green(v) }))
	require.NotContains(t, picture(m)[0], "green")
	require.Contains(t, picture(m)[0], "running the full tests")
}

// A finished layer that was copied into the chapter was called task 2 of 6.
func TestSave_that_finishes_a_chapter(t *testing.T) {
	m := screenOf(t, seven(runner.Open), "layer1/part1", 80, 24)
	m.start()
	v := green(m.chapter)
	for i := range v.Tasks[1:] {
		v.Tasks[i+1].State = runner.Unknown
	}
	m.Update(change(func(m *Model) tea.Cmd { return m.green(v) }))
	require.Contains(t, picture(m)[0], "task 2 of 5")
	m.Update(change(func(m *Model) tea.Cmd { return m.green(green(m.chapter)) }))
	m.Update(judged(green(m.chapter)))
	require.Contains(t, picture(m)[0], "all 5 tasks")
	require.Contains(t, strings.Join(picture(m), "\n"), "Tasks 2, 3, 4, 5, 6 pass.")
}

// "Task 3 passes." stood above a failure of task 1.
func TestSave_that_breaks_an_earlier_task(t *testing.T) {
	m := screenOf(t, seven(runner.Open), "layer1/part3", 80, 24)
	v := green(m.chapter)
	v.Tasks[0].State, v.Tasks[0].Green = runner.Failing, true
	v.Tasks[0].Tests = []runner.Test{{Name: "TestTask1_Lid", Status: gotest.Failed,
		Failures: []failure.Failure{{Test: "TestTask1_Lid", Problem: "not equal"}}}}
	m.Update(judged(v))
	text := strings.Join(picture(m), "\n")
	require.Contains(t, text, "task 1 of 5")
	require.NotContains(t, text, "pass.")
	require.NotContains(t, text, "passes.")
}
