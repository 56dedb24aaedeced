package main

// This file is `workshop hint`: the rungs of a chapter's hints.md, one at a time.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newHint() *cobra.Command {
	var again bool
	cmd := &cobra.Command{
		Use:   "hint [chapter/task]",
		Short: "The next hint for the task you are at",
		Long: `The next hint for the task you are at. Hints climb: where to look, then what
must hold, then the shape. None of them is code. After the last one all of
them come; --again shows those you have had.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := sitDown(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			c, task, err := d.pick(args)
			if err != nil {
				return err
			}
			if task.Number == 0 {
				task = firstOpen(c)
			}
			byTask, err := course.Hints(d.root, c.Dir)
			if err != nil {
				return err
			}
			rungs := byTask[task.Number]
			if len(rungs) == 0 {
				return fmt.Errorf("chapter %s has no hint for task %d", c.Dir, task.Number)
			}
			taken, all := min(d.book.Taken(task), len(rungs)), again
			first := taken
			if !again {
				_, err := progress.Update(d.root, func(b *progress.Book) { // somebody else may take one at the same time
					first = min(b.Taken(task), len(rungs))
					taken = min(first+1, len(rungs))
					b.Hints[task.ID] = taken
				})
				all = first == len(rungs)
				if err != nil { // where nothing can be kept, all of them are better than the first again and again
					fmt.Fprintln(cmd.ErrOrStderr(), "workshop:", err)
					fmt.Fprintln(cmd.ErrOrStderr(), "workshop: nobody knows then which hints you have had, so here are all")
					taken, all = len(rungs), true
				}
			}
			if all {
				first = 0
			}
			var show []int
			for i := first; i < taken; i++ {
				show = append(show, i)
			}
			out := []string{style.Strong(fmt.Sprintf("%s, task %d: %s", c.Dir, task.Number, task.Title))}
			if all && !again && taken == len(rungs) {
				out = append(out, "There are no more than these:")
			}
			for _, i := range show {
				out = append(out, hintLines(rungs, i, columns(cmd.OutOrStdout()))...)
			}
			if len(show) == 0 {
				out = append(out, "You have had none yet.")
			}
			return style.Fprint(cmd.OutOrStdout(), strings.Join(out, "\n")+"\n")
		},
	}
	cmd.Flags().BoolVar(&again, "again", false, "show the hints that you have had")
	return cmd
}

// firstOpen is the first task of a chapter that has not passed, or its first.
func firstOpen(c progress.Chapter) course.Task {
	for _, t := range c.Tasks {
		if t.State != runner.Passed && !t.Bonus {
			return t.Task
		}
	}
	return c.Chapter.Tasks[0]
}

func hintLines(rungs []string, i, width int) []string {
	out := []string{style.Key(fmt.Sprintf("hint %d of %d", i+1, len(rungs)))}
	for line := range strings.Lines(rungs[i]) {
		out = append(out, style.Wrap("  "+strings.TrimRight(line, "\n"), min(width, 100))...)
	}
	return out
}
