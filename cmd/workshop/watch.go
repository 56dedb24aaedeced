package main

// This file is `workshop watch`, the live view, and `workshop` without arguments, which is the live view on a terminal
// and one printed screen elsewhere. The view itself is package live; here is what it can do.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/tui"
	"client-go-workshop/internal/tui/filewatch"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace"
	"client-go-workshop/internal/workspace/progress"
)

func newWatch() *cobra.Command {
	return &cobra.Command{
		Use:   "watch [chapter]",
		Short: "The live view: runs a chapter's tests at each save, and shows what matters",
		Long: `The live view. At each save it runs the chapter's tests, and shows the failure to
look at first. Keep it open beside your editor; ? lists its keys.

Where there is no terminal it prints where you are, and exits.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return watch(cmd, args) },
	}
}

// watch shows the live view, or prints one screen.
func watch(cmd *cobra.Command, args []string) error {
	d, err := sitDown(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	c, _, err := d.pick(args)
	if err != nil {
		return err
	}
	if !columnsKnown(cmd.OutOrStdout()) || !columnsKnown(cmd.InOrStdin()) || os.Getenv("TERM") == "dumb" {
		return style.Fprint(cmd.OutOrStdout(), strings.Join(statusLines(d), "\n")+"\n")
	}
	if _, err := os.Stat(filepath.Join(d.root, ".workshop", "progress.json")); errors.Is(err, os.ErrNotExist) && len(args) == 0 {
		if c, err = welcome(cmd, d); err != nil {
			return err
		}
	}
	m, err := tui.New(cmd.Context(), d.actions(), c.Dir)
	if err != nil {
		return err
	}
	err = tui.Run(cmd.Context(), m, tea.WithInput(cmd.InOrStdin()), tea.WithOutput(cmd.OutOrStdout()), tea.WithoutSignalHandler())
	if errors.Is(err, tea.ErrProgramKilled) && cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	return err
}

// statusLines is where one is, and what is next, on one screen.
func statusLines(d desk) []string {
	out := []string{style.Strong("The client-go workshop"), ""}
	here, task, ok := progress.Here(d.chapters, d.book.At)
	for _, c := range d.chapters {
		at := "  "
		if ok && c.Dir == here.Dir {
			at = style.Key("▸ ")
		}
		out = append(out, at+padded(c.Dir, 18)+strip(c)+"  "+stand(c))
	}
	out = append(out, "")
	if !ok {
		return append(out, style.Good("Every chapter is done."), "",
			"  the whole machine, on your layers:  go run ./07-controller/cmd/pdb-controller --layers yours",
			"  on a real Kubernetes:               go tool workshop cluster up")
	}
	out = append(out, fmt.Sprintf("Next: %s, task %d: %s (%d min)", here.Dir, task.Number, task.Title, task.Minutes), "")
	if d.up != "" {
		out = append(out, "  first  cd "+d.up+"       what follows is for the workshop's own folder")
	}
	return append(out,
		"  read   "+here.Dir+"/README.md#"+task.Anchor,
		"  test   "+task.Command,
		"  hint   go tool workshop hint",
		"  live   go tool workshop watch       everything else: go tool workshop help")
}

// welcome is shown once, before the first live view. It checks the machine, changes nothing, and asks for the chapter to
// begin with.
func welcome(cmd *cobra.Command, d desk) (progress.Chapter, error) {
	out := append([]string{}, style.Strong("Welcome to the client-go workshop."), "",
		"You re-create client-go in seven chapters. In each you read its README.md, write",
		"the functions that are missing, and save: this window runs the tests and shows",
		"the one failure to look at. Everything also works with plain go test.", "")
	for _, check := range checkMachine(cmd.Context(), d.root) {
		mark := style.Good("✓")
		if !check.ok {
			mark = style.Warn("!")
		}
		out = append(out, fmt.Sprintf("  %s %s", mark, check.text))
	}
	out = append(out, "", "Any chapter can be the first; 05, the indexer, needs least of the rest.",
		"Press Enter to begin with "+d.chapters[0].Dir+", or type a number from 1 to 7: ")
	c := d.chapters[0]
	if err := style.Fprint(cmd.OutOrStdout(), strings.Join(out, "\n")); err != nil {
		return c, err
	}
	for answered := false; !answered; {
		line, err := readLine(cmd.Context(), cmd.InOrStdin())
		if err != nil && !errors.Is(err, io.EOF) {
			return c, err
		}
		number := strings.TrimLeft(strings.TrimSpace(line), "0")
		answered = number == ""
		for _, other := range d.chapters {
			if fmt.Sprint(other.Number) == number {
				c, answered = other, true
			}
		}
		if !answered {
			if err := style.Fprint(cmd.OutOrStdout(), fmt.Sprintf("There is no chapter %q. A number from 1 to %d, or Enter: ", number, len(d.chapters))); err != nil {
				return c, err
			}
		}
	}
	if _, err := progress.Update(d.root, func(b *progress.Book) { b.At = c.Tasks[0].ID }); err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "workshop:", err)
	}
	return c, nil
}

// readLine reads a line byte by byte, so that what follows stays for whoever reads next. It ends early when ctx does, and
// with io.EOF where there is nothing more.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		var line []byte
		for b := make([]byte, 1); ; {
			n, err := in.Read(b)
			if n > 0 && b[0] == '\n' || err != nil {
				if errors.Is(err, io.EOF) && len(line) > 0 {
					err = nil
				}
				got <- answer{string(line), err}
				return
			}
			line = append(line, b[:n]...)
		}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

type check struct {
	ok   bool
	text string
}

// checkMachine looks for what the workshop needs, now and later.
func checkMachine(ctx context.Context, root string) []check {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	checks := []check{{true, "Go: " + strings.TrimPrefix(runtime.Version(), "go")}}
	if free, err := freeDisk(root); err == nil {
		gb := float64(free) / (1 << 30)
		checks = append(checks, check{gb >= 3, fmt.Sprintf("disk: %.0f GB free (the build cache takes about 2; the cluster 4 more)", gb)})
	}
	if cc, err := exec.CommandContext(ctx, "go", "env", "CC").Output(); err == nil {
		fields := strings.Fields(string(cc))
		_, err := exec.LookPath(append(fields, "cc")[0])
		checks = append(checks, check{err == nil, found(err, "C compiler: there, so -race works", "C compiler: none, so -race does not work; all else does")})
	}
	_, err := exec.LookPath("git")
	checks = append(checks, check{err == nil, found(err, "git: there", "git: none; you can do without")})
	_, err = exec.LookPath("docker")
	return append(checks, check{true, found(err, "Docker: there, if you ever want kind", "Docker: none, and not needed")})
}

func found(err error, yes, no string) string {
	if err == nil {
		return yes
	}
	return no
}

// actions is what the live view can do.
func (d desk) actions() tui.Actions {
	root := d.root
	return tui.Actions{
		Look: func() ([]progress.Chapter, string, error) {
			book, err := progress.Load(root)
			if err != nil {
				book = progress.Book{}
			}
			all, err := progress.All(root, book)
			return all, book.At, err
		},
		Test: func(ctx context.Context, c progress.Chapter, race bool, news tui.News) (runner.Verdict, error) {
			return d.try(ctx, io.Discard, c.Chapter, runner.Options{Race: race, OnTest: news.Test, OnGreen: news.Green})
		},
		Watch: func(ctx context.Context, c progress.Chapter, saved func(by string, err error)) {
			content := func() (string, error) { return progress.Content(root, c.Chapter) }
			filewatch.Watch(ctx, progress.Folders(root, c.Chapter), content, func(_, by string, err error) { saved(by, err) })
		},
		GoTo: func(id string) error {
			_, err := progress.Update(root, func(b *progress.Book) { b.At = id })
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
			return fmt.Sprintf("Your code is in %s; to have it back: go tool workshop restore %d", filepath.ToSlash(change.Backup), c.Number), nil
		},
		Diff: func(c progress.Chapter) ([]string, error) {
			text, err := diffToSolution(root, c.Chapter)
			return strings.Split(strings.ReplaceAll(paintDiff(text), "\t", "    "), "\n"), err
		},
		Takeaway: func(c progress.Chapter, width int) ([]string, error) {
			lines, err := takeaway(root, c.Chapter, width)
			return append([]string{style.Good("Every test of this chapter passes."), ""}, lines...), err
		},
		Notes: func(c progress.Chapter) []string { return notes(root, c.Chapter) },
		Edit:  func(c progress.Chapter, place string) (*tui.Editor, error) { return editor(root, c.Chapter, place) },
	}
}

// nextHints takes a task's next hint and lays out all that were taken.
func nextHints(root string, c progress.Chapter, t progress.TaskState, width int) ([]string, error) {
	byTask, err := course.Hints(root, c.Dir)
	if err != nil {
		return nil, err
	}
	rungs := byTask[t.Number]
	if len(rungs) == 0 {
		return nil, fmt.Errorf("chapter %s has no hint for task %d", c.Dir, t.Number)
	}
	book, err := progress.Update(root, func(b *progress.Book) { b.Hints[t.ID] = min(b.Taken(t.Task)+1, len(rungs)) })
	if err != nil { // where nothing can be kept, all of them are better than the first again and again
		book.Hints[t.ID] = len(rungs)
	}
	taken := book.Hints[t.ID]
	out := []string{style.Strong(fmt.Sprintf("Hints for task %d: %s", t.Number, t.Title)), ""}
	for i := range taken {
		out = append(out, hintLines(rungs, i, width)...)
	}
	if taken < len(rungs) {
		return append(out, "", style.Faint("h  the next one")), nil
	}
	return append(out, "", style.Faint("That was the last one.")), nil
}
