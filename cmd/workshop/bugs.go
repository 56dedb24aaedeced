package main

// This file is `workshop bugs`: a chapter's bank of wrong versions as a game. The player reads a wrong version and what
// it did to its users, and names the wrong line, or writes a test that catches it (bugs_try.go).

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

const (
	bugFound = "found"
	bugShown = "shown"
)

func newBugs() *cobra.Command {
	var g game
	var anyway bool
	cmd := chapterCommand("bugs [chapter]", "A game for afterwards: here is wrong code and what it did; find the bug",
		`A game for when a chapter is green. You get a wrong version of it, as a bug that
client-go had or as people write it, and what it did to its users. Name the wrong
line, or write a test that catches it, before you look at the answer and the
issue behind it.

    go tool workshop bugs 05                          the next one, as a dialogue
    go tool workshop bugs 05 --line index.go:42       is it this line?
    go tool workshop bugs 05 --try                    does my test catch it?
    go tool workshop bugs 05 --answer                 show me
    go tool workshop bugs 05 --list                   what you have found

The wrong version is in .workshop/bugs, to read in your editor. Your test is
bug_test.go in the chapter's folder; the first --try creates one to start with.`,
		func(cmd *cobra.Command, a app, args []string) error {
			c, err := a.pickFinished(args)
			if err != nil {
				return err
			}
			if !c.Done() && !c.Skipped && !anyway {
				return fmt.Errorf("%s is not green yet, and the game shows parts of its solution; "+
					"to play anyway: go tool workshop bugs %s --anyway", c.Dir, c.Dir)
			}
			return g.play(cmd, a, c)
		})
	cmd.Flags().StringVar(&g.line, "line", "", "the line that you think is wrong, as file.go:42")
	cmd.Flags().BoolVar(&g.try, "try", false, "run your test over the solution and over the wrong version")
	cmd.Flags().BoolVar(&g.answer, "answer", false, "show the answer")
	cmd.Flags().BoolVar(&g.list, "list", false, "list the wrong versions that you have found or seen")
	cmd.Flags().DurationVar(&g.limit, "timeout", 30*time.Second, "stop your test after so long")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "play although the chapter is not green")
	return cmd
}

// game is one call of the command: its flags, and one wrong version.
type game struct {
	line              string
	try, answer, list bool
	limit             time.Duration // of a learner's test

	cmd      *cobra.Command
	app      app
	chapter  progress.Chapter
	bug      bugs.Bug
	solution overlay.Layer
	wrong    overlay.Layer
	number   int // of the wrong version in the bank
	all      int
}

func (g *game) play(cmd *cobra.Command, a app, c progress.Chapter) error {
	g.cmd, g.app, g.chapter = cmd, a, c
	bank, err := bugs.Load(filepath.Join(a.root, c.Solution()))
	if err != nil {
		return err
	}
	if g.list {
		return g.printList(bank)
	}
	ok, err := g.next(bank)
	if err != nil || !ok {
		return err
	}
	switch {
	case g.answer:
		return g.show(bugShown)
	case g.line != "":
		return g.guess(g.line)
	case g.try:
		return g.tryTest()
	}
	if err := g.ask(); err != nil || !isTerminal(cmd.InOrStdin()) {
		return err
	}
	return g.dialogue(bank)
}

func (g *game) id() string { return g.chapter.Topic + "/" + g.bug.Name }

func (g *game) say(lines ...string) error { return printLines(g.cmd, lines...) }

// next loads the first wrong version that is not solved, and writes its files to .workshop/bugs. ok is false when none
// is left.
func (g *game) next(bank []bugs.Bug) (ok bool, err error) {
	if len(bank) == 0 {
		return false, g.say(fmt.Sprintf("There are no wrong versions of %s.", g.chapter.Dir))
	}
	at := slices.IndexFunc(bank, func(b bugs.Bug) bool { return g.app.progress.Bugs[g.chapter.Topic+"/"+b.Name] == "" })
	if at < 0 {
		return false, g.say(fmt.Sprintf("You have seen all %d wrong versions of %s.", len(bank), g.chapter.Dir))
	}
	g.bug, g.number, g.all = bank[at], at+1, len(bank)
	solution := filepath.Join(g.app.root, g.chapter.Solution())
	if g.solution, err = overlay.ReadDir(g.chapter.Dir, "solution", solution); err != nil {
		return false, err
	}
	if g.wrong, err = g.bug.Apply(g.solution); err != nil {
		return false, err
	}
	folder := filepath.Join(g.app.root, ".workshop", "bugs", g.chapter.Dir)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return false, fmt.Errorf("write the wrong version: %w", err)
	}
	for i, f := range g.wrong.Files {
		path := filepath.Join(folder, f.Name)
		g.wrong.Files[i].Origin = path // so that compile errors and stacks name the file that the player reads
		if err := os.WriteFile(path, f.Content, 0o644); err != nil {
			return false, fmt.Errorf("write the wrong version: %w", err)
		}
	}
	return true, nil
}

// ask prints what the wrong version did to its users.
func (g *game) ask() error {
	out := []string{style.Strong(fmt.Sprintf("%s, wrong version %d of %d", g.chapter.Dir, g.number, g.all)), ""}
	out = append(out, style.Wrap("  "+g.bug.Symptom, min(columns(g.cmd.OutOrStdout()), 100))...)
	where := "The code is in .workshop/bugs/" + g.chapter.Dir + ". Which line is wrong? Or write a test that catches it."
	return g.say(append(append(out, ""), style.Wrap(where, columns(g.cmd.OutOrStdout()))...)...)
}

// dialogue reads commands until the player quits.
func (g *game) dialogue(bank []bugs.Bug) error {
	for {
		fmt.Fprint(g.cmd.OutOrStdout(), "file.go:line, try (my test), answer, next, quit > ")
		line, err := readLine(g.cmd.Context(), g.cmd.InOrStdin())
		if err != nil {
			fmt.Fprintln(g.cmd.OutOrStdout())
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case g.cmd.Context().Err() != nil:
				return err
			}
			return fmt.Errorf("read what you type: %w", err)
		}
		solved := false
		switch word := strings.TrimSpace(line); word {
		case "":
			continue
		case "quit", "q":
			return nil
		case "try", "t":
			err = g.tryTest()
			solved = g.app.progress.Bugs[g.id()] != ""
		case "answer", "a":
			err, solved = g.show(bugShown), true
		case "next", "n":
			g.app.progress.Bugs[g.id()] = "later" // for this dialogue only
			solved = true
		default:
			err = g.guess(word)
			solved = g.app.progress.Bugs[g.id()] != ""
		}
		var code exitCode
		if err != nil && !errors.As(err, &code) {
			warn(g.cmd, err)
		}
		if solved {
			if ok, err := g.next(bank); err != nil || !ok {
				return err
			}
			if err := g.ask(); err != nil {
				return err
			}
		}
	}
}

// guess compares a line that the player names with the wrong one.
func (g *game) guess(place string) error {
	file, number, _ := strings.Cut(place, ":")
	line, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("name a line as file.go:42, not %q", place)
	}
	names := []string{}
	for i, f := range g.wrong.Files {
		names = append(names, f.Name)
		if f.Name != filepath.Base(file) {
			continue
		}
		first, last := changedLines(string(g.solution.Files[i].Content), string(f.Content))
		switch {
		case first == 0:
			return g.miss(fmt.Sprintf("%s is right; look in another file.", f.Name))
		case line < first-1 || line > last+1:
			way := "further down"
			if line > last {
				way = "further up"
			}
			return g.miss(fmt.Sprintf("Not %s:%d; it is the right file, %s.", f.Name, line, way))
		}
		if err := g.say(style.Good("That is it.")); err != nil {
			return err
		}
		return g.show(bugFound)
	}
	return fmt.Errorf("there is no file %q; there are %s", file, strings.Join(names, ", "))
}

// miss prints why a guess or a test is wrong, and returns exit code 1.
func (g *game) miss(text string) error {
	first, rest, more := strings.Cut(text, "\n")
	out := []string{style.Warn(first)}
	if more {
		out = append(out, rest) // the go command's output
	}
	if err := g.say(out...); err != nil {
		return err
	}
	return exitCode(1)
}

// changedLines returns the first and the last line of wrong that differ from right, or 0, 0 if none does. If lines were
// only removed, it returns the lines around the gap.
func changedLines(right, wrong string) (first, last int) {
	a, b := strings.Split(right, "\n"), strings.Split(wrong, "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	if head == len(a) && head == len(b) {
		return 0, 0
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + 1, max(head+1, len(b)-tail)
}

// show prints the answer, and stores how the player found it.
func (g *game) show(how string) error {
	g.app.progress.Bugs[g.id()] = how
	if _, err := progress.Update(g.app.root, func(f *progress.File) { f.Bugs[g.id()] = how }); err != nil {
		warn(g.cmd, err)
	}
	out := []string{"", style.Strong("The rule: ") + g.bug.Rule}
	if g.bug.Issue != "" {
		out = append(out, "It happened: "+issueLinks(g.bug.Issue))
	}
	out = append(out, "The chapter catches it with "+g.bug.Test, "")
	for i, f := range g.wrong.Files {
		if text := diff.Diff("right/"+f.Name, g.solution.Files[i].Content, "wrong/"+f.Name, f.Content); len(text) > 0 {
			_, hunks, _ := strings.Cut(string(text), "\n") // the first line repeats the names
			out = append(out, strings.TrimRight(colourDiff(hunks), "\n"))
		}
	}
	return g.say(out...)
}

func issueLinks(issue string) string {
	words := strings.Fields(issue)
	for i, w := range words {
		if number, ok := strings.CutPrefix(strings.TrimRight(w, ","), "#"); ok {
			words[i] = "https://github.com/kubernetes/kubernetes/issues/" + number
		}
	}
	return strings.Join(words, " ")
}

func (g *game) printList(bank []bugs.Bug) error {
	found, shown := 0, 0
	var out []string
	for _, b := range bank {
		switch g.app.progress.Bugs[g.chapter.Topic+"/"+b.Name] {
		case bugFound:
			found++
			out = append(out, style.Good("found  ")+b.Rule)
		case bugShown:
			shown++
			out = append(out, style.Faint("shown  ")+b.Rule)
		}
	}
	left := len(bank) - found - shown
	return g.say(append(out, fmt.Sprintf("%s: %d found, %d shown, %d to go", g.chapter.Dir, found, shown, left))...)
}
