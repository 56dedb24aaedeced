package main

// This file is `workshop solution`: what to take away from a chapter, and how the solution differs from the learner's
// code.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newSolution() *cobra.Command {
	var showDiff, answers, yes bool
	cmd := chapterCommand("solution [chapter]",
		"Show what to take away, answers, and our code beside yours",
		`Show the summary of a chapter, its last hints, and the folder of the finished code.
With --diff, show how the solution differs from your code. With --answers, show the
questions at the end of the chapter's README and their answers. If the chapter is
not green, the command asks first, except for the answers.`,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			c = a.finished(c)
			if answers {
				return a.answers(c, a.proseWidth())
			}
			if !c.Done() && !c.Skipped && !yes {
				if err := a.confirm(c.Dir + " is not green yet, by its last results. See the solution anyway?"); err != nil {
					return nil, err
				}
			}
			if showDiff {
				return a.diffToSolution(c, 0)
			}
			return a.takeaway(c, a.proseWidth())
		})
	cmd.Flags().BoolVar(&showDiff, "diff", false, "show how the solution differs from your code")
	cmd.Flags().BoolVar(&answers, "answers", false, "print the chapter's questions and their answers")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// takeaway returns what is worth knowing after a chapter.
func (a *app) takeaway(c progress.Chapter, width int) ([]string, error) {
	text, err := course.Section(a.root, c.Chapter, "What to take away")
	if err != nil {
		return nil, err
	}
	byTask, err := course.Hints(a.root, c.Dir)
	if err != nil {
		return nil, err
	}
	beyond, err := course.Section(a.root, c.Chapter, "Read the real one")
	if err != nil {
		return nil, err
	}
	out := []string{style.Strong(c.Title), "", style.Key("What to take away")}
	out = append(append(out, prose(text, width)...), "", style.Key("What the last hint of each task said"))
	for _, t := range c.Tasks {
		notBegun := t.Bonus && t.State != runner.Passed && !t.Green
		if hints := byTask[t.Number]; len(hints) > 0 && !notBegun {
			last := strings.ReplaceAll(hints[len(hints)-1], "\n", " ")
			out = append(out, prose(fmt.Sprintf("%d  %s", t.Number, last), width)...)
		}
	}
	paragraphs := strings.Split(strings.TrimSpace(beyond), "\n\n")
	out = append(out, "", style.Key("What client-go does beyond it"))
	out = append(out, prose(paragraphs[len(paragraphs)-1], width)...)
	return append(out, "",
		"  the path through client-go   "+c.Dir+"/README.md#read-the-real-one",
		"  the finished code            "+filepath.ToSlash(c.Solution()),
		"  how it differs from yours    go tool workshop solution "+c.Dir+" --diff",
		"  questions and answers        go tool workshop solution "+c.Dir+" --answers",
		"  lines, speed, allocations    go tool workshop compare "+c.Dir,
		"  find the bug                 go tool workshop bugs "+c.Dir), nil
}

// answers returns the questions at the end of a chapter's README, with their answers.
func (a *app) answers(c progress.Chapter, width int) ([]string, error) {
	questions, err := course.Questions(a.root, c.Chapter)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(questions, func(q course.Question) bool { return q.Answer != "" }) {
		return []string{fmt.Sprintf("%s has no answers yet. Its questions, if it has any: %s/README.md#questions",
			c.Dir, c.Dir)}, nil
	}
	out := []string{style.Strong(c.Title)}
	for i, q := range questions {
		out = append(out, "")
		for _, line := range style.Wrap(fmt.Sprintf("%d. %s", i+1, oneLine(course.PlainLinks(q.Text))), width) {
			out = append(out, style.Key(line))
		}
		out = append(out, prose(cmp.Or(q.Answer, "This question has no answer yet."), width)...)
	}
	return out, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// prose wraps Markdown for a terminal. Links become their text.
func prose(text string, width int) []string {
	var items []string // paragraphs, items of lists, rows of tables, and the blank lines between them
	begin, code := true, false
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if fence := strings.HasPrefix(strings.TrimSpace(line), "```"); fence || code {
			code = code != fence
			if !fence {
				items = append(items, "  "+strings.TrimRight(line, "\n"))
			}
			begin = true
			continue
		}
		line = strings.TrimSpace(course.PlainLinks(line))
		if begin || line == "" || listItem.MatchString(line) || strings.HasPrefix(line, "|") {
			items = append(items, line)
		} else {
			items[len(items)-1] += " " + line
		}
		begin = line == ""
	}
	return style.Wrap(indented(strings.Join(items, "\n")), width)
}

// indented returns a text with two spaces before each line that is not empty.
func indented(text string) string {
	return lineStart.ReplaceAllString(strings.TrimRight(text, "\n"), "  $0")
}

// lineStart is the first character of a line.
var lineStart = regexp.MustCompile(`(?m)^.`)

// listItem is how an item of a list begins.
var listItem = regexp.MustCompile(`^(-|\d+\.) `)

// diffToSolution compares the learner's files with the solution's, file by file, first those of the task. Task 0 has no
// files.
func (a *app) diffToSolution(c progress.Chapter, task int) (out []string, err error) {
	solution, err := overlay.ReadDir(c.Dir, "solution", filepath.Join(a.root, c.Solution()))
	if err != nil {
		return nil, err
	}
	for _, f := range firstOfTask(solution.Files, task) {
		yours, err := course.ReadFile(filepath.Join(a.root, c.Dir, f.Name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read your code: %w", err)
		}
		text := diff.Diff("yours/"+f.Name, stub.WithoutMarks(yours), "solution/"+f.Name, stub.WithoutMarks(f.Content))
		out = append(out, style.Diff(string(text))...)
	}
	if len(out) == 0 {
		out = []string{"Your code and the solution are the same."}
	}
	return out, nil
}

// firstOfTask returns the files with those first that have functions of the task.
func firstOfTask(files []overlay.File, task int) []overlay.File {
	var of, others []overlay.File
	for _, f := range files {
		todos, _ := stub.Todos(f.Name, f.Content) // a file without marks has none
		if slices.ContainsFunc(todos, func(t stub.Todo) bool { return t.Task == task }) {
			of = append(of, f)
		} else {
			others = append(others, f)
		}
	}
	return append(of, others...)
}
