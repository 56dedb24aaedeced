package main

// This file is `workshop bugs`: a chapter's wrong versions as a game. The player reads a wrong version and what
// it did to its users, and names the wrong line, or writes a test that catches it. game.go judges that.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

const gameHelp = `A game for after a chapter is green. It shows a wrong version of the chapter: a bug
that client-go had, or a mistake that people make. You read how it harmed its users.
Name the wrong line, or write a test that catches it. Then see the answer and the
issue behind it. Each chapter has ten wrong versions, the easiest first.

    go tool workshop bugs 05                          the next one, as a dialogue
    go tool workshop bugs 05 --line index.go:42       is it this line?
    go tool workshop bugs 05 --try                    does my test catch it?
    go tool workshop bugs 05 --answer                 show the answer
    go tool workshop bugs 05 --list                   list what you have found
    go tool workshop bugs 05 --all                    continue with all others

The wrong version is in .workshop/bugs; read it in your editor. Your test is
bug_test.go in the chapter's folder. The first --try creates a file to start from.`

// explanation is what "?" prints in the dialogue.
const explanation = `The code in .workshop/bugs is the finished chapter with one mistake in it. The
question describes how the mistake harmed the users of the code. You can type:

  index.go:42   Name this line as wrong. The game confirms it, or says where to look.
  try           Run your test over the right code and over the wrong code. It must
                pass, and then fail. Your test is bug_test.go in the chapter's
                folder. The first try creates a file to start from.
  answer        Show the mistake, the rule that it breaks, and where it happened.
  next          Leave this one for later.
  quit          Stop. The game stores your results.`

func newBugs() *cobra.Command {
	var line string
	var try, answer, list, anyway, all bool
	var limit time.Duration
	cmd := chapterCommand("bugs [chapter]", "Find the bug in wrong code: a game for after a chapter",
		gameHelp,
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			c = a.finished(c)
			if !c.Done() && !c.Skipped && !anyway {
				return nil, fmt.Errorf("%s is not green yet, and the game shows parts of its solution; "+
					"to play anyway: go tool workshop bugs %s --anyway", c.Dir, c.Dir)
			}
			g, err := a.newGame(c, all)
			if err != nil {
				return nil, err
			}
			g.limit = limit
			switch {
			case list:
				return g.found(), nil
			case answer || line != "" || try:
				if err := g.reopen(); err != nil {
					return nil, err
				}
			}
			switch {
			case answer:
				return g.show(bugShown), nil
			case line != "":
				return g.guess(line)
			case try:
				return g.tryTest()
			}
			question, ok, err := g.next()
			if err != nil || !ok || !isTerminal(a.in) {
				return question, err
			}
			return nil, g.dialogue(question)
		})
	cmd.Flags().StringVar(&line, "line", "", "the line that you think is wrong, as file.go:42")
	cmd.Flags().BoolVar(&try, "try", false, "run your test over the solution and over the wrong version")
	cmd.Flags().BoolVar(&answer, "answer", false, "show the answer")
	cmd.Flags().BoolVar(&list, "list", false, "list the wrong versions that you have found or seen")
	cmd.Flags().BoolVar(&all, "all", false, "after the ten, continue with all other wrong versions of the chapter")
	cmd.Flags().DurationVar(&limit, "timeout", 30*time.Second, "stop your test after this time")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "play although the chapter is not green")
	return cmd
}

// newGame returns the game of a chapter: its ten wrong versions, and with all the others behind them.
func (a *app) newGame(c progress.Chapter, all bool) (*game, error) {
	dir := filepath.Join(a.root, c.Solution())
	set, err := bugs.Load(dir)
	if err != nil {
		return nil, err
	}
	ten, others, err := bugs.Game(dir, bugs.WithoutBonus(c.Chapter, set))
	if err != nil {
		return nil, err
	}
	g := &game{app: a, chapter: c, list: ten, more: len(others)}
	open := func(b bugs.Bug) bool { return a.progress.Bugs[g.id(b)] == bugBegun }
	if all || slices.ContainsFunc(others, open) {
		g.list, g.more = slices.Concat(ten, others), 0
	}
	return g, nil
}

// dialogue prints the question and reads commands until the player quits.
func (g *game) dialogue(question []string) error {
	g.asks = true
	for lines := question; ; {
		if err := g.print(lines...); err != nil {
			return err
		}
		prompt := "file.go:line, try (my test), answer, next, ?, quit > "
		if g.isSolved(g.bug) {
			prompt = "next, ?, quit > "
		}
		fmt.Fprint(g.out, prompt)
		word, err := g.readLine()
		if err != nil {
			fmt.Fprintln(g.out)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		lines = nil
		switch word {
		case "":
		case "?", "help":
			lines = []string{"", explanation, ""}
		case "quit", "q":
			return nil
		case "next", "n":
			if !g.isSolved(g.bug) {
				g.store(bugLater)
			}
			question, ok, err := g.next()
			if err != nil || !ok {
				return cmp.Or(g.print(question...), err)
			}
			lines = append([]string{""}, question...)
		case "try", "t":
			lines, err = g.tryTest()
		case "answer", "a":
			lines = g.show(bugShown)
		default:
			lines, err = g.guess(word)
		}
		var code exitCode
		if err != nil && !errors.As(err, &code) {
			g.warn(err)
		}
	}
}

// found returns the wrong versions that the player has found or seen.
func (g *game) found() []string {
	found, shown := 0, 0
	var out []string
	for _, b := range g.list {
		switch g.progress.Bugs[g.id(b)] {
		case bugFound:
			found++
			out = append(out, style.Good("found  ")+b.Rule)
		case bugShown:
			shown++
			out = append(out, style.Faint("shown  ")+b.Rule)
		}
	}
	text := fmt.Sprintf("%s: %d of %d done, %d found and %d shown", g.chapter.Dir, found+shown, len(g.list), found, shown)
	if g.more > 0 {
		text += fmt.Sprintf("; %d more with --all", g.more)
	}
	return append(out, text)
}
