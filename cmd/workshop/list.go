package main

// This file is `workshop list` and `workshop progress`: the states of chapters and tasks, for people and for programs.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/usage"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newList() *cobra.Command {
	return chapterCommand("list [chapter]", "List every chapter and task, with its state and minutes",
		`List every chapter and task, with its state and minutes.

The command does not run tests. For unchanged files it shows the last results of
their tests. For other files it shows only which code is still missing.`,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			if !a.named {
				c.Dir = ""
			}
			return a.list(c.Dir, a.width()), nil
		})
}

// list returns all chapters with their tasks, or only one.
func (a *app) list(only string, width int) (out []string) {
	labs := false
	for _, c := range a.chapters {
		if only != "" && c.Dir != only {
			continue
		}
		if c.Lab() && !labs && only == "" {
			labs = true
			out = append(out, "", "Labs, if you want to go on after the chapters: "+course.LabsPage)
		}
		out = append(out, fmt.Sprintf("%s  %s  %s", style.Strong(fmt.Sprintf("%-16s", c.Dir)), taskMarks(c), summary(c)))
		if !c.Lab() || only != "" || a.begun(c) {
			out = append(out, a.taskLines(c, width)...)
		}
	}
	return append(out, "", style.Faint(style.Legend))
}

// taskLines returns a line for each task of a chapter.
func (a *app) taskLines(c progress.Chapter, width int) (out []string) {
	current, task, _ := a.current()
	for _, t := range c.Tasks {
		pointer, tests := " ", ""
		if c.Dir == current.Dir && t.Number == task.Number {
			pointer = style.Key("▸")
		}
		if t.Tests > 0 && t.State != runner.Bonus {
			tests = style.Faint(fmt.Sprintf("  %d/%d tests", t.Passed, t.Tests))
		}
		out = append(out, fmt.Sprintf("  %s %s %d  %s %s%s", pointer, style.Mark(t.State), t.Number,
			padded(t.Title, min(54, width-26)), style.Faint(fmt.Sprintf("%3d min", t.Minutes)), tests))
	}
	return out
}

// begun reports whether the learner has written something in a chapter, or is at it.
func (a *app) begun(c progress.Chapter) bool {
	current, _, ok := a.current()
	return !c.Untouched || ok && c.Dir == current.Dir
}

// taskMarks returns the marks of a chapter's tasks in one word.
func taskMarks(c progress.Chapter) string {
	var b strings.Builder
	for _, t := range c.Tasks {
		b.WriteString(style.Mark(t.State))
	}
	return padded(b.String(), 7)
}

// summary returns the state of a chapter in a few words.
func summary(c progress.Chapter) string {
	text := fmt.Sprintf("%d min", c.Minutes())
	if c.TestsChanged {
		return style.Warn("the tests were changed; to restore them: go tool workshop reset --tests " + c.Dir)
	}
	bare := ""
	if c.Bare {
		bare = "bare, "
	}
	switch {
	case c.Skipped:
		text = "skipped: the finished layer is in its place"
	case !slices.ContainsFunc(c.Tasks, begun):
		text += ", not begun"
	case c.Done():
		return style.Good(bare + "done")
	case !c.Fresh:
		text = "changed since the last run of its tests"
	}
	return style.Faint(bare + text)
}

func begun(t progress.TaskState) bool {
	return t.State != runner.Open && t.State != runner.Bonus
}

func newProgress() *cobra.Command {
	var asJSON bool
	cmd := chapterCommand("progress", "Show your progress; with --json for editors and dashboards", "",
		func(a *app, _ progress.Chapter, _ course.Task) ([]string, error) {
			if asJSON {
				return nil, printJSON(a.out, progressJSON(a))
			}
			out := []string{""}
			var chapters []progress.TaskState
			for _, c := range a.chapters {
				switch {
				case !c.Lab():
					chapters = append(chapters, c.Tasks...)
				case a.begun(c):
					out = append(out, c.Dir+": "+tally(c.Tasks))
				}
			}
			out[0] = tally(chapters)
			return out, nil
		})
	cmd.Args, cmd.ValidArgsFunction = usage.AtMost(0, ""), nil
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every chapter and task as JSON")
	return cmd
}

// tally returns how many tasks pass, and what is left, without bonus tasks.
func tally(tasks []progress.TaskState) string {
	done, minutes, all := 0, 0, 0
	for _, t := range tasks {
		switch {
		case t.Bonus:
			continue
		case t.State == runner.Passed:
			done++
		default:
			minutes += t.Minutes
		}
		all++
	}
	return fmt.Sprintf("%d of %d tasks pass; about %d minutes are left", done, all, minutes)
}

// jsonTask and jsonChapter are the output of `progress --json`. Fields are added, never renamed.
type jsonTask struct {
	ID      string       `json:"id"`
	Former  []string     `json:"formerIds,omitempty"`
	Number  int          `json:"number"`
	Title   string       `json:"title"`
	Minutes int          `json:"minutes"`
	Bonus   bool         `json:"bonus,omitempty"`
	State   runner.State `json:"state"`
	Passed  int          `json:"testsPassed"`
	Tests   int          `json:"tests"`
	Hints   int          `json:"hintsTaken"`
	Command string       `json:"command"`
	Read    string       `json:"read"`
}

type jsonChapter struct {
	ID      string `json:"id"`
	Folder  string `json:"folder"`
	Title   string `json:"title"`
	Done    bool   `json:"done"`
	Skipped bool   `json:"skipped,omitempty"`
	Bare    bool   `json:"bare,omitempty"` // begun with reset --bare
	Fresh   bool   `json:"fresh"`          // the states are about the present files
	// TestsChanged says that a test of the chapter is edited or gone, so the states are not those of the workshop.
	TestsChanged bool       `json:"testsChanged,omitempty"`
	Tasks        []jsonTask `json:"tasks"`
}

func progressJSON(a *app) any {
	out := struct {
		Version  int           `json:"version"`
		At       string        `json:"at,omitempty"` // the ID of the current task; absent when all are done
		Chapters []jsonChapter `json:"chapters"`
		Labs     []jsonChapter `json:"labs,omitempty"` // after the chapters, and optional
	}{Version: 1}
	if _, task, ok := a.current(); ok {
		out.At = task.ID
	}
	for _, c := range a.chapters {
		jc := jsonChapter{ID: c.Topic, Folder: c.Dir, Title: c.Title, Done: c.Done(), Skipped: c.Skipped,
			Bare: c.Bare, Fresh: c.Fresh || c.Untouched, TestsChanged: c.TestsChanged}
		for _, t := range c.Tasks {
			jc.Tasks = append(jc.Tasks, jsonTask{t.ID, t.Former, t.Number, t.Title, t.Minutes, t.Bonus, t.State,
				t.Passed, t.Tests, t.Hints, t.Command, c.Dir + "/README.md#" + t.Anchor})
		}
		if c.Lab() {
			out.Labs = append(out.Labs, jc)
		} else {
			out.Chapters = append(out.Chapters, jc)
		}
	}
	return out
}
