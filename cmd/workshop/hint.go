package main

// This file is `workshop hint`: the hints in a chapter's hints.md, one at a time. The live view takes hints here too.

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newHint() *cobra.Command {
	var again bool
	cmd := chapterCommand("hint [chapter/task]", "Show the next hint for the current task",
		`Show the next hint for the current task. The first hint says where to look, the
second what must always hold, the third how the code is built. None of them is code.
After the last hint, the command shows all of them; --again shows those that you
have taken.`,
		func(a *app, c progress.Chapter, task course.Task) ([]string, error) {
			if task.Number == 0 {
				task = a.placeIn(c).Task
			}
			texts, err := hintsOf(a.root, c, task)
			if err != nil {
				return nil, err
			}
			from, to := 0, min(a.progress.HintsTaken(task), len(texts))
			out := []string{style.Strong(fmt.Sprintf("%s, task %d: %s", c.Dir, task.Number, task.Title))}
			if !again {
				if from, to, err = takeHint(a.root, task, len(texts)); err != nil {
					a.warn(fmt.Errorf("%w; the command does not know which hints you have taken, and shows all", err))
				}
				if from == to || err != nil {
					from, out = 0, append(out, "These are all of them:")
				}
			}
			if to == 0 {
				out = append(out, "You have not taken a hint yet.")
			}
			return append(out, hintLines(c, texts, from, to, a.width())...), nil
		})
	cmd.Flags().BoolVar(&again, "again", false, "show the hints that you have taken")
	return cmd
}

func hintsOf(root string, c progress.Chapter, task course.Task) ([]string, error) {
	byTask, err := course.Hints(root, c.Dir)
	if err == nil && len(byTask[task.Number]) == 0 {
		err = fmt.Errorf("chapter %s has no hint for task %d", c.Dir, task.Number)
	}
	return byTask[task.Number], err
}

// takeHint stores that the next of a task's hints was taken, and returns how many were taken before and now. If it
// cannot store that, all are taken: better than the first again and again.
func takeHint(root string, task course.Task, all int) (before, now int, err error) {
	err = progress.Update(root, func(f *progress.File) { // under a lock, since two commands may take one at a time
		before = min(f.HintsTaken(task), all)
		now = min(before+1, all)
		f.Hints[task.ID] = now
	})
	if err != nil {
		now = all
	}
	return before, now, err
}

// hintLines returns the text of some of a task's hints, and what to know about them in a bare chapter.
func hintLines(c progress.Chapter, texts []string, from, to, width int) (out []string) {
	if c.Bare {
		out = append(out, style.Faint("Hints use the names of the ordinary stub; yours may differ."))
	}
	for i := from; i < to; i++ {
		out = append(out, style.Key(fmt.Sprintf("hint %d of %d", i+1, len(texts))))
		out = append(out, style.Wrap(indented(texts[i]), min(width, 100))...)
	}
	return out
}

// nextHints takes a task's next hint, and returns the text of all that were taken, for the live view.
func (a *app) nextHints(c progress.Chapter, t progress.TaskState, width int) ([]string, error) {
	texts, err := hintsOf(a.root, c, t.Task)
	if err != nil {
		return nil, err
	}
	_, taken, _ := takeHint(a.root, t.Task, len(texts))
	more := "h  the next hint"
	if taken == len(texts) {
		more = "That was the last hint."
	}
	title := style.Strong(fmt.Sprintf("Hints for task %d: %s", t.Number, t.Title))
	return slices.Concat([]string{title, ""}, hintLines(c, texts, 0, taken, width), []string{"", style.Faint(more)}), nil
}
