package failure

// This file is the text of a failure for people who run go test:
//
//	indexer_test.go:71: keys under image=nginx: not equal
//	    did     Add default/a running nginx
//	    wanted  []string{}
//	    got     []string{"default/a"}
//	    why     the rule that was broken
//	    read    05-indexer/README.md, task 2
//
// No program reads it back.

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	indent     = "    " // testing puts another four spaces before every line
	labelWidth = 8      // columns
	proseWidth = 100    // columns after which a rule is wrapped
)

// String returns the failure as text that ends in a newline, without the indentation that testing adds.
func (f Failure) String() string {
	var b strings.Builder
	if h := f.Todo; h != nil && h.Chapter != "" {
		return fmt.Sprintf("%s: %s (%s, task %d): %s\n", f.At, f.Problem, h.At, h.Task, f.Why)
	} else if h != nil { // one line, because over a stub every test fails so
		order := fmt.Sprintf("task %d", h.Task)
		if h.ComesFirst {
			order += " comes first"
		}
		return fmt.Sprintf("%s: called %s: not written yet (%s, %s): its comment says what to write; read %s\n",
			f.At, h.Symbol, h.At, order, f.Read)
	}
	fmt.Fprintf(&b, "%s: %s\n", f.At, f.Headline())
	for _, line := range f.Rest {
		writeLine(&b, indent+line)
	}
	for _, p := range f.Parts() {
		text := p.Text
		if p.Label == "why" {
			text = wrap(text)
		}
		label := p.Label
		for line := range strings.SplitSeq(text, "\n") {
			writeLine(&b, fmt.Sprintf("%s%-*s%s", indent, labelWidth, label, line))
			label = ""
		}
	}
	if f.More > 0 {
		writeLine(&b, fmt.Sprintf("%s… %s", indent, Count(f.More, "more failure")))
	}
	return b.String()
}

func writeLine(b *strings.Builder, line string) {
	b.WriteString(strings.TrimRight(line, " \t\r\n") + "\n")
}

// wrap breaks prose at spaces, so that a line has at most proseWidth columns unless one word alone is wider.
func wrap(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for _, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			switch {
			case column == 0:
			case column+1+n > proseWidth:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += n
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}
