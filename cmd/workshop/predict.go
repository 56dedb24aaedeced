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
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/predict"
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
			return nil, a.predict(c, programs, yours, "")
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

// predict shows programs one after the other, until the learner quits. With yours, each runs over the learner's code,
// too. The prompt atEnd waits for Enter after the last one; "" does not.
func (a *app) predict(c progress.Chapter, all []course.Program, yours bool, atEnd string) error {
	for i, p := range all {
		prompt := "Press Enter for the next program (q quits) "
		if i == len(all)-1 {
			prompt = atEnd
		}
		err := a.predictOne(c, p, yours)
		if err == nil && prompt != "" {
			err = cmp.Or(a.print(""), a.enter(prompt))
		}
		if errors.Is(err, errQuit) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// predictOne shows a program, and its answer when the learner has typed one. Meanwhile the program runs.
func (a *app) predictOne(c progress.Chapter, p course.Program, yours bool) error {
	task, _ := c.Task(p.Task)
	question := append([]string{style.Strong(p.Title)}, style.Wrap(course.PlainLinks(p.Question), a.proseWidth())...)
	// Not wrapped, so that no name breaks.
	source := strings.ReplaceAll(indented(strings.TrimSpace(p.Source)), "\t", "    ")
	text := slices.Concat([]string{style.Faint(fmt.Sprintf("%s, task %d: %s", c.Dir, task.Number, task.Title))},
		question, []string{""}, strings.Split(source, "\n"), []string{""})
	if len(text)+2 > a.height() {
		text = append(text, question...) // above the prompt, because it has scrolled away
	}
	if err := a.print(text...); err != nil {
		return err
	}
	var answer predict.Answer
	var failed error
	var run sync.WaitGroup
	ctx, cancel := context.WithCancel(a.ctx)
	defer run.Wait() // so that nothing of it stays behind
	defer cancel()
	ended := make(chan struct{})
	run.Go(func() {
		defer close(ended)
		answer, failed = predict.Ask(ctx, a.root, c.Chapter, p, yours)
	})
	typed, err := a.typedLines()
	if err != nil {
		return err
	}
	if isTerminal(a.in) {
		select {
		case <-ended:
		case <-time.After(time.Second):
			fmt.Fprintln(a.out, style.Faint("The program runs. Its first build takes some seconds."))
		}
	}
	if run.Wait(); failed != nil {
		return failed
	}
	return a.print(answerLines(p, answer, yours, typed, a.proseWidth())...)
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

// answerLines returns the outputs of a program beside what the learner has typed, and what the mistake does in a real
// cluster.
func answerLines(p course.Program, answer predict.Answer, yours bool, typed []string, width int) (out []string) {
	output := func(title string, lines []string) {
		out = append(out, style.Strong(title), indented(strings.Join(lines, "\n")), "")
	}
	compared, same := predict.Compare(typed, answer.Right.Lines)
	switch {
	case len(typed) == 0:
		output("It prints:", answer.Right.Lines)
	case same:
		output(style.Good("Right. It prints:"), compared)
	default:
		output(style.Warn("Not quite. Your prediction, and what it prints:"), compared)
	}
	output("With the wrong version "+p.Wrong+" it prints:", answer.Wrong.Lines)
	if yours {
		output("With your code it prints:", answer.Yours.Lines)
	}
	return append(out, style.Wrap(course.PlainLinks(p.Story), width)...)
}
