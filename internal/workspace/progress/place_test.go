package progress

// These tests ask where a learner is, for states of chapters that they make up.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
)

func TestCurrent_is_where_work_goes_on(t *testing.T) {
	passed, open, bonus := runner.Passed, runner.Open, runner.Bonus
	type flags = Chapter
	for name, c := range map[string]struct {
		one, two []runner.State
		with     flags // of the first chapter
		at       string
		want     string
	}{
		"at the beginning": {[]runner.State{open, open, bonus}, []runner.State{open, open, bonus},
			flags{Untouched: true}, "", "a1"},
		"where the file points": {[]runner.State{passed, open, bonus}, []runner.State{open, open, bonus}, flags{},
			"b2", "b2"},
		"after it, if that has passed": {[]runner.State{passed, open, bonus}, []runner.State{open, open, bonus}, flags{},
			"a1", "a2"},
		"the next chapter": {[]runner.State{passed, passed, bonus}, []runner.State{open, open, bonus}, flags{},
			"a2", "b1"},
		"from the last to the first": {[]runner.State{passed, open, bonus}, []runner.State{passed, passed, bonus}, flags{},
			"b2", "a2"},
		"a bonus that one has chosen": {[]runner.State{passed, passed, bonus}, []runner.State{open, open, bonus}, flags{},
			"a3", "a3"},
		"all done": {[]runner.State{passed, passed, bonus}, []runner.State{passed, passed, bonus},
			flags{}, "b2", ""},
		"a task that is gone": {[]runner.State{passed, open, bonus}, []runner.State{open, open, bonus}, flags{},
			"gone/x", "a2"},
		"a chapter that was skipped": {[]runner.State{runner.Unknown, runner.Unknown, runner.Unknown},
			[]runner.State{open, open, bonus}, flags{Skipped: true}, "a1", "b1"},
		"the first begun": {[]runner.State{open, open, bonus}, []runner.State{runner.Failing, open, bonus},
			flags{Untouched: true}, "", "b1"},
	} {
		t.Run(name, func(t *testing.T) {
			chapterOf := func(letter string, states []runner.State, c Chapter) Chapter {
				for i, s := range states {
					c.Tasks = append(c.Tasks, TaskState{Task: course.Task{Number: i + 1, ID: fmt.Sprint(letter, i+1), Bonus: i == 2},
						State: s})
				}
				return c
			}
			chapters := []Chapter{chapterOf("a", c.one, c.with), chapterOf("b", c.two, Chapter{Untouched: c.two[0] == open})}
			_, task, ok := Current(chapters, c.at)
			require.Equal(t, c.want != "", ok)
			require.Equal(t, c.want, task.ID)
		})
	}
}

func TestCurrent_leaves_out_labs_that_are_not_begun(t *testing.T) {
	chapterOf := func(dir string, state runner.State, untouched bool) Chapter {
		return Chapter{Chapter: course.Chapter{Dir: dir}, Untouched: untouched,
			Tasks: []TaskState{{Task: course.Task{Number: 1, ID: dir + "/1"}, State: state}}}
	}
	passed, open := runner.Passed, runner.Open
	for name, c := range map[string]struct {
		chapter, first, second runner.State // of 07, and of two labs
		begun                  bool         // the second lab
		at, want               string       // a folder; "" if no task is left
	}{
		"after the chapters":             {passed, open, open, false, "07-x", ""},
		"after the chapters, and no at":  {passed, open, open, false, "", ""},
		"a lab that is begun":            {passed, open, open, true, "07-x", "labs/b"},
		"a begun lab, and no at":         {passed, open, open, true, "", "labs/b"},
		"an open chapter comes first":    {open, open, open, true, "07-x", "07-x"},
		"a lab that one has gone to":     {open, open, open, false, "labs/a", "labs/a"},
		"a chapter after a finished lab": {open, passed, open, false, "labs/a", "07-x"},
		"nothing after a finished lab":   {passed, passed, open, false, "labs/a", ""},
		"the next lab, if it is begun":   {passed, passed, open, true, "labs/a", "labs/b"},
	} {
		t.Run(name, func(t *testing.T) {
			all := []Chapter{chapterOf("07-x", c.chapter, false), chapterOf("labs/a", c.first, c.first == open),
				chapterOf("labs/b", c.second, !c.begun)}
			got, _, ok := Current(all, c.at+"/1")
			require.Equal(t, c.want != "", ok)
			require.Equal(t, c.want, got.Dir)
		})
	}
}

func TestNext_is_behind_the_highest_task_that_was_ever_green(t *testing.T) {
	passed, failing, unknown, open := runner.Passed, runner.Failing, runner.Unknown, runner.Open
	for name, c := range map[string]struct {
		states []runner.State
		green  []int // ever, by number
		want   int   // 0 is none
		save   int   // the task up to which a save runs the tests first
	}{
		"nothing begun":                     {[]runner.State{open, open, open, runner.Bonus}, nil, 1, 1},
		"the third alone, and the last":     {[]runner.State{unknown, unknown, passed, runner.Bonus}, []int{3}, 1, 1},
		"the second alone":                  {[]runner.State{open, passed, open, runner.Bonus}, []int{2}, 3, 3},
		"green, and changed since":          {[]runner.State{unknown, unknown, unknown, unknown}, []int{1, 2}, 3, 3},
		"green, and wrong since":            {[]runner.State{failing, unknown, open, runner.Bonus}, []int{1, 2}, 3, 3},
		"all were green, and changed since": {[]runner.State{unknown, unknown, unknown, unknown}, []int{1, 2, 3}, 1, 4},
		"all are green":                     {[]runner.State{passed, passed, passed, runner.Bonus}, []int{1, 2, 3}, 0, 0},
		"the bonus has only been looked at": {[]runner.State{passed, passed, passed, open}, []int{1, 2, 3}, 0, 0},
		"the bonus is wrong":                {[]runner.State{passed, passed, passed, failing}, []int{1, 2, 3}, 0, 4},
		"a bonus does not count":            {[]runner.State{passed, open, open, passed}, []int{1, 4}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var chapter Chapter
			for i, s := range c.states {
				chapter.Tasks = append(chapter.Tasks, TaskState{Task: course.Task{Number: i + 1, Bonus: i == 3}, State: s})
			}
			for _, n := range c.green {
				chapter.Tasks[n-1].Green = true
			}
			task, open := chapter.Next()
			require.Equal(t, c.want > 0, open)
			require.Equal(t, max(c.want, 1), task.Number)
			require.Equal(t, len(c.green) == 3, chapter.WasGreen())
			require.Equal(t, c.save, chapter.WorkingAt(0))
			require.Equal(t, 4, chapter.WorkingAt(4), "at the bonus")
		})
	}
}

func TestGreen_outlives_the_files_but_not_a_new_beginning(t *testing.T) {
	root := newRoot(t)
	box := find(t, root, "01")
	write(t, root, "01-box/box.go", "package box\n\n// one\n")
	record(t, root, verdict(box, map[int]runner.State{1: runner.Passed, 2: runner.Passed}))
	green := func() (out []bool) {
		chapters, _ := all(t, root)
		for _, task := range chapters[0].Tasks {
			out = append(out, task.Green)
		}
		return out
	}
	require.Equal(t, []bool{true, true, false}, green())
	write(t, root, "01-box/box.go", "package box\n\n// two\n")
	require.Equal(t, []bool{true, true, false}, green())
	record(t, root, verdict(box, map[int]runner.State{1: runner.Failing, 2: runner.Open}))
	require.Equal(t, []bool{true, false, false}, green(), "nothing of the second task is written")
	err := Update(root, func(f *File) { f.StartAgain(box) })
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false}, green())
}
