package main

// This file is `workshop predict`: the short programs of a task whose output the learner predicts. The live view shows
// them too.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
		`Read a short program, type what it prints, then run it. Each program shows one
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

// predict shows programs one after the other, until the learner quits.
func (a *app) predict(c progress.Chapter, programs []course.Program, yours bool) error {
	for i, p := range programs {
		err := a.predictOne(c, p, yours)
		if more := i < len(programs)-1; err == nil && more {
			err = cmp.Or(a.print(""), a.enter("Press Enter for the next program (q quits) "))
		}
		if errors.Is(err, errQuit) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// predictOne shows one program, asks on a terminal what it prints, and shows the answer.
func (a *app) predictOne(c progress.Chapter, p course.Program, yours bool) error {
	question, program := questionLines(c.Chapter, p, a.width()), programLines(p, a.width())
	if err := a.print(slices.Concat(question, []string{""}, program, []string{""})...); err != nil {
		return err
	}
	answer := a.answer(a.ctx, c.Chapter, p, yours)
	defer answer.cancel()
	typed, err := a.typedLines()
	if err != nil {
		return err
	}
	page, err := answer.page(a.width())
	if err != nil {
		return err
	}
	return a.print(page(typed)...)
}

// typedLines asks for the lines that a program prints, up to an empty one. It returns errQuit for q and at the end of
// the input. Without a terminal it does not ask.
func (a *app) typedLines() (lines []string, err error) {
	if !isTerminal(a.in) {
		return nil, nil
	}
	fmt.Fprintln(a.out, style.Key("Type what it prints. An empty line shows the answer, q quits."))
	for {
		fmt.Fprint(a.out, "> ")
		line, err := a.readAnswer()
		if err != nil || line == "" {
			return lines, err
		}
		lines = append(lines, line)
	}
}

// enter waits for Enter. It returns errQuit for q and at the end of the input. Without a terminal it does not wait.
func (a *app) enter(prompt string) error {
	if !isTerminal(a.in) {
		return nil
	}
	fmt.Fprint(a.out, style.Key(prompt))
	_, err := a.readAnswer()
	fmt.Fprintln(a.out)
	return err
}

// questionLines returns the question about a program.
func questionLines(c course.Chapter, p course.Program, width int) []string {
	task, _ := c.Task(p.Task)
	place := fmt.Sprintf("%s, task %d: %s", c.Dir, task.Number, task.Title)
	out := []string{style.Faint(place), style.Strong(p.Title)}
	return append(out, style.Wrap(course.PlainLinks(p.Question), min(width, 100))...)
}

// programLines returns the source of a program.
func programLines(p course.Program, width int) []string {
	return style.Wrap(indented(strings.TrimSpace(p.Source)), width)
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

// page waits for the runs. It returns a function that shows the outputs and the story, for what the learner has typed.
func (r *answering) page(width int) (func(typed []string) []string, error) {
	r.runs.Wait()
	r.stop()
	if err := errors.Join(r.err, r.mineErr); err != nil {
		return nil, err
	}
	story := r.story(width)
	return func(typed []string) []string {
		if len(typed) == 0 {
			return append(outputLines("It prints:", r.answer.Right), story...)
		}
		compared, same := predict.Compare(typed, r.answer.Right.Lines)
		title := style.Warn("Not quite. Your prediction, and what it prints:")
		if same {
			title = style.Good("Right. It prints:")
		}
		return append(outputLines(title, predict.Output{Lines: compared}), story...)
	}, nil
}

// story returns the other outputs, and what the mistake does in a real cluster.
func (r *answering) story(width int) (out []string) {
	out = append(out, outputLines("With the wrong version "+r.program.Wrong+" it prints:", r.answer.Wrong)...)
	if r.yours {
		out = append(out, outputLines("With your code it prints:", r.mine)...)
	}
	return append(out, style.Wrap(course.PlainLinks(r.program.Story), min(width, 100))...)
}

// outputLines returns an output below its title.
func outputLines(title string, o predict.Output) []string {
	return []string{style.Strong(title), indented(strings.Join(o.Lines, "\n")), ""}
}

// predictions returns the programs of a task, for the live view.
func (a *app) predictions(c progress.Chapter, t progress.TaskState, width int) (all []tui.Prediction, err error) {
	programs, err := a.programs(c, t.Task)
	for _, p := range programs {
		all = append(all, tui.Prediction{
			Question: questionLines(c.Chapter, p, width),
			Program:  programLines(p, width),
			Answer: func(ctx context.Context) (func(typed []string) []string, error) {
				return a.answer(ctx, c.Chapter, p, false).page(width)
			},
		})
	}
	return all, err
}
