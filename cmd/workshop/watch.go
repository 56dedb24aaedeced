package main

// This file is `workshop watch`, and `workshop` without arguments: the live view on a terminal, and one printed screen
// elsewhere. Package tui is the view; this file connects it to the other packages.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/tui"
	"client-go-workshop/internal/tui/filewatch"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace"
	"client-go-workshop/internal/workspace/progress"
)

func newWatch() *cobra.Command {
	return chapterCommand("watch [chapter]", "The live view: runs a chapter's tests at each save, and shows what matters",
		`The live view. At each save it runs the chapter's tests, and shows the failure to
look at first. Keep it open beside your editor; ? lists its keys.

Without a terminal it prints where you are, and exits.`, watch)
}

// watch shows the live view, or prints one screen.
func watch(cmd *cobra.Command, a app, args []string) error {
	c, _, err := a.pick(args)
	if err != nil {
		return err
	}
	if !isTerminal(cmd.OutOrStdout()) || !isTerminal(cmd.InOrStdin()) || os.Getenv("TERM") == "dumb" {
		return printLines(cmd, statusLines(a)...)
	}
	_, err = os.Stat(filepath.Join(a.root, ".workshop", "progress.json"))
	if errors.Is(err, os.ErrNotExist) && len(args) == 0 {
		if c, err = welcome(cmd, a); err != nil {
			return err
		}
	}
	m, err := tui.New(cmd.Context(), a.actions(), c.Dir)
	if err != nil {
		return err
	}
	err = tui.Run(cmd.Context(), m, tea.WithInput(cmd.InOrStdin()), tea.WithOutput(cmd.OutOrStdout()),
		tea.WithoutSignalHandler())
	if errors.Is(err, tea.ErrProgramKilled) && cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	return err
}

// statusLines returns where the learner is, and what comes next, on one screen.
func statusLines(a app) []string {
	out := []string{style.Strong("The client-go workshop"), ""}
	current, task, ok := a.current()
	for _, c := range a.chapters {
		pointer := "  "
		if ok && c.Dir == current.Dir {
			pointer = style.Key("▸ ")
		}
		out = append(out, pointer+padded(c.Dir, 18)+taskMarks(c)+"  "+summary(c))
	}
	out = append(out, "")
	if !ok {
		return append(out, style.Good("Every chapter is done."), "",
			"  the whole machine, on your layers:  go run ./07-controller/cmd/pdb-controller --layers yours",
			"  on a real Kubernetes:               go tool workshop cluster up")
	}
	next := fmt.Sprintf("Next: %s, task %d: %s (%d min)", current.Dir, task.Number, task.Title, task.Minutes)
	out = append(out, next, "")
	if a.toRoot != "" {
		out = append(out, "  first  cd "+a.toRoot+"       what follows is for the workshop's own folder")
	}
	return append(out,
		"  read   "+current.Dir+"/README.md#"+task.Anchor,
		"  test   "+task.Command,
		"  hint   go tool workshop hint",
		"  live   go tool workshop watch       everything else: go tool workshop help")
}

// actions returns what the live view can do.
func (a app) actions() tui.Actions {
	root := a.root
	return tui.Actions{
		Look: func() ([]progress.Chapter, string, error) {
			file, _ := progress.Load(root) // an empty one if it is broken, which was reported at the start
			all, err := progress.All(root, file)
			return all, file.At, err
		},
		Test: func(ctx context.Context, c progress.Chapter, race bool, news tui.News) (runner.Verdict, error) {
			return a.test(ctx, io.Discard, c.Chapter, runner.Options{Race: race, OnTest: news.Test, OnGreen: news.Green})
		},
		Watch: func(ctx context.Context, c progress.Chapter, saved func(by string, err error)) {
			content := func() (string, error) { return progress.Content(root, c.Chapter) }
			filewatch.Watch(ctx, progress.Folders(root, c.Chapter), content, func(_, by string, err error) { saved(by, err) })
		},
		GoTo: func(id string) error {
			_, err := progress.Update(root, func(f *progress.File) { f.At = id })
			return err
		},
		Hint: func(c progress.Chapter, t progress.TaskState, width int) ([]string, error) {
			return nextHints(root, c, t, width)
		},
		Reset: func(c progress.Chapter) (string, error) {
			change, err := workspace.Reset(root, c.Chapter)
			if err != nil || change.Backup == "" {
				return c.Dir + " is untouched", err
			}
			return fmt.Sprintf("Your code is in %s; to restore it: go tool workshop restore %d",
				filepath.ToSlash(change.Backup), c.Number), nil
		},
		Diff: func(c progress.Chapter) ([]string, error) {
			text, err := diffToSolution(root, c.Chapter)
			return strings.Split(strings.ReplaceAll(colourDiff(text), "\t", "    "), "\n"), err
		},
		Takeaway: func(c progress.Chapter, width int) ([]string, error) {
			lines, err := takeaway(root, c.Chapter, width)
			return append([]string{style.Good("Every test of this chapter passes."), ""}, lines...), err
		},
		Notes: func(c progress.Chapter) []string { return folderNotes(root, c.Chapter) },
		Edit:  func(c progress.Chapter, place string) (*tui.Editor, error) { return editor(root, c.Chapter, place) },
	}
}
