// Package style lays out the texts of the command line: it colours words, marks tasks, and fits failures on a screen.
//
// It uses only the terminal's own sixteen colours, which suit light and dark screens, and it never says anything by
// colour alone. Where there is no colour (NO_COLOR, a pipe), the writer removes it: lipgloss, or bubbletea in the live
// view.
package style

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/testkit/failure"
)

// style keeps tabs, because they align a diff.
var style = lipgloss.NewStyle().TabWidth(lipgloss.NoTabConversion)

var (
	Good   = style.Foreground(lipgloss.Green).Render
	Bad    = style.Foreground(lipgloss.Red).Render
	Warn   = style.Bold(true).Foreground(lipgloss.Magenta).Render // yellow cannot be read on white
	Key    = style.Foreground(lipgloss.Cyan).Render
	Strong = style.Bold(true).Render
	Faint  = style.Faint(true).Render
)

var marks = map[runner.State]string{
	runner.Passed: Good("✓"), runner.Failing: Bad("✗"), runner.Bonus: Faint("+"), runner.Unknown: Faint("?"),
}

// Mark returns one character for the state of a task.
func Mark(s runner.State) string { return cmp.Or(marks[s], Faint("·")) }

// Legend explains the marks.
const Legend = "✓ passes  ✗ fails  · not begun  ? not run since its last change  + bonus"

// Failure lays a failure out below the name of its test. Width and rows are as for Fit.
func Failure(f failure.Failure, width, rows int) []string {
	out := []string{Strong(f.Test)}
	for i, line := range Fit(f, width, rows) {
		text, label := line.Text, "  "+line.Label
		switch {
		case i == 0 && f.Todo != nil:
			text = Strong(text)
		case i == 0:
			text = Bad(text)
		case line.Label != "" && strings.HasPrefix(text, label):
			text = "  " + Key(line.Label) + strings.TrimPrefix(text, label)
		case line.Label == "diff":
			text = diffLine(text[min(partIndent, len(text)):], text)
		}
		out = append(out, text)
	}
	return out
}

// Diff returns the lines of a diff in colour.
func Diff(text string) (out []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		out = append(out, diffLine(line, line))
	}
	return out
}

// diffLine returns text in the colour of a line of a diff.
func diffLine(line, text string) string {
	for _, kind := range []struct {
		prefix string
		colour func(...string) string
	}{{"---", Strong}, {"+++", Strong}, {"diff ", Strong}, {"@@", Key}, {"-", Bad}, {"+", Good}} {
		if strings.HasPrefix(line, kind.prefix) {
			return kind.colour(text)
		}
	}
	return text
}

// sourceLine is how a message of the compiler begins.
var sourceLine = regexp.MustCompile(`^\S+\.go:\d+`)

// Build lays out why a verdict is about the code as text: what the compiler says, or the go command, or, when every
// test passes, vet; at most rows rows of it (0: all).
func Build(v runner.Verdict, width, rows int) []string {
	out := []string{Bad("No test could run:")}
	switch {
	case v.Vetted:
		out = []string{Warn("Every test passes, but go vet, which go test also runs, reports a problem:")}
	case slices.ContainsFunc(v.Build, sourceLine.MatchString):
		out = []string{Bad("It does not compile:")}
	}
	out = append(out, Wrap(strings.Join(v.Build, "\n"), width)...)
	if rows > 0 && len(out) > rows {
		out = append(out[:rows-1], Faint(fmt.Sprintf("… %d more lines", len(out)-rows+1)))
	}
	return out
}

// Stopped returns why a run was stopped.
func Stopped(v runner.Verdict) string {
	if v.Stopped == runner.EndedByUser {
		return Bad("Stopped: " + v.Stopped + ".")
	}
	return Bad(fmt.Sprintf("Stopped: %s. Is there a loop that never ends?", v.Stopped))
}

// Crash returns the dump of a test binary that did not end by itself.
func Crash(v runner.Verdict, width int) []string {
	return append([]string{Bad("The test binary ended before its last test:")},
		Wrap(strings.TrimRight(v.Crash, "\n"), width)...)
}
