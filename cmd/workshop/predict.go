package main

// This file is `workshop predict`: the short programs of a task whose output the learner predicts. The live view shows
// them too.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/predict"
	"client-go-workshop/internal/tui"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newPredict() *cobra.Command {
	var yours bool
	cmd := chapterCommand("predict [chapter[/task]]", "Read a short program, predict its output, then run it",
		`Read a short program, predict its output, then run it. Each program shows one
behaviour of a task that people get wrong. It runs over the finished code, and over
a wrong version with another output. Then you read about the mistake's effect in a
real cluster. You need no code of your own.

    go tool workshop predict 05        the programs of the next task, or of all if the chapter is done
    go tool workshop predict 05/2      the programs of its second task
    go tool workshop predict --yours   run them over your code, too`,
		func(a *app, c progress.Chapter, task course.Task) ([]string, error) {
			programs, err := a.programs(c, task)
			if err != nil {
				return nil, err
			}
			return nil, a.predict(c, programs, yours)
		})
	cmd.Flags().BoolVar(&yours, "yours", false, "run the programs over your code, too")
	return cmd
}

// programs returns the programs of a task, of which there is at least one. A zero task is the next open one, or all
// tasks if none is open.
func (a *app) programs(c progress.Chapter, task course.Task) ([]course.Program, error) {
	all, err := course.Programs(a.root, c.Chapter)
	if err != nil {
		return nil, err
	}
	next, open := c.Next()
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("%s has no program to predict. Begin with its text: %s/README.md", c.Dir, c.Dir)
	case task.Number == 0 && !open:
		return all, nil
	case task.Number == 0:
		task = next.Task
	}
	var tasks []string
	for _, p := range all {
		if place := fmt.Sprintf("%s/%d", c.Name(), p.Task); !slices.Contains(tasks, place) {
			tasks = append(tasks, place)
		}
	}
	all = slices.DeleteFunc(all, func(p course.Program) bool { return p.Task != task.Number })
	if len(all) == 0 {
		return nil, fmt.Errorf("task %d of %s has no program to predict. To start the task: %s\n"+
			"Tasks with programs: go tool workshop predict %s",
			task.Number, c.Dir, task.Command, strings.Join(tasks, ", "))
	}
	return all, nil
}

// predict shows programs one after the other. On a terminal it waits for Enter before it shows what one prints, and
// before the next one.
func (a *app) predict(c progress.Chapter, programs []course.Program, yours bool) error {
	for i, p := range programs {
		more := i < len(programs)-1
		goesOn, err := a.predictOne(c, p, yours, more)
		if err != nil || !goesOn {
			return err
		}
	}
	return nil
}

// predictOne shows one program, and what it prints. goesOn is false if the learner has had enough.
func (a *app) predictOne(c progress.Chapter, p course.Program, yours, more bool) (goesOn bool, err error) {
	if err := a.print(append(questionLines(c.Chapter, p, a.width()), "")...); err != nil {
		return false, err
	}
	answer := a.answer(a.ctx, c.Chapter, p, yours)
	goesOn, err = a.enter("Predict, then press Enter (q quits) ")
	if err != nil || !goesOn {
		answer.cancel()
		return false, err
	}
	lines, err := answer.lines(a.width())
	if err != nil {
		return false, err
	}
	if more {
		lines = append(lines, "")
	}
	if err := a.print(lines...); err != nil || !more {
		return false, err
	}
	return a.enter("Press Enter for the next program (q quits) ")
}

// enter waits for Enter. It reports false for q and at the end of the input. Without a terminal it does not wait.
func (a *app) enter(prompt string) (bool, error) {
	if !isTerminal(a.in) {
		return true, nil
	}
	fmt.Fprint(a.out, style.Key(prompt))
	line, err := a.readLine()
	fmt.Fprintln(a.out)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil && line != "q" && line != "quit", err
}

// questionLines returns a program and the question about it.
func questionLines(c course.Chapter, p course.Program, width int) []string {
	task, _ := c.Task(p.Task)
	place := fmt.Sprintf("%s, task %d: %s", c.Dir, task.Number, task.Title)
	out := []string{style.Faint(place), style.Strong(p.Title), ""}
	for line := range strings.SplitSeq(strings.TrimSpace(p.Source), "\n") {
		out = append(out, style.Wrap(strings.TrimRight("  "+line, " "), width)...)
	}
	out = append(out, "")
	return append(out, style.Wrap(course.PlainLinks(p.Question), min(width, 100))...)
}

// answering is a program that is built and run in the background, while the learner thinks.
type answering struct {
	program course.Program
	yours   bool
	stop    context.CancelFunc
	runs    sync.WaitGroup

	answer  predict.Answer
	mine    predict.Output
	err     error
	mineErr error
}

// answer starts to build and run a program, over the learner's code too if yours is set.
func (a *app) answer(ctx context.Context, c course.Chapter, p course.Program, yours bool) *answering {
	ctx, stop := context.WithCancel(ctx)
	r := &answering{program: p, yours: yours, stop: stop}
	r.runs.Go(func() { r.answer, r.err = predict.Ask(ctx, a.root, c, p) })
	if yours {
		r.runs.Go(func() { r.mine, r.mineErr = predict.Yours(ctx, a.root, c, p) })
	}
	return r
}

// cancel ends the runs and waits for them, so that nothing of them stays behind.
func (r *answering) cancel() {
	r.stop()
	r.runs.Wait()
}

// lines waits for the runs, and returns the lines that show the outputs and the story.
func (r *answering) lines(width int) ([]string, error) {
	r.runs.Wait()
	r.stop()
	if err := errors.Join(r.err, r.mineErr); err != nil {
		return nil, err
	}
	out := outputLines("It prints:", r.answer.Right)
	out = append(out, outputLines("With the wrong version "+r.program.Wrong+" it prints:", r.answer.Wrong)...)
	if r.yours {
		out = append(out, outputLines("With your code it prints:", r.mine)...)
	}
	for paragraph := range strings.SplitSeq(course.PlainLinks(r.program.Story), "\n") {
		out = append(out, style.Wrap(paragraph, min(width, 100))...)
	}
	return out, nil
}

// outputLines returns an output below its title.
func outputLines(title string, o predict.Output) []string {
	out := []string{style.Strong(title)}
	for _, line := range o.Lines {
		out = append(out, "  "+line)
	}
	return append(out, "")
}

// predictions returns the programs of a task, for the live view.
func (a *app) predictions(c progress.Chapter, t progress.TaskState, width int) (all []tui.Prediction, err error) {
	programs, err := a.programs(c, t.Task)
	for _, p := range programs {
		all = append(all, tui.Prediction{
			Question: questionLines(c.Chapter, p, width),
			Answer: func(ctx context.Context) ([]string, error) {
				return a.answer(ctx, c.Chapter, p, false).lines(width)
			},
		})
	}
	return all, err
}
