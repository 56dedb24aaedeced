package style

// This file lays a failure out in a given number of columns and rows. What does not fit is cut where it hurts least:
// the earlier steps, and the ends of long values. What was wanted, what came, and the rule are always there.

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"client-go-workshop/internal/testkit/failure"
)

// Line is one row of a screen. Label says which part it belongs to, and is "" for the title and the rest. The first row
// of a part begins with it.
type Line struct{ Label, Text string }

const (
	labelWidth = 8              // columns
	partIndent = 2 + labelWidth // columns before the text of a part
	minRows    = 8
)

// Fit lays f out in rows of at most width columns. With rows > 0 there are at most that many, but never fewer than a
// title and the parts need at one row each; 0 means as many as it takes.
func Fit(f failure.Failure, width, rows int) []Line {
	width = max(width, 30)
	if h := f.Todo; h != nil {
		title := fmt.Sprintf("%s: %s is not written yet (task %d)", h.At, h.Symbol, h.Task)
		if h.Chapter != "" { // the position may be relative to that chapter, or to the workshop
			title = path.Join(h.Chapter, strings.TrimPrefix(title, h.Chapter+"/"))
			return labelled(append(part("", title, width), part("why", f.Why, width)...))
		}
		title += "\nThe comment above it says what to write."
		return labelled(append(part("", title, width), part("read", f.Read, width)...))
	}
	title := f.Headline()
	if at := f.At.String(); at != "" {
		title = at + ": " + title
	}
	out := part("", title, width)
	var parts [][]Line
	for _, p := range f.Parts() {
		parts = append(parts, part(p.Label, p.Text, width))
	}
	if rows > 0 {
		shrink(parts, max(rows-len(out), minRows-1))
	}
	out = append(out, slices.Concat(parts...)...)
	var more []Line
	if len(f.Rest) > 0 {
		more = part("", strings.Join(f.Rest, "\n"), width)
	}
	if f.More > 0 {
		more = append(more, part("", "… "+failure.Count(f.More, "more failure"), width)...)
	}
	if rows > 0 {
		more = cut(more, max(rows-len(out), 1), false)
	}
	return labelled(append(out, more...))
}

// part lays the text of a part out. Its rows are narrower if they begin with a label.
func part(label, text string, width int) (out []Line) {
	if label != "" {
		width -= partIndent
	}
	for _, row := range Wrap(text, width) {
		out = append(out, Line{Label: label, Text: row})
	}
	return out
}

// labelled puts the label of each part before its first row, and indents the others.
func labelled(lines []Line) []Line {
	last := ""
	for i, l := range lines {
		label := l.Label
		if label == last {
			label = ""
		}
		if last = l.Label; l.Label != "" {
			lines[i].Text = strings.TrimRight(fmt.Sprintf("  %-*s%s", labelWidth, label, l.Text), " ")
		}
	}
	return lines
}

// shrink cuts parts until they have at most rows together.
func shrink(parts [][]Line, rows int) {
	// The order in which parts give rows up, and how many they keep in each round.
	for _, round := range []struct {
		label string
		keep  int
	}{
		{"did", 4}, {"diff", 10}, {"got", 4}, {"wanted", 4}, {"did", 2}, {"diff", 5}, {"got", 2}, {"wanted", 2}, {"diff", 2},
		{"why", 4}, {"did", 1}, {"diff", 1}, {"got", 1}, {"wanted", 1}, {"why", 2}, {"read", 1}, {"why", 1},
	} {
		for i, p := range parts {
			if over := len(slices.Concat(parts...)) - rows; over > 0 && p[0].Label == round.label {
				parts[i] = cut(p, max(round.keep, len(p)-over), round.label == "did")
			}
		}
	}
}

// cut keeps n rows, the last ones or the first ones, and marks that there were more.
func cut(lines []Line, n int, keepLast bool) []Line {
	if len(lines) <= n {
		return lines
	}
	kept := slices.Clone(lines[:n])
	mark := &kept[n-1]
	if keepLast {
		copy(kept, lines[len(lines)-n:])
		mark = &kept[0]
	}
	if n > 1 {
		mark.Text = "…"
	} else {
		mark.Text += " …"
	}
	return kept
}

// noBreak and noSpace stand for a hyphen and a space while a line is broken: characters of one column that no text
// uses.
const noBreak, noSpace = "\ue000", "\ue001"

// shownCommand is a command in a sentence: to its end, or to the end of a clause. What follows "go" tells it from the
// verb, and from the end of the word client-go.
var shownCommand = regexp.MustCompile(`\b(?:go (?:build|clean|doc|env|get|install|list|mod|run|test|tool|version|vet)` +
	`|unset|export) (?:[^ ]*[^ .,;:?] )*[^ ]+`)

// Wrap breaks the lines of a text into rows of at most width columns, at spaces where it can. A row that goes on keeps
// the line's indentation. A command that fits into a row stays in one, so that it can be copied. Control characters are
// taken out, so that what a test prints cannot move a screen's cursor.
func Wrap(text string, width int) (rows []string) {
	for line := range strings.SplitSeq(text, "\n") {
		rows = append(rows, wrapLine(clean(line), width)...)
	}
	return rows
}

func wrapLine(line string, width int) []string {
	if ansi.StringWidth(line) <= width {
		return []string{line}
	}
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	if len(indent) > width/2 {
		indent = ""
	}
	text = shownCommand.ReplaceAllStringFunc(text, func(command string) string {
		if ansi.StringWidth(command) > width-len(indent) {
			return command
		}
		return strings.ReplaceAll(command, " ", noSpace)
	})
	// A hyphen is no place to break at: options begin with it.
	text = strings.ReplaceAll(text, "-", noBreak)
	rows := strings.Split(ansi.Wrap(text, width-len(indent), ""), "\n")
	for i, row := range rows {
		rows[i] = indent + hidden.Replace(strings.TrimRight(row, " "))
	}
	return rows
}

var hidden = strings.NewReplacer(noBreak, "-", noSpace, " ")

// clean makes tabs four spaces and drops escape sequences' first byte and all other control characters.
func clean(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return -1
		}
		return r
	}, strings.ReplaceAll(line, "\t", "    "))
}
