package tui

// These tests look at the screen without a terminal: the model is sent keys, and its picture is read with the colours
// taken off. How the program behaves on a terminal is tested in cmd/workshop.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/workspace/progress"
)

// seven are chapters of five tasks and a bonus.
func seven(state runner.State) (all []progress.Chapter) {
	for n := 1; n <= 7; n++ {
		c := progress.Chapter{Chapter: course.Chapter{Dir: fmt.Sprintf("%02d-layer", n), Number: n,
			Topic: fmt.Sprint("layer", n)}}
		for k := 1; k <= 6; k++ {
			task := course.Task{Number: k, Title: fmt.Sprint("Part ", k), ID: fmt.Sprintf("layer%d/part%d", n, k), Minutes: 10,
				Bonus: k == 6, Anchor: fmt.Sprintf("task-%d", k)}
			c.Chapter.Tasks = append(c.Chapter.Tasks, task)
			c.Tasks = append(c.Tasks, progress.TaskState{Task: task, State: state})
		}
		all = append(all, c)
	}
	return all
}

// fake stands for the commands.
type fake struct {
	all   []progress.Chapter
	noted func()
	test  func(context.Context, progress.Chapter, runner.Options) (runner.Verdict, error)
	page  []string
}

func (f *fake) Look() []progress.Chapter { return f.all }

func (f *fake) Notes(progress.Chapter) []string {
	if f.noted != nil {
		f.noted()
	}
	return nil
}

func (f *fake) Test(ctx context.Context, c progress.Chapter, o runner.Options) (runner.Verdict, error) {
	return f.test(ctx, c, o)
}

func (f *fake) Page(Page, progress.Chapter, progress.TaskState, int) ([]string, error) {
	return f.page, nil
}

func (f *fake) Predict(progress.Chapter, progress.TaskState) error { return nil }

// screenOf is the model at a task, on a terminal of that size, before any test has run.
func screenOf(t *testing.T, all []progress.Chapter, at string, width, height int) *Model {
	t.Helper()
	c, task, ok := progress.Current(all, at)
	if !ok {
		c = all[len(all)-1]
		task = c.Tasks[0]
	}
	m := New(t.Context(), t.TempDir(), &fake{all: all}, all, c, task)
	m.saves = func(context.Context, string, progress.Chapter, func()) {}
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

func press(m *Model, keys string) {
	for _, k := range keys {
		m.Update(tea.KeyPressMsg{Code: k, Text: string(k)})
	}
}

func picture(m *Model) []string { return strings.Split(ansi.Strip(m.View().Content), "\n") }

func TestScreen_is_as_wide_and_high_as_the_terminal(t *testing.T) {
	for _, width := range []int{40, 60, 80, 200} {
		for _, keys := range []string{"", "a", "?", "n", "x"} {
			m := screenOf(t, seven(runner.Open), "layer4/part2", width, 24)
			press(m, keys)
			rows := picture(m)
			require.Len(t, rows, 24, "%q", keys)
			for _, row := range rows {
				require.LessOrEqual(t, ansi.StringWidth(row), width, "%q: %s", keys, row)
			}
		}
	}
}

func TestFooter_drops_what_has_no_room_and_keeps_the_keys_and_quit(t *testing.T) {
	for width, wanted := range map[int]string{
		120: "p predict  h hint  a all  n/b task  o open  r race  l list  s solution  i text  f one test  d debug  " +
			"? keys  q quit",
		90: "p predict  h hint  a all  n/b task  o open  r race  l list  s solution  ? keys  q quit",
		60: "p predict  h hint  a all  n/b task  o open  ? keys  q quit",
		40: "p predict  h hint  ? keys  q quit",
		18: "? keys  q quit",
	} {
		m := screenOf(t, seven(runner.Open), "layer1/part1", width, 24)
		rows := picture(m)
		require.Equal(t, wanted, strings.TrimRight(rows[len(rows)-1], " "), "%d columns", width)
	}
}

func TestList_opens_where_one_is(t *testing.T) {
	m := screenOf(t, seven(runner.Open), "layer6/part3", 80, 16)
	m.workshop.(*fake).page = append(strings.Split(strings.Repeat("a task\n", 40), "\n"), "▸ the task one is at")
	m.Update(toggle(PageList)(m)())
	text := strings.Join(picture(m), "\n")
	require.Contains(t, text, "▸ the task one is at", "the screen has no room for the beginning")
	press(m, "l")
	require.NotContains(t, strings.Join(picture(m), "\n"), "▸")
}

func TestKey_that_opens_a_page_closes_it(t *testing.T) {
	for _, key := range []string{"a", "?"} {
		m := screenOf(t, seven(runner.Open), "layer1/part1", 80, 24)
		before := picture(m)
		press(m, key)
		require.NotEqual(t, before, picture(m), key)
		press(m, key)
		require.Equal(t, before, picture(m), key)
	}
}

func TestSave_closes_pages_but_not_what_is_read(t *testing.T) {
	m := screenOf(t, seven(runner.Open), "layer1/part1", 80, 24)
	var saved func()
	m.saves = func(_ context.Context, _ string, _ progress.Chapter, f func()) { saved = f }
	m.send = func(msg tea.Msg) { m.Update(msg) }
	m.watch()()
	for key, stays := range map[string]bool{"a": true, "?": false} {
		press(m, key)
		saved()
		require.Equal(t, stays, strings.Contains(strings.Join(picture(m), "\n"), "esc back"), key)
	}
}

func TestStrip_shows_the_chapter_one_is_at(t *testing.T) {
	for n := 1; n <= 7; n++ {
		m := screenOf(t, seven(runner.Open), fmt.Sprintf("layer%d/part1", n), 44, 24)
		require.Contains(t, picture(m)[1], fmt.Sprintf("%02d ", n), "the second row of a narrow screen")
	}
	m := screenOf(t, seven(runner.Open), "layer7/part1", 80, 24)
	require.Contains(t, picture(m)[1], "01 ", "there is room for all")
}

func TestHeader_counts_the_tasks_that_everybody_does(t *testing.T) {
	m := screenOf(t, seven(runner.Open), "layer2/part5", 80, 24)
	require.Contains(t, picture(m)[0], "02-layer  task 5 of 5: Part 5")
	press(m, "n")
	require.Contains(t, picture(m)[0], "02-layer  bonus task 6: Part 6")
}

// green is the verdict on a chapter of which every test passes.
func green(c progress.Chapter) runner.Verdict {
	v := runner.Verdict{Chapter: c.Chapter}
	for _, task := range c.Chapter.Tasks {
		v.Tasks = append(v.Tasks, runner.Task{Task: task, State: runner.Passed,
			Tests: []runner.Test{{Name: "TestTask", Status: gotest.Passed}}})
	}
	return v
}

// judged is the message with which a run ends.
func judged(v runner.Verdict) change {
	return func(m *Model) tea.Cmd { return m.judge(v, nil) }
}

func TestRun_says_what_takes_long(t *testing.T) {
	m := screenOf(t, seven(runner.Open), "layer1/part1", 80, 24)
	m.start()
	text := func() string {
		m.Update(nil)
		return strings.Join(strings.Fields(strings.Join(picture(m), " ")), " ")
	}
	m.began = m.began.Add(-3 * time.Second)
	require.NotContains(t, text(), "race detector")
	m.race = true
	require.Contains(t, text(), "Go compiles client-go for the race detector. The first time this takes a minute.")

	m.compiled, m.toCompile = 120, 340
	require.Contains(t, text(), "Go compiles for the race detector, the first time only: 120 of 340 packages.")
	m.see(gotest.Test{Name: "TestTask1_a", Status: gotest.Running})
	m.underway[0].at = m.underway[0].at.Add(-2 * time.Second)
	require.NotContains(t, text(), "race detector", "it is compiled")
	require.NotContains(t, text(), "TestTask1_a")
	m.see(gotest.Test{Name: "TestTask1_a", Status: gotest.Running,
		Place: &failure.Place{Call: "(*Queue).Get", At: failure.Position{File: "queue.go", Line: 41}}})
	require.Contains(t, text(), "TestTask1_a has run for 2s. It is still running: (*Queue).Get at queue.go:41. c ends it")
}

func TestFailure_is_shown_while_the_run_continues(t *testing.T) {
	all := seven(runner.Failing)
	verdict := green(all[6])
	for i := range verdict.Tasks {
		verdict.Tasks[i].State = runner.Failing
		verdict.Tasks[i].Tests[0].Status = gotest.Failed
	}
	verdict.Tasks[0].State = runner.Passed
	for _, c := range []struct {
		task   int
		change func(m *Model)
		shown  bool
	}{
		{2, func(*Model) {}, true},
		{3, func(*Model) {}, false},
		{3, func(m *Model) { m.began = m.began.Add(-4 * time.Second) }, true},
		{2, func(m *Model) { m.vetting = true }, false},
	} {
		m := screenOf(t, all, "layer7/part2", 80, 24)
		m.Update(judged(verdict))
		m.start()
		m.see(gotest.Test{Name: "TestTask_x", Status: gotest.Failed, Failures: []failure.Failure{
			{Test: "TestTask_x", Task: c.task, Kind: failure.Assertion, Problem: "the key of the object: not equal"}}})
		c.change(m)
		m.Update(nil)
		require.Equal(t, c.shown, strings.Contains(strings.Join(picture(m), "\n"), "This test has failed:"), "%+v", c.task)
	}
}

// A learner under load saw the failure before the save, and no word that it was old.
func TestOld_failure_is_said_to_be_old(t *testing.T) {
	all := seven(runner.Failing)
	verdict := green(all[6])
	verdict.Tasks[1].State, verdict.Tasks[1].Tests[0].Status = runner.Failing, gotest.Failed
	m := screenOf(t, all, "layer7/part2", 80, 24)
	m.Update(judged(verdict))
	text := func() string { m.Update(nil); return strings.Join(picture(m), "\n") }
	m.start()
	require.NotContains(t, text(), "came to before", "most runs take less than a glance")
	m.began = m.began.Add(-3 * time.Second)
	require.Contains(t, text(), "The tests run. This is what they came to before:")
}

func TestTask_whose_tests_were_cut_off_says_why(t *testing.T) {
	all := seven(runner.Failing)
	verdict := green(all[6])
	verdict.Cut, verdict.Tasks[1].State, verdict.Tasks[1].Tests = true, runner.Unknown, nil
	m := screenOf(t, all, "layer7/part1", 80, 24)
	m.Update(judged(verdict))
	require.Contains(t, strings.Join(picture(m), "\n"), "took all of the 10s that later tasks get")
}

func TestTask_of_a_green_chapter_is_shown(t *testing.T) {
	all := seven(runner.Passed)
	m := screenOf(t, all, "layer7/part1", 80, 24)
	m.Update(judged(green(all[6])))
	require.Contains(t, strings.Join(picture(m), "\n"), "Every test of this chapter passes.")
	press(m, "nn")
	text := strings.Join(picture(m), "\n")
	require.Contains(t, text, "Task 3: 1 of 1 tests pass.")
	require.Contains(t, text, "07-layer/README.md#task-3")
}

func TestDebug_of_a_test_that_passes_alone_is_refused(t *testing.T) {
	all := seven(runner.Passed)
	m := screenOf(t, all, "layer1/part1", 80, 24)
	v := green(all[0])
	v.Only = "TestTask"
	m.Update(judged(v))
	press(m, "d")
	require.Contains(t, picture(m)[23], "no failed test is on the screen")
}

func TestGreen_is_shown_before_vet_has_had_its_say(t *testing.T) {
	all := seven(runner.Passed)
	m := screenOf(t, all, "layer7/part1", 80, 24)
	m.start()
	m.Update(change(func(m *Model) tea.Cmd { return m.green(green(all[6])) }))
	require.Contains(t, picture(m)[0], "green, running the full tests")
	require.Contains(t, strings.Join(picture(m), "\n"), "Every test of this chapter passes.")

	m.Update(judged(green(all[6])))
	require.NotContains(t, picture(m)[0], "looking")
	require.Contains(t, strings.Join(picture(m), "\n"), "Every test of this chapter passes.")

	m.start()
	m.Update(change(func(m *Model) tea.Cmd { return m.green(green(all[6])) }))
	vetted := green(all[6])
	vetted.Build, vetted.Vetted = []string{"07-layer/a.go:5:1: format %d has arg of wrong type"}, true
	m.Update(judged(vetted))
	require.Contains(t, strings.Join(picture(m), "\n"), "format %d has arg of wrong type", "vet's word is the last one")
}

// Only the race detector, which is part of the full run, finds some mistakes.
func TestGreen_ends_at_a_failure_that_only_the_full_run_finds(t *testing.T) {
	all := seven(runner.Passed)
	m := screenOf(t, all, "layer7/part3", 80, 24)
	m.start()
	m.Update(change(func(m *Model) tea.Cmd { return m.green(green(all[6])) }))
	red := green(all[6])
	red.Tasks[1].State = runner.Failing
	red.Tasks[1].Tests = []runner.Test{{Name: "TestTask2_Lock", Status: gotest.Failed, Failures: []failure.Failure{
		{Test: "TestTask2_Lock", Kind: failure.Race, Problem: "two goroutines use the same memory"}}}}
	m.Update(judged(red))
	screen := strings.Join(picture(m), "\n")
	require.Contains(t, screen, "two goroutines use the same memory")
	require.NotContains(t, screen, "passes.")
}

func TestAll_failures_of_a_run_that_was_ended_are_not_none(t *testing.T) {
	all := seven(runner.Passed)
	m := screenOf(t, all, "layer7/part1", 80, 24)
	m.start()
	ended := green(all[6])
	ended.Stopped = runner.EndedByUser
	for i := range ended.Tasks {
		ended.Tasks[i].State, ended.Tasks[i].Tests = runner.Unknown, nil
	}
	m.Update(judged(ended))
	press(m, "a")
	screen := strings.Join(picture(m), "\n")
	require.NotContains(t, screen, "Nothing fails")
	require.Contains(t, screen, "you ended it")
}

func TestTakeaway_is_not_for_a_newer_run(t *testing.T) {
	all := seven(runner.Passed)
	m := screenOf(t, all, "layer7/part1", 80, 24)
	m.start()
	m.Update(judged(green(all[6])))
	m.began = m.began.Add(-time.Second) // the clock of some systems is coarse
	opens := m.takeaway()
	m.start()
	m.Update(opens())
	require.Equal(t, pageNow, m.page)
	m.Update(m.takeaway()())
	require.Equal(t, PageTakeaway, m.page)
}
