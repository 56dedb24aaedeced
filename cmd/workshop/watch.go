package main

// This file is `workshop watch`, and `workshop` without arguments: the live view on a terminal, with a welcome before
// the first one, and one printed screen elsewhere. Package tui is the view; this file connects it to the commands.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/tui"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

func newWatch() *cobra.Command {
	var plain bool
	var board reporting
	cmd := chapterCommand("watch [chapter]", "Open the live view; --plain is for editors and screen readers",
		`Open the live view. At each save it runs the chapter's tests, and shows the failure
to look at first. Keep it open beside your editor; ? lists its keys.

With --plain it prints each verdict below the one before, and moves no cursor. That
suits screen readers, the compilation buffer of Emacs, tasks of VS Code, and tee.
Without a terminal and without --plain, it prints your progress and the next step,
and exits.

With --report and an address, an instructor's board shows where you are: it asks you
first, and remembers your yes for later. --report off takes it back.`,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			if stop, err := a.reportTo(board, c); stop || err != nil {
				return nil, err
			}
			if plain {
				return nil, a.watchPlain(c)
			}
			return watch(a, c)
		})
	cmd.Flags().BoolVar(&plain, "plain", false, "print one verdict below the other, without moving the cursor")
	cmd.Flags().StringVar(&board.url, "report", "", "the address of the instructor's board, or off")
	cmd.Flags().StringVar(&board.name, "name", "", "your name on the board; with it, --report does not ask")
	return cmd
}

// watch shows the live view, or prints one screen.
func watch(a *app, c progress.Chapter) ([]string, error) {
	if why := a.notLive(); why != "" {
		return append(a.statusLines(), "", "The live view is not open: "+why+". A verdict for each save, as plain lines:",
			"  go tool workshop watch --plain"), nil
	}
	_, err := os.Stat(filepath.Join(a.root, ".workshop", "progress.json"))
	if errors.Is(err, os.ErrNotExist) && !a.named {
		if c, err = a.welcome(); errors.Is(err, errQuit) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	m := tui.New(a.ctx, a.root, view{a}, a.chapters, c, a.placeIn(c))
	return nil, m.Run(tea.WithInput(a.in), tea.WithOutput(a.out), tea.WithoutSignalHandler())
}

// notLive returns why the live view cannot open, "" if it can.
func (a *app) notLive() string {
	switch {
	case !isTerminal(a.out):
		return "the output is not a terminal"
	case !isTerminal(a.in):
		return "the input is not a terminal"
	case os.Getenv("TERM") == "dumb":
		return "TERM=dumb says that this terminal cannot move its cursor"
	}
	return ""
}

// welcome runs once, before the first live view. It checks the machine, asks for the first chapter, and returns it.
func (a *app) welcome() (progress.Chapter, error) {
	text := func(line string) []string { return style.Wrap(line, min(a.width(), 84)) } // without styles: Wrap drops them
	out := slices.Concat([]string{style.Strong("Welcome to the client-go workshop."), ""},
		text("You re-create client-go in seven chapters. In each, read its README.md, write the missing functions, and "+
			"save. This window runs the tests and shows the failure to look at first. Everything also works with plain "+
			"go test."),
		[]string{""}, checkMachine(a.ctx, a.root), []string{""},
		text("You can start with any chapter. 05, the indexer, needs least of the others."),
		text("Press Enter to begin with "+a.chapters[0].Dir+", or type a number from 1 to 7 (l list, ? help, q quit):"))
	if err := a.print(out...); err != nil {
		return progress.Chapter{}, err
	}
	fmt.Fprint(a.out, "> ")
	chapters := slices.DeleteFunc(slices.Clone(a.chapters), func(c progress.Chapter) bool { return c.Lab() })
	for {
		line, err := a.readAnswer()
		if err != nil {
			return progress.Chapter{}, err
		}
		number := cmp.Or(strings.TrimLeft(line, "0"), fmt.Sprint(chapters[0].Number))
		at := slices.IndexFunc(chapters, func(c progress.Chapter) bool { return fmt.Sprint(c.Number) == number })
		switch {
		case at >= 0:
			err := progress.Update(a.root, func(f *progress.File) { f.At = chapters[at].Tasks[0].ID })
			if err != nil {
				a.warn(err)
			}
			return chapters[at], nil
		case line == "l":
			for _, c := range chapters {
				fmt.Fprintf(a.out, "  %2d  %-18s %3d min  %s\n", c.Number, c.Topic, c.Minutes(), c.Title)
			}
			fmt.Fprint(a.out, "A number, or Enter: ")
		case line == "?":
			fmt.Fprint(a.out, "The live view opens with the chapter that you choose, and you can leave it for another one "+
				"at any time.\nIn it, ? lists the keys. Without it: go tool workshop help. A number, or Enter: ")
		default:
			fmt.Fprintf(a.out, "There is no chapter %q. A number from 1 to %d, or Enter: ", line, len(chapters))
		}
	}
}

// checkMachine looks for the programs and the disk space that the workshop needs.
func checkMachine(ctx context.Context, root string) (out []string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	report := func(ok bool, there, missing string) {
		if ok {
			out = append(out, "  "+style.Good("✓")+" "+there)
		} else {
			out = append(out, "  "+style.Warn("!")+" "+missing)
		}
	}
	_, noGit := exec.LookPath("git")
	_, noDocker := exec.LookPath("docker")
	report(true, "Go: "+strings.TrimPrefix(runtime.Version(), "go"), "")
	if free, err := freeDisk(root); err == nil {
		gb := float64(free) / (1 << 30)
		text := fmt.Sprintf("disk: %.0f GB free (the build cache takes about 2; the cluster 4 more)", gb)
		report(gb >= 3, text, text)
	}
	report(runner.RaceDetector(ctx), "C compiler: found, so -race works",
		"C compiler: not found, so -race does not work; everything else does")
	report(noGit == nil, "git: found", "git: not found, and not required")
	if noDocker != nil {
		report(true, "Docker: not found, and not required", "")
	} else {
		report(true, "Docker: found; only kind needs it", "")
	}
	return out
}

// statusLines returns where the learner is, and what comes next, on one screen.
func (a *app) statusLines() []string {
	out := []string{style.Strong("The client-go workshop"), ""}
	current, task, ok := a.current()
	for _, c := range a.chapters {
		if c.Lab() && !a.begun(c) {
			continue
		}
		pointer := "  "
		if ok && c.Dir == current.Dir {
			pointer = style.Key("▸ ")
		}
		out = append(out, pointer+padded(c.Dir+"  ", 18)+taskMarks(c)+"  "+summary(c))
	}
	out = append(out, "")
	if !ok {
		return append(out, allDone(a.chapters)...)
	}
	lines := nextLines(current, task)
	out = append(out, lines[0], "")
	if a.toRoot != "" {
		out = append(out, "  first  cd "+a.toRoot+"       run the commands below in the workshop's folder")
	}
	return append(append(out, lines[1:]...),
		"  hint   go tool workshop hint",
		"  live   go tool workshop watch       everything else: go tool workshop help")
}

// view is the workshop as the live view asks for it.
type view struct{ *app }

func (v view) Look() []progress.Chapter { _, all := v.now(); return all }

func (v view) Notes(c progress.Chapter) []string { return v.folderNotes(c.Chapter) }

func (v view) Test(ctx context.Context, c progress.Chapter, o runner.Options) (runner.Verdict, error) {
	return v.test(ctx, io.Discard, c.Chapter, o)
}

func (v view) Predict(c progress.Chapter, t progress.TaskState) error {
	programs, err := v.programs(c, t.Task)
	if err != nil {
		return err
	}
	return v.predict(c, programs, false, "Press Enter for the tests ")
}

// Page returns what commands print, and the text of a task.
func (v view) Page(p tui.Page, c progress.Chapter, t progress.TaskState, width int) (lines []string, err error) {
	switch p {
	case tui.PageHint:
		return v.nextHints(c, t, width)
	case tui.PageList:
		now := *v.app
		now.progress, now.chapters = v.now()
		return now.list("", width), nil
	case tui.PageDiff:
		lines, err = v.diffToSolution(c, t.Number)
		for i, line := range lines {
			lines[i] = strings.ReplaceAll(line, "\t", "    ")
		}
		return lines, err
	case tui.PageTakeaway:
		lines, err = v.takeaway(c, width)
		green := style.Good("Every test of this chapter passes.")
		return slices.Concat([]string{green, ""}, lines, []string{""}, v.nextAfter(c)), err
	}
	lines, err = course.TaskText(v.root, c.Chapter, t.Task) // without the folded answers
	return append([]string{style.Strong(t.Title), ""}, style.Wrap(strings.Join(lines, "\n"), min(width, 120))...), err
}
