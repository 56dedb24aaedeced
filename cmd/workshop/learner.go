package main

// This file is what a learner asks most: `workshop list`, `test`, `progress` (and `hint`, in hint.go). They print and
// exit, on a terminal and in a pipe alike; the live view (watch.go) shows the same on a screen.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

// complete offers chapters for the first argument.
func complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
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

// columns is how wide the terminal is, 80 if nobody knows.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width >= 30 {
			return width
		}
	}
	return 80
}

func newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list [chapter]",
		Short: "Every chapter and task: how it stands, and how long it takes",
		Long: `Every chapter and task: how it stands, and how many minutes it takes.

Runs no test: it tells what the tests said last, where the files are still the
same, and what can be seen from the files.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := sitDown(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			here, task, _ := progress.Here(d.chapters, d.book.At)
			shown := d.chapters
			if len(args) > 0 {
				only, _, err := d.pick(args)
				if err != nil {
					return err
				}
				shown = []progress.Chapter{only}
			}
			var b strings.Builder
			for _, c := range shown {
				fmt.Fprintf(&b, "%s  %s  %s\n", style.Strong(fmt.Sprintf("%-16s", c.Dir)), strip(c), stand(c))
				for _, t := range c.Tasks {
					mark := " "
					if c.Dir == here.Dir && t.Number == task.Number {
						mark = style.Key("▸")
					}
					fmt.Fprintf(&b, "  %s %s %d  %s %s%s\n", mark, style.Mark(t.State), t.Number, padded(t.Title, 54), style.Faint(fmt.Sprintf("%3d min", t.Minutes)), count(t))
				}
			}
			b.WriteString("\n" + style.Faint(style.Legend) + "\n")
			return style.Fprint(cmd.OutOrStdout(), b.String())
		},
	}
}

func strip(c progress.Chapter) string {
	var b strings.Builder
	for _, t := range c.Tasks {
		b.WriteString(style.Mark(t.State))
	}
	return padded(b.String(), 7)
}

// stand says in a few words how a chapter stands.
func stand(c progress.Chapter) string {
	switch minutes := fmt.Sprintf("%d min", c.Minutes()); {
	case c.Skipped:
		return style.Faint("skipped: the finished layer is in its place")
	case c.Untouched:
		return style.Faint(minutes + ", not begun")
	case c.Done():
		return style.Good("done")
	case !c.Fresh:
		return style.Faint("changed since its tests ran last")
	default:
		return style.Faint(minutes)
	}
}

func count(t progress.TaskState) string {
	if t.Tests == 0 || t.State == runner.Bonus {
		return ""
	}
	return style.Faint(fmt.Sprintf("  %d/%d tests", t.Passed, t.Tests))
}

func padded(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-lipgloss.Width(text)))
}

func newProgress() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "progress",
		Short: "How far you are; with --json for editors and dashboards",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := sitDown(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if !asJSON {
				done, minutes, left := 0, 0, 0
				for _, c := range d.chapters {
					for _, t := range c.Tasks {
						switch {
						case t.Bonus:
						case t.State == runner.Passed:
							done++
						default:
							left++
							minutes += t.Minutes
						}
					}
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%d of %d tasks pass; about %d minutes are left\n", done, done+left, minutes)
				return err
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(progressJSON(d))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every chapter and task as JSON")
	return cmd
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
	ID      string     `json:"id"`
	Folder  string     `json:"folder"`
	Title   string     `json:"title"`
	Done    bool       `json:"done"`
	Skipped bool       `json:"skipped,omitempty"`
	Fresh   bool       `json:"fresh"` // the states are about the files as they are
	Tasks   []jsonTask `json:"tasks"`
}

func progressJSON(d desk) any {
	out := struct {
		Version  int           `json:"version"`
		At       string        `json:"at,omitempty"` // the task to work at; absent when all are done
		Chapters []jsonChapter `json:"chapters"`
	}{Version: 1}
	if _, task, ok := progress.Here(d.chapters, d.book.At); ok {
		out.At = task.ID
	}
	for _, c := range d.chapters {
		jc := jsonChapter{ID: c.Topic, Folder: c.Dir, Title: c.Title, Done: c.Done(), Skipped: c.Skipped, Fresh: c.Fresh || c.Untouched}
		for _, t := range c.Tasks {
			jc.Tasks = append(jc.Tasks, jsonTask{t.ID, t.Former, t.Number, t.Title, t.Minutes, t.Bonus, t.State, t.Passed, t.Tests, t.Hints, t.Command, c.Dir + "/README.md#" + t.Anchor})
		}
		out.Chapters = append(out.Chapters, jc)
	}
	return out
}

func newTest() *cobra.Command {
	var o runner.Options
	var all bool
	cmd := &cobra.Command{
		Use:   "test [chapter[/task]]",
		Short: "Run a chapter's tests, and show the failure to look at first",
		Long: `Run a chapter's tests, and show the failure to look at first. Without an
argument it is the chapter you are at.

    go tool workshop test 05        the whole chapter
    go tool workshop test 05/2      its second task
    go tool workshop test 07 --on solutions,reflector=yours

It runs the same go test that the chapter's text shows, and exits with 1 unless
every test passes that is not a bonus.`,
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
			if len(args) > 0 {
				o.Task = task
			}
			v, err := d.try(cmd.Context(), cmd.ErrOrStderr(), c.Chapter, o)
			if err != nil {
				return err
			}
			rows := 0
			if err := style.Fprint(cmd.OutOrStdout(), strings.Join(verdictLines(d, v, all, columns(cmd.OutOrStdout()), rows), "\n")+"\n"); err != nil {
				return err
			}
			if !v.Green() {
				return exitCode(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&o.Race, "race", false, "with the race detector (needs a C compiler)")
	cmd.Flags().StringVar(&o.On, "on", "", "the layers below chapter 07: solutions, client-go, yours, or a mixture like solutions,reflector=yours")
	cmd.Flags().IntVar(&o.Count, "count", 0, "run each test so many times")
	cmd.Flags().DurationVar(&o.Limit, "timeout", 0, "stop all of it after so long, compiling included (0 is 5m)")
	cmd.Flags().BoolVar(&all, "all", false, "show every failure, not just the first")
	return cmd
}

// try runs tests and remembers what they said, if they said it of plain code: not of other layers below, and if nobody
// saved a file meanwhile.
func (d desk) try(ctx context.Context, warn io.Writer, c course.Chapter, o runner.Options) (runner.Verdict, error) {
	before, err := progress.Content(d.root, c)
	if err != nil {
		return runner.Verdict{}, err
	}
	if o.OnTest == nil && columnsKnown(warn) {
		n := 0
		o.OnTest = func(t gotest.Test) {
			if t.Status != gotest.Running {
				n++
			}
			fmt.Fprintf(warn, "\r\x1b[K%d tests: %s", n, t.Name)
		}
		defer fmt.Fprint(warn, "\r\x1b[K")
	}
	v, err := runner.Run(ctx, d.root, c, o)
	if err != nil {
		return v, err
	}
	if ctx.Err() != nil {
		return v, ctx.Err()
	}
	after, err := progress.Content(d.root, c)
	if err == nil && before == after && o.On == "" && len(v.Build) == 0 && v.Stopped == "" {
		_, err = progress.Update(d.root, func(b *progress.Book) {
			b.Record(v, before)
			if task, ok := v.First(o.Task.Number); ok {
				b.At = task.ID
			}
		})
	}
	if err != nil {
		fmt.Fprintln(warn, "workshop:", err)
	}
	return v, nil
}

// columnsKnown tells whether w is a terminal.
func columnsKnown(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// verdictLines lays a verdict out for printing.
func verdictLines(d desk, v runner.Verdict, all bool, width, rows int) []string {
	var out []string
	say := func(lines ...string) { out = append(out, lines...) }
	say(style.Faint("$ " + v.Command))
	for _, note := range notes(d.root, v.Chapter) {
		say(style.Warn(note))
	}
	if len(v.Build) > 0 {
		return append(out, style.Build(v, width, rows)...)
	}
	for _, t := range v.Tasks {
		passed, n := t.Count()
		say(fmt.Sprintf("%s %d  %s %s", style.Mark(t.State), t.Number, padded(t.Title, 56), style.Faint(fmt.Sprintf("%d/%d tests", passed, n))))
	}
	if v.Stopped != "" {
		say("", style.Bad(fmt.Sprintf("Stopped: %s. Is there a loop that never ends?", v.Stopped)))
	}
	if all {
		for _, t := range v.Tasks {
			for _, f := range t.Failures() {
				say("", style.Strong(f.Test))
				say(style.Failure(f, width, 0)...)
			}
		}
		return out
	}
	if task, ok := v.First(0); ok {
		if f, ok := task.Matters(); ok {
			say("", style.Strong(f.Test))
			say(style.Failure(f, width, rows)...)
		} else if v.Crash != "" {
			say("", style.Bad("The test binary ended in the middle:"))
			for line := range strings.Lines(v.Crash) {
				say(style.Wrap(strings.TrimRight(line, "\n"), width)...)
			}
		}
		return out
	}
	if len(v.Tasks) < len(v.Chapter.Tasks) {
		return append(out, "", style.Good("Every test passes.")+" The whole chapter: go tool workshop test "+v.Chapter.Dir)
	}
	return append(out, "", style.Good("Every test passes.")+" What to take away: go tool workshop solution "+v.Chapter.Dir)
}
