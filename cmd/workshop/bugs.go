package main

// This file is `workshop bugs`: a chapter's bank of wrong versions as a game. The player reads a wrong version and what
// it did to its users, and names the wrong line, or writes a test that catches it.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

const (
	bugFound = "found"
	bugShown = "shown"
)

func newBugs() *cobra.Command {
	var line string
	var try, answer, list, anyway bool
	var limit time.Duration
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
		func(a *app, c progress.Chapter, _ course.Task) ([]string, error) {
			c = a.finished(c)
			if !c.Done() && !c.Skipped && !anyway {
				return nil, fmt.Errorf("%s is not green yet, and the game shows parts of its solution; "+
					"to play anyway: go tool workshop bugs %s --anyway", c.Dir, c.Dir)
			}
			bank, err := bugs.Load(filepath.Join(a.root, c.Solution()))
			if err != nil {
				return nil, err
			}
			g := &game{app: a, chapter: c, bank: bank, limit: limit}
			if list {
				return g.found(), nil
			}
			question, ok, err := g.next()
			switch {
			case err != nil || !ok:
				return question, err
			case answer:
				return g.show(bugShown), nil
			case line != "":
				return g.guess(line)
			case try:
				return g.tryTest()
			case isTerminal(a.in):
				return nil, g.dialogue(question)
			}
			return question, nil
		})
	cmd.Flags().StringVar(&line, "line", "", "the line that you think is wrong, as file.go:42")
	cmd.Flags().BoolVar(&try, "try", false, "run your test over the solution and over the wrong version")
	cmd.Flags().BoolVar(&answer, "answer", false, "show the answer")
	cmd.Flags().BoolVar(&list, "list", false, "list the wrong versions that you have found or seen")
	cmd.Flags().DurationVar(&limit, "timeout", 30*time.Second, "stop your test after so long")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "play although the chapter is not green")
	return cmd
}

// game is one call of the command, at one wrong version.
type game struct {
	*app
	chapter         progress.Chapter
	bank            []bugs.Bug
	limit           time.Duration // of a learner's test
	bug             bugs.Bug
	solution, wrong overlay.Layer
}

// id returns the key of a wrong version in the progress file.
func (g *game) id(b bugs.Bug) string { return g.chapter.Topic + "/" + b.Name }

// next loads the first wrong version that is not solved, writes its files to .workshop/bugs, and returns what it did to
// its users. ok is false when none is left.
func (g *game) next() (question []string, ok bool, err error) {
	at := slices.IndexFunc(g.bank, func(b bugs.Bug) bool { return g.progress.Bugs[g.id(b)] == "" })
	switch {
	case len(g.bank) == 0:
		return []string{fmt.Sprintf("There are no wrong versions of %s.", g.chapter.Dir)}, false, nil
	case at < 0:
		return []string{fmt.Sprintf("You have seen all %d wrong versions of %s.", len(g.bank), g.chapter.Dir)}, false, nil
	}
	g.bug = g.bank[at]
	g.solution, err = overlay.ReadDir(g.chapter.Dir, "solution", filepath.Join(g.root, g.chapter.Solution()))
	if err != nil {
		return nil, false, err
	}
	if g.wrong, err = g.bug.Apply(g.solution); err != nil {
		return nil, false, err
	}
	folder := filepath.Join(g.root, ".workshop", "bugs", g.chapter.Dir)
	err = os.MkdirAll(folder, 0o755)
	for i, f := range g.wrong.Files {
		path := filepath.Join(folder, f.Name)
		g.wrong.Files[i].Origin = path // so that compile errors and stacks name the file that the player reads
		err = cmp.Or(err, os.WriteFile(path, f.Content, 0o644))
	}
	if err != nil {
		return nil, false, fmt.Errorf("write the wrong version: %w", err)
	}
	title := style.Strong(fmt.Sprintf("%s, wrong version %d of %d", g.chapter.Dir, at+1, len(g.bank)))
	where := "The code is in .workshop/bugs/" + g.chapter.Dir + ". Which line is wrong? Or write a test that catches it."
	return slices.Concat([]string{title, ""}, style.Wrap("  "+g.bug.Symptom, g.proseWidth()), []string{""},
		style.Wrap(where, g.width())), true, nil
}

// dialogue prints the question and reads commands until the player quits.
func (g *game) dialogue(question []string) error {
	for lines := question; ; {
		if err := g.print(lines...); err != nil {
			return err
		}
		fmt.Fprint(g.out, "file.go:line, try (my test), answer, next, quit > ")
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
		case "quit", "q":
			return nil
		case "try", "t":
			lines, err = g.tryTest()
		case "answer", "a":
			lines = g.show(bugShown)
		case "next", "n":
			g.progress.Bugs[g.id(g.bug)] = "later" // for this dialogue only
		default:
			lines, err = g.guess(word)
		}
		var code exitCode
		if err != nil && !errors.As(err, &code) {
			g.warn(err)
		}
		if g.progress.Bugs[g.id(g.bug)] != "" {
			question, ok, err := g.next()
			lines = append(lines, question...)
			if err != nil || !ok {
				return cmp.Or(g.print(lines...), err)
			}
		}
	}
}

// guess compares a line that the player names with the wrong one.
func (g *game) guess(place string) ([]string, error) {
	file, number, _ := strings.Cut(place, ":")
	line, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("name a line as file.go:42, not %q", place)
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
			return miss(f.Name + " is right; look in another file.")
		case line < first-1:
			return miss(fmt.Sprintf("Not %s:%d; it is the right file, further down.", f.Name, line))
		case line > last+1:
			return miss(fmt.Sprintf("Not %s:%d; it is the right file, further up.", f.Name, line))
		}
		return g.show(bugFound, style.Good("That is it.")), nil
	}
	return nil, fmt.Errorf("there is no file %q; there are %s", file, strings.Join(names, ", "))
}

// miss returns why a guess or a test is wrong, and below it the go command's output, if there is any.
func miss(why string, output ...string) ([]string, error) {
	return append([]string{style.Warn(why)}, output...), exitCode(1)
}

// changedLines returns the first and the last line of wrong that differ from right, or 0, 0 if none does. If lines were
// only removed, it returns the lines around the gap.
func changedLines(right, wrong string) (first, last int) {
	if right == wrong {
		return 0, 0
	}
	a, b := strings.Split(right, "\n"), strings.Split(wrong, "\n")
	shorter := min(len(a), len(b))
	head := 0
	for head < shorter && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + 1, max(head+1, len(b)-tail)
}

var issueNumber = regexp.MustCompile(`#(\d+),?`)

// show returns the answer below some lines, and stores how the player found it.
func (g *game) show(how string, above ...string) []string {
	g.progress.Bugs[g.id(g.bug)] = how
	if _, err := progress.Update(g.root, func(f *progress.File) { f.Bugs[g.id(g.bug)] = how }); err != nil {
		g.warn(err)
	}
	out := append(above, "", style.Strong("The rule: ")+g.bug.Rule)
	if g.bug.Issue != "" {
		links := issueNumber.ReplaceAllString(g.bug.Issue, "https://github.com/kubernetes/kubernetes/issues/$1")
		out = append(out, "It happened: "+links)
	}
	out = append(out, "The chapter catches it with "+g.bug.Test, "")
	for i, f := range g.wrong.Files {
		if text := diff.Diff("right/"+f.Name, g.solution.Files[i].Content, "wrong/"+f.Name, f.Content); len(text) > 0 {
			_, hunks, _ := strings.Cut(string(text), "\n") // the first line repeats the names
			out = append(out, style.Diff(hunks)...)
		}
	}
	return out
}

// found returns the wrong versions that the player has found or seen.
func (g *game) found() []string {
	found, shown := 0, 0
	var out []string
	for _, b := range g.bank {
		switch g.progress.Bugs[g.id(b)] {
		case bugFound:
			found++
			out = append(out, style.Good("found  ")+b.Rule)
		case bugShown:
			shown++
			out = append(out, style.Faint("shown  ")+b.Rule)
		}
	}
	left := len(g.bank) - found - shown
	return append(out, fmt.Sprintf("%s: %d found, %d shown, %d to go", g.chapter.Dir, found, shown, left))
}

// tryTest runs the player's test, which must pass over the solution and fail over the wrong version. If there is no
// test, it creates one to start with.
func (g *game) tryTest() ([]string, error) {
	path := filepath.Join(g.root, g.chapter.Dir, progress.BugTest)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		pkg := g.chapter.Package()
		if err := os.WriteFile(path, fmt.Appendf(nil, testTemplate, pkg, g.chapter.Dir, pkg), 0o644); err != nil {
			return nil, fmt.Errorf("create a test: %w", err)
		}
		return []string{fmt.Sprintf("Created %s/%s. Write the test, then try again.", g.chapter.Dir, progress.BugTest)}, nil
	}
	problem, err := g.run(g.solution)
	switch {
	case err != nil:
		return nil, err
	case problem != "":
		return miss("Your test must pass over the right code, and does not:", problem)
	}
	problem, err = g.run(g.wrong)
	switch {
	case err != nil:
		return nil, err
	case problem == "":
		return miss("Your test passes over the wrong code too, so it does not catch the bug.")
	}
	return g.show(bugFound, style.Good("Your test catches it."), problem), nil
}

// run runs the player's test over a layer, and returns why it did not pass, or "". At least one test must run.
func (g *game) run(layer overlay.Layer) (problem string, err error) {
	o, err := overlay.Write(g.root, layer)
	if err != nil {
		return "", err
	}
	cmd, err := o.Go(g.ctx, "test", "-json", "-timeout="+g.limit.String(), "-run", "^TestBug", "./"+g.chapter.Dir)
	if err != nil {
		return "", err
	}
	r, err := gotest.RunLimited(g.ctx, cmd, runner.Limits, nil)
	if err != nil {
		return "", err
	}
	var out []string
	if r.Stopped != "" {
		out = append(out, "Stopped: "+r.Stopped+". Is there a loop that never ends?")
	}
	for _, t := range r.Tests {
		if t.Status != gotest.Passed && t.Status != gotest.Skipped {
			out = append(out, strings.TrimRight(t.Text(), "\n"))
		}
	}
	if len(r.Tests) == 0 {
		out = append(out, strings.TrimSpace(r.Outside), "No test whose name begins with TestBug ran.")
	}
	return strings.Join(out, "\n"), nil
}

const testTemplate = `package %s_test

// A test of your own, for the game: it passes over the right code and fails over the wrong version.

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "client-go-workshop/%s" // remove the _ to use it as %s
	"client-go-workshop/internal/testkit/guard"
)

func TestBug_is_caught(t *testing.T) {
	guard.Test(t, "the rule", func(t *guard.T) {
		t.Did("what you do")
		require.Equal(t, "what has to come", "what has to come", "the value")
	})
}
`
