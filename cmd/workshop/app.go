package main

// This file is what most commands share: the learner's place, the arguments, and the terminal.

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/usage"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

// app is one call of a command: its input and outputs, the workshop, and how far the learner is.
type app struct {
	ctx         context.Context
	in          io.Reader
	lines       *bufio.Reader // of in, see readLine
	out, errOut io.Writer

	root     string
	progress progress.File
	chapters []progress.Chapter
	toRoot   string // the path to root from the current folder, such as ".."; "" if that is the root
	named    bool   // an argument names the chapter
	reporter *reporter
}

// newApp reads the workshop around the current folder. A broken progress file is only a warning. In a chapter's folder
// that chapter is the current one, unless it is done.
func newApp(cmd *cobra.Command) (*app, error) {
	a := &app{ctx: cmd.Context(), in: cmd.InOrStdin(), out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr()}
	a.lines = bufio.NewReader(a.in)
	var err error
	if a.root, err = course.Root("."); err != nil {
		return nil, err
	}
	if a.progress, err = progress.Load(a.root); err != nil {
		a.warn(err)
	}
	if a.chapters, err = progress.All(a.root, a.progress); err != nil {
		return nil, err
	}
	if len(a.chapters) == 0 {
		return nil, fmt.Errorf("there is no chapter in %s: the folders 01-restclient and so on are missing; "+
			"restore them with git or from a fresh clone", a.root)
	}
	dir, err := os.Getwd()
	if err != nil {
		return a, nil
	}
	if below, err := filepath.Rel(a.root, dir); err == nil && below != "." {
		folders := strings.Split(filepath.ToSlash(below), "/")
		a.toRoot = strings.TrimSuffix(strings.Repeat("../", len(folders)), "/")
		current, _, _ := a.current()
		for _, c := range a.chapters {
			here := strings.HasPrefix(strings.Join(folders, "/")+"/", c.Dir+"/")
			if here && c.Dir != current.Dir && !c.Done() {
				next, _ := c.Next()
				a.progress.At = next.ID
			}
		}
	}
	return a, nil
}

// current returns the current chapter and task. ok is false when no task is left.
func (a *app) current() (c progress.Chapter, task progress.TaskState, ok bool) {
	return progress.Current(a.chapters, a.progress.At)
}

// placeIn returns the task of a chapter that the learner is at.
func (a *app) placeIn(c progress.Chapter) progress.TaskState {
	if current, task, ok := a.current(); ok && current.Dir == c.Dir {
		return task
	}
	next, _ := c.Next()
	return next
}

// pick returns the chapter and task that args name, or else the current ones. A zero task is the whole chapter.
func (a *app) pick(args []string) (progress.Chapter, course.Task, error) {
	if len(args) == 0 {
		c, task, ok := a.current()
		if !ok {
			c = a.last()
		}
		return c, task.Task, nil
	}
	found, task, err := course.FindTask(a.root, args[0])
	if err != nil {
		return progress.Chapter{}, task, usage.Wrap(err)
	}
	c, err := progress.Read(a.root, found, a.progress)
	return c, task, err
}

// last returns the chapter that commands are about when no task is left: the last one, or the lab that the learner was
// at.
func (a *app) last() (c progress.Chapter) {
	for _, other := range a.chapters {
		if !other.Lab() || other.Has(a.progress.At) {
			c = other
		}
	}
	return c
}

// finished is for commands that come after a chapter. It returns c; or the one that was finished before, if no argument
// names c and c is not begun: the one that the learner was at, or the chapter before c.
func (a *app) finished(c progress.Chapter) progress.Chapter {
	if a.named || !c.Untouched {
		return c
	}
	i := slices.IndexFunc(a.chapters, func(other progress.Chapter) bool { return other.Dir == c.Dir })
	at := slices.IndexFunc(a.chapters, func(other progress.Chapter) bool { return other.Has(a.progress.At) })
	switch {
	case at >= 0 && a.chapters[at].Done():
		return a.chapters[at]
	case i > 0 && !c.Lab() && a.chapters[i-1].Done():
		return a.chapters[i-1]
	}
	return c
}

// now returns the stored progress and the chapters, as they are now. A broken file was reported at the start.
func (a *app) now() (f progress.File, all []progress.Chapter) {
	f, _ = progress.Load(a.root)
	all, err := progress.All(a.root, f)
	if err != nil {
		all = a.chapters
	}
	return f, all
}

// next returns what comes after a task that is green.
func (a *app) next() []string {
	f, all := a.now()
	return nextAt(all, f.At)
}

// nextAt returns what comes after the task with an ID.
func nextAt(all []progress.Chapter, id string) []string {
	if c, task, ok := progress.Current(all, id); ok {
		return nextLines(c, task)
	}
	return append([]string{""}, allDone(all)...)
}

// nextAfter returns what comes after a chapter that has just become green: its bonus tasks, and the next chapter. The
// result of the tests need not be stored yet, so the tasks in green have their new states.
func (a *app) nextAfter(green progress.Chapter) (out []string) {
	for _, t := range green.Tasks {
		if t.Bonus && t.State != runner.Passed {
			lines := nextLines(green, t)
			lines[0] = fmt.Sprintf("Bonus, if you want it: task %d, %s (%d min)", t.Number, t.Title, t.Minutes)
			out = append(out, lines...)
		}
	}
	_, all := a.now()
	for _, c := range all {
		for i, t := range c.Tasks {
			if c.Dir == green.Dir && !t.Bonus {
				c.Tasks[i].State = runner.Passed
			}
		}
	}
	return append(out, nextAt(all, green.Tasks[0].ID)...)
}

// nextLines returns the task to work at, and below it where to read and what to run.
func nextLines(c progress.Chapter, task progress.TaskState) []string {
	if c.WasGreen() && task.Green && task.State == runner.Unknown {
		return []string{
			fmt.Sprintf("Next: all tests of %s. Each task has passed, but the files have changed since.", c.Dir),
			"  test   go test ./" + c.Dir,
		}
	}
	return []string{
		fmt.Sprintf("Next: %s, task %d: %s (%d min)", c.Dir, task.Number, task.Title, task.Minutes),
		"  read   " + c.Dir + "/README.md#" + task.Anchor,
		"  test   " + task.Command,
	}
}

// allDone returns what there is to do when every chapter is green.
func allDone(all []progress.Chapter) []string {
	out := []string{style.Good("Every chapter is done."), ""}
	if slices.ContainsFunc(all, func(c progress.Chapter) bool { return c.Lab() }) {
		out = append(out, "  labs, if you want to go on        "+course.LabsPage)
	}
	return append(out,
		"  your controller, on your layers   go run ./07-controller/cmd/pdb-controller --layers yours",
		"  on a real Kubernetes              go tool workshop cluster up",
		"  predict what programs print       go tool workshop predict "+all[0].Dir,
		"  a game: find the bug              go tool workshop bugs "+all[0].Dir)
}

// chapterCommand returns a command that takes at most one chapter or task as its argument. run receives the chapter and
// task that app.pick returns. The command prints the lines that run returns, even beside an error.
func chapterCommand(use, short, long string,
	run func(*app, progress.Chapter, course.Task) ([]string, error)) *cobra.Command {
	return &cobra.Command{
		Use:               use,
		Short:             short,
		Long:              long,
		Args:              usage.AtMost(1, "chapter or task"),
		ValidArgsFunction: completeChapter,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newApp(cmd)
			if err != nil {
				return err
			}
			a.named = len(args) > 0
			c, task, err := a.pick(args)
			if err != nil {
				return err
			}
			lines, err := run(a, c, task)
			return cmp.Or(a.print(lines...), err)
		},
	}
}

// completeChapter completes the first argument to a chapter.
func completeChapter(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if root, err := course.Root("."); err == nil && len(args) == 0 {
		all, _ := course.All(root)
		for _, c := range all {
			names = append(names, c.Dir+"\t"+c.Title)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) warn(err error) { fmt.Fprintln(a.errOut, "workshop:", err) }

// print prints lines, with as much colour as the output can show.
func (a *app) print(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := lipgloss.Fprintln(a.out, strings.Join(lines, "\n"))
	return err
}

func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

func padded(text string, columns int) string {
	return lipgloss.PlaceHorizontal(columns, lipgloss.Left, text)
}

// isTerminal reports whether v is a file that is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the columns of the terminal, or 80 if the output is not a terminal.
func (a *app) width() int {
	if width, _ := a.size(); width >= 30 {
		return width
	}
	return 80
}

// height returns the rows of the terminal. Without one there is no end to them.
func (a *app) height() int {
	if _, height := a.size(); height > 0 {
		return height
	}
	return math.MaxInt
}

func (a *app) size() (width, height int) {
	if f, ok := a.out.(*os.File); ok {
		width, height, _ = term.GetSize(int(f.Fd())) // 0 if it is no terminal
	}
	return width, height
}

// proseWidth returns the columns for prose, which is hard to read in longer lines.
func (a *app) proseWidth() int { return min(a.width(), 100) }

// confirm asks a question, and returns an error unless the answer is yes. Without a terminal the error names --yes.
func (a *app) confirm(question string) error {
	if !isTerminal(a.in) {
		return fmt.Errorf("%s To answer yes, add --yes", question)
	}
	fmt.Fprintf(a.errOut, "%s [y/N] ", question)
	answer, err := a.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		fmt.Fprintln(a.errOut, "Cancelled.")
		return exitCode(1)
	}
	return nil
}

// readLine reads a line, without the spaces around it. A terminal returns one line at a time, so another reader of a.in
// receives the rest. readLine returns an error when ctx ends, and one that wraps io.EOF at the end of the input.
func (a *app) readLine() (string, error) {
	var line string
	done := make(chan error, 1)
	go func() {
		var err error
		line, err = a.lines.ReadString('\n')
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			err = fmt.Errorf("read your answer: %w", err)
		}
		return strings.TrimSpace(line), err
	case <-a.ctx.Done():
		return "", a.ctx.Err()
	}
}

// errQuit means that the learner has left a dialogue.
var errQuit = errors.New("quit")

// readAnswer reads a line. It returns errQuit for q and at the end of the input.
func (a *app) readAnswer() (string, error) {
	line, err := a.readLine()
	if line == "q" || line == "quit" || errors.Is(err, io.EOF) {
		return "", errQuit
	}
	return line, err
}
