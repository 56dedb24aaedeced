package main

// This file finds the learner's place: the workshop, the chapter and the task. Most commands start with it.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/workspace/progress"
)

// app is what most commands need: where the workshop is, and how far the learner is.
type app struct {
	root     string
	progress progress.File
	chapters []progress.Chapter
	toRoot   string // the path to root from the current folder, such as ".."; "" if that is the root
}

// newApp reads the workshop around the current folder. A broken progress file is only a warning. In a chapter's folder
// that chapter is the current one, unless it is done.
func newApp(warnings io.Writer) (app, error) {
	root, err := findRoot()
	if err != nil {
		return app{}, err
	}
	file, err := progress.Load(root)
	if err != nil {
		fmt.Fprintln(warnings, "workshop:", err)
	}
	all, err := progress.All(root, file)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("there is no chapter in %s: the folders 01-restclient and so on are missing; "+
			"restore them with git or from a fresh clone", root)
	}
	a := app{root: root, progress: file, chapters: all}
	if dir, wdErr := os.Getwd(); wdErr == nil {
		a.enter(dir)
	}
	return a, err
}

// enter makes the chapter around dir the current one.
func (a *app) enter(dir string) {
	below, err := filepath.Rel(a.root, dir)
	if err != nil || below == "." {
		return
	}
	folders := strings.Split(filepath.ToSlash(below), "/")
	a.toRoot = strings.TrimSuffix(strings.Repeat("../", len(folders)), "/")
	current, _, _ := a.current()
	for _, c := range a.chapters {
		if c.Dir == folders[0] && c.Dir != current.Dir && !c.Done() {
			a.progress.At = c.Tasks[0].ID
		}
	}
}

// current returns the current chapter and task. ok is false when no task is left.
func (a app) current() (c progress.Chapter, task progress.TaskState, ok bool) {
	return progress.Current(a.chapters, a.progress.At)
}

// pick returns the chapter and task that args name, or else the current ones. A zero task is the whole chapter.
func (a app) pick(args []string) (progress.Chapter, course.Task, error) {
	if len(args) == 0 {
		c, task, ok := a.current()
		if !ok {
			return a.chapters[len(a.chapters)-1], course.Task{}, nil
		}
		return c, task.Task, nil
	}
	found, task, err := course.FindTask(a.root, args[0])
	if err != nil {
		return progress.Chapter{}, course.Task{}, err
	}
	for _, c := range a.chapters {
		if c.Dir == found.Dir {
			return c, task, nil
		}
	}
	return progress.Chapter{}, course.Task{}, fmt.Errorf("the folder of chapter %s was deleted just now", found.Dir)
}

// pickFinished is pick for what comes after a chapter: without an argument, and if the current chapter is not begun, it
// returns the chapter before.
func (a app) pickFinished(args []string) (progress.Chapter, error) {
	c, _, err := a.pick(args)
	if err != nil || len(args) > 0 {
		return c, err
	}
	for i, other := range a.chapters {
		if other.Dir == c.Dir && i > 0 && c.Untouched && a.chapters[i-1].Done() {
			return a.chapters[i-1], nil
		}
	}
	return c, nil
}

// chapterCommand returns a command that takes at most one chapter or task as its argument.
func chapterCommand(use, short, long string, run func(cmd *cobra.Command, a app, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use:               use,
		Short:             short,
		Long:              long,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChapter,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newApp(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return run(cmd, a, args)
		},
	}
}

// completeChapter completes the first argument to a chapter.
func completeChapter(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	root, err := findRoot()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := course.All(root)
	var names []string
	for _, c := range all {
		names = append(names, c.Dir+"\t"+c.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func warn(cmd *cobra.Command, err error) { fmt.Fprintln(cmd.ErrOrStderr(), "workshop:", err) }
