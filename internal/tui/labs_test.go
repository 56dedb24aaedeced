package tui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/workspace/progress"
)

// withLabs are seven chapters in a state, and three labs of two tasks that nobody has begun.
func withLabs(state runner.State) []progress.Chapter {
	all := seven(state)
	for _, name := range []string{"rewriting-proxy", "custom-resource", "todays-informer"} {
		c := progress.Chapter{Chapter: course.Chapter{Dir: "labs/" + name, Topic: name}, Untouched: true}
		for n, title := range []string{"Begin", "End"} {
			task := course.Task{Number: n + 1, Title: title, ID: name + "/" + strings.ToLower(title), Minutes: 10}
			c.Chapter.Tasks = append(c.Chapter.Tasks, task)
			c.Tasks = append(c.Tasks, progress.TaskState{Task: task, State: runner.Open})
		}
		all = append(all, c)
	}
	return all
}

func TestLabs_have_a_strip_of_their_own(t *testing.T) {
	all := withLabs(runner.Open)
	require.NotContains(t, picture(screenOf(t, all, "layer7/part1", 200, 24))[1], "proxy", "a chapter's has chapters")
	for _, width := range []int{20, 40, 80} {
		for _, c := range all[7:] {
			strip := picture(screenOf(t, all, c.Topic+"/begin", width, 24))[1]
			require.Contains(t, strip, c.Topic, "%d columns", width)
			require.NotContains(t, strip, "01 ")
		}
	}
}

func TestLabs_are_chosen_by_L_and_left_by_a_number(t *testing.T) {
	m := screenOf(t, withLabs(runner.Open), "layer3/part1", 80, 24)
	at := func() string { return strings.Fields(picture(m)[0])[0] }
	for _, step := range [][2]string{
		{"L", "labs/rewriting-proxy"}, {"L", "labs/custom-resource"}, {"N", "labs/todays-informer"},
		{"0", "labs/rewriting-proxy"}, {"B", "labs/todays-informer"}, {"3", "03-layer"}, {"B", "02-layer"},
		{"B", "01-layer"}, {"B", "07-layer"}, {"N", "01-layer"},
	} {
		press(m, step[0])
		require.Equal(t, step[1], at(), step[0])
	}
	m.all[8].Untouched = false
	press(m, "L")
	require.Equal(t, "labs/custom-resource", at(), "the one that is begun")

	m = screenOf(t, seven(runner.Open), "layer3/part1", 80, 24)
	press(m, "L")
	require.Contains(t, picture(m)[23], "This workshop has no labs.")
}

func TestLabs_are_offered_when_every_chapter_is_done(t *testing.T) {
	all := withLabs(runner.Passed)
	text := func(m *Model) string { return strings.Join(picture(m), "\n") }
	m := screenOf(t, all, "", 80, 24)
	press(m, "7")
	m.Update(judged(green(all[6])))
	require.Contains(t, text(m), "L  labs, if you want to go on after the chapters")
	require.Contains(t, text(m), "N  the next chapter: 01-layer")

	all[2].Tasks[0].State = runner.Open
	m = screenOf(t, all, "", 80, 24)
	press(m, "7")
	m.Update(judged(green(all[6])))
	require.NotContains(t, text(m), "labs")

	c := all[7]
	m = screenOf(t, all, c.Topic+"/begin", 80, 24)
	m.Update(judged(green(c)))
	require.Contains(t, text(m), "N  the next lab: labs/custom-resource")
	require.NotContains(t, text(m), "if you want to go on")
}
