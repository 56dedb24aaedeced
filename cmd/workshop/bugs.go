package main

// This file is `workshop bugs`: a chapter's wrong versions as a game. The player reads a wrong version and what
// it did to its users, and names the wrong line, or writes a test that catches it. game.go judges that.

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/workspace/progress"
)

const gameHelp = `A game for after a chapter is green. It shows a wrong version of the chapter: a bug
that client-go had, or a mistake that people make. You read how it harmed its users.
Name the wrong line, or write a test that catches it. Then see the answer and the
issue behind it. Each chapter has ten wrong versions, the easiest first; --all
continues with the others.

The wrong version is in .workshop/bugs; read it in your editor. You can type:

  index.go:42   Name this line as wrong. The game confirms it, or says where to look.
  try           Run your test over the right code and over the wrong code. It must
                pass, and then fail. Your test is bug_test.go in the chapter's
                folder. The first try creates a file to start from.
  answer        Show the mistake, the rule that it breaks, and where it happened.
  next          Leave this one for later.
  quit          Stop. The game stores your results.`

func newBugs() *cobra.Command {
	var anyway, all bool
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
			return nil, g.play()
		})
	cmd.Flags().BoolVar(&all, "all", false, "after the ten, continue with all other wrong versions of the chapter")
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

// play shows the next wrong version, and reads commands until the player quits or the input ends.
func (g *game) play() error {
	lines, ok, err := g.next()
	for {
		if err = cmp.Or(g.print(lines...), err); err != nil || !ok {
			return err
		}
		prompt := "file.go:line, try (my test), answer, next, ?, quit > "
		if g.isSolved(g.bug) {
			prompt = "next, ?, quit > "
		}
		fmt.Fprint(g.out, prompt)
		word, err := g.readAnswer()
		if errors.Is(err, errQuit) {
			fmt.Fprintln(g.out)
			return nil
		} else if err != nil {
			return err
		}
		switch lines = nil; word {
		case "":
		case "?", "help":
			lines = []string{"", gameHelp, ""}
		case "next", "n":
			if !g.isSolved(g.bug) {
				g.store(bugLater)
			}
			lines, ok, err = g.next()
			lines = append([]string{""}, lines...)
		case "try", "t":
			lines, err = g.tryTest()
		case "answer", "a":
			lines = g.show(bugShown)
		default:
			lines, err = g.guess(word)
		}
		if err != nil {
			g.warn(err)
		}
	}
}
