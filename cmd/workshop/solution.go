package main

// This file is `workshop solution`: what to take away from a chapter, and how the solution differs from the learner's
// code.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newSolution() *cobra.Command {
	var showDiff, yes bool
	cmd := chapterCommand("solution [chapter]",
		"What to take away from a finished chapter, and the solution beside your code",
		`What to take away from a chapter, its last hints, and where the finished code
is; with --diff, how it differs from yours. It asks first if the chapter is not
green.`,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			c = a.finished(c)
			if !c.Done() && !c.Skipped && !yes {
				if err := a.confirm(c.Dir + " is not green yet, as far as is known. See the solution anyway?"); err != nil {
					return nil, err
				}
			}
			if showDiff {
				return a.diffToSolution(c)
			}
			return a.takeaway(c, a.proseWidth())
		})
	cmd.Flags().BoolVar(&showDiff, "diff", false, "show how the solution differs from your code")
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
		if hints := byTask[t.Number]; len(hints) > 0 {
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
		"  lines, speed, allocations    go tool workshop compare "+c.Dir,
		"  find the bug                 go tool workshop bugs "+c.Dir), nil
}

// prose wraps Markdown for a terminal. Links become their text.
func prose(text string, width int) (out []string) {
	var items []string // paragraphs, items of lists, rows of tables, and the blank lines between them
	begin := true
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSpace(course.PlainLinks(line))
		if begin || line == "" || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "|") {
			items = append(items, line)
		} else {
			items[len(items)-1] += " " + line
		}
		begin = line == ""
	}
	for _, item := range items {
		out = append(out, style.Wrap(strings.TrimRight("  "+item, " "), width)...)
	}
	return out
}

// diffToSolution compares the learner's files with the solution's, file by file.
func (a *app) diffToSolution(c progress.Chapter) (out []string, err error) {
	solution, err := overlay.ReadDir(c.Dir, "solution", filepath.Join(a.root, c.Solution()))
	if err != nil {
		return nil, err
	}
	for _, f := range solution.Files {
		yours, err := os.ReadFile(filepath.Join(a.root, c.Dir, f.Name))
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
