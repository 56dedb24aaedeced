package main

// This file is a game of `workshop bugs`: which wrong version is open, what the player sees of it, and whether a line
// or a test finds the mistake.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/compare"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

// The states of a wrong version in the progress file.
const (
	bugBegun = "begun" // its question was asked
	bugFound = "found"
	bugShown = "shown"
	bugLater = "later" // only within a dialogue; it is not stored
)

// game is one call of the command, at one wrong version.
type game struct {
	*app
	chapter         progress.Chapter
	list            []bugs.Bug // in the order of the game
	more            int        // how many wrong versions are left out, because the player has not asked for all
	bug             bugs.Bug
	solution, wrong overlay.Layer   // as the player sees them
	hidden          map[string]bool // files of bonus tasks
}

// id returns the key of a wrong version in the progress file.
func (g *game) id(b bugs.Bug) string { return g.chapter.Topic + "/" + b.Name }

func (g *game) isSolved(b bugs.Bug) bool {
	state := g.progress.Bugs[g.id(b)]
	return state == bugFound || state == bugShown
}

// done returns how many wrong versions of the game are found or shown, as "3 of 10".
func (g *game) done() string {
	open := slices.DeleteFunc(slices.Clone(g.list), g.isSolved)
	return fmt.Sprintf("%d of %d", len(g.list)-len(open), len(g.list))
}

// next opens the wrong version whose question was asked, or else the first that is not solved, and returns what it did
// to its users. ok is false when none is left.
func (g *game) next() (question []string, ok bool, err error) {
	in := func(state string) func(bugs.Bug) bool {
		return func(b bugs.Bug) bool { return g.progress.Bugs[g.id(b)] == state }
	}
	at := slices.IndexFunc(g.list, in(bugBegun))
	if at < 0 {
		at = slices.IndexFunc(g.list, in(""))
	}
	switch out := ""; {
	case len(g.list) == 0:
		return []string{fmt.Sprintf("There are no wrong versions of %s.", g.chapter.Dir)}, false, nil
	case at < 0 && slices.ContainsFunc(g.list, in(bugLater)):
		return []string{fmt.Sprintf("%s of %s done. The others remain.", g.done(), g.chapter.Dir)}, false, nil
	case at < 0:
		if g.more > 0 {
			out = fmt.Sprintf(" For the other %d: go tool workshop bugs %s --all", g.more, g.chapter.Dir)
		}
		out = fmt.Sprintf("You have done all %d wrong versions of %s.", len(g.list), g.chapter.Dir) + out
		return []string{out}, false, nil
	}
	if err := g.open(g.list[at]); err != nil {
		return nil, false, err
	}
	g.store(bugBegun)
	title := style.Strong(fmt.Sprintf("%s, wrong version %d of %d", g.chapter.Dir, at+1, len(g.list))) +
		style.Faint(fmt.Sprintf("  (%s done)", g.done()))
	where := "The code is in .workshop/bugs/" + g.chapter.Dir + ". Which line is wrong? Or write a test that catches it."
	return slices.Concat([]string{title, ""}, style.Wrap("  "+g.bug.Symptom, g.proseWidth()), []string{""},
		style.Wrap(where, g.width())), true, nil
}

// open makes a wrong version, and writes its files to .workshop/bugs, without those of bonus tasks.
func (g *game) open(b bugs.Bug) (err error) {
	g.bug = b
	if g.hidden, err = compare.BonusFiles(g.root, g.chapter.Chapter); err != nil {
		return err
	}
	g.solution, err = overlay.ReadDir(g.chapter.Dir, "solution", filepath.Join(g.root, g.chapter.Solution()))
	if err != nil {
		return err
	}
	if g.wrong, err = b.Apply(g.solution); err != nil {
		return err
	}
	folder := filepath.Join(g.root, ".workshop", "bugs", g.chapter.Dir)
	err = cmp.Or(os.RemoveAll(folder), os.MkdirAll(folder, 0o755))
	for i, f := range g.wrong.Files {
		g.solution.Files[i].Content = withoutNotes(g.solution.Files[i].Content)
		g.wrong.Files[i].Content = withoutNotes(f.Content)
		if g.hidden[f.Name] {
			continue
		}
		path := filepath.Join(folder, f.Name)
		g.wrong.Files[i].Origin = path // so that compile errors and stacks name the file that the player reads
		err = cmp.Or(err, os.WriteFile(path, g.wrong.Files[i].Content, 0o644))
	}
	if err != nil {
		return fmt.Errorf("write the wrong version: %w", err)
	}
	return nil
}

// note is a line of comment that is for authors: about a bonus task, or a mistake.
var note = regexp.MustCompile(`(?mi)^[ \t]*//.*\b(bonus|bug)\b.*\n`)

// withoutNotes returns a file without what its authors have noted in it: directives, and lines about bonus tasks and
// mistakes.
func withoutNotes(src []byte) []byte { return note.ReplaceAll(stub.WithoutMarks(src), nil) }

// store stores the state of the open wrong version.
func (g *game) store(state string) {
	g.progress.Bugs[g.id(g.bug)] = state
	err := progress.Update(g.root, func(f *progress.File) {
		if f.Bugs[g.id(g.bug)] = state; state == bugLater {
			delete(f.Bugs, g.id(g.bug))
		}
	})
	if err != nil {
		g.warn(err)
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
		if g.hidden[f.Name] {
			continue
		}
		names = append(names, f.Name)
		if f.Name != filepath.Base(file) {
			continue
		}
		right := g.solution.Files[i].Content
		first, last := changedLines(string(right), string(f.Content))
		switch {
		case bytes.Equal(right, f.Content):
			return miss(f.Name + " is right; look in another file."), nil
		case line < first-1:
			return miss(fmt.Sprintf("Not %s:%d. The file is right; look further down.", f.Name, line)), nil
		case line > last+1:
			return miss(fmt.Sprintf("Not %s:%d. The file is right; look further up.", f.Name, line)), nil
		}
		return g.show(bugFound, style.Good("That is the line.")), nil
	}
	return nil, fmt.Errorf("there is no file %q; the files are %s", file, strings.Join(names, ", "))
}

// miss returns why a guess or a test is wrong, and below it the go command's output, if there is any.
func miss(why string, output ...string) []string { return append([]string{style.Warn(why)}, output...) }

// changedLines returns the first and the last line of wrong that differ from right. If lines were only removed, both
// are the line after the gap.
func changedLines(right, wrong string) (first, last int) {
	a, b := strings.Split(right, "\n"), strings.Split(wrong, "\n")
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	more := len(a) - len(b)
	for last = len(b); last > first && last+more > first && a[last+more-1] == b[last-1]; last-- {
	}
	return first + 1, max(first+1, last)
}

var issueNumber = regexp.MustCompile(`#(\d+),?`)

// show returns the answer below some lines, and stores how the player found it.
func (g *game) show(how string, above ...string) []string {
	g.store(how)
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
	return append(out, "", g.done()+" done.")
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
	if problem, err := g.run(g.solution); err != nil {
		return nil, err
	} else if problem != "" {
		return miss("Your test must pass over the right code, but it fails:", problem), nil
	}
	problem, err := g.run(g.wrong)
	if err != nil {
		return nil, err
	} else if problem == "" {
		return miss("Your test also passes over the wrong code, so it does not catch the bug."), nil
	}
	return g.show(bugFound, style.Good("Your test catches it."), problem), nil
}

// run runs the player's test over a layer, and returns why it did not pass, or "". At least one test must run.
func (g *game) run(layer overlay.Layer) (problem string, err error) {
	o, err := overlay.Write(g.root, layer)
	if err != nil {
		return "", err
	}
	limit := cmp.Or(os.Getenv(env.TestLimit), "30s")
	cmd, err := o.Go(g.ctx, "test", "-json", "-timeout="+limit, "-run", "^TestBug", "./"+g.chapter.Dir)
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
		t.Did("the calls")
		require.Equal(t, "wanted", "wanted", "the value")
	})
}
`
