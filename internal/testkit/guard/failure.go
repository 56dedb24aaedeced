package guard

// This file is the layout of a failure. Other tools read it, so the labels and the columns are fixed:
//
//	    indexer_test.go:71: not equal
//	        did     Add default/a running nginx
//	        wanted  []string{}
//	        got     []string{"default/a"}
//	        why     the rule that was broken
//	        read    05-indexer/README.md#task-2-one-index
//
// It knows nothing of how a failure came about.

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	indent    = "    " // testing puts another four before every line
	labelWide = 8      // columns
	textWide  = 100    // columns, where text may be wrapped
)

// failure is one thing that went wrong. Every part but at and title may be empty.
type failure struct {
	at      string // "indexer_test.go:71"
	title   string
	rest    string // more lines of a message that could not be taken apart, printed as they are
	did     []string
	earlier int // steps before did
	wanted  string
	got     string
	diff    string
	why     string
	read    string
}

// sameAs says whether g tells nothing that f does not.
func (f failure) sameAs(g failure) bool {
	return f.at == g.at && f.title == g.title && f.rest == g.rest && f.wanted == g.wanted && f.got == g.got && f.why == g.why
}

// String is the failure as it is printed, without the indentation that testing adds.
func (f failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", f.at, f.title)
	for line := range strings.Lines(f.rest) {
		b.WriteString(strings.TrimRight(indent+line, " \t\r\n") + "\n")
	}
	steps := strings.Join(f.did, "\n")
	if f.earlier > 0 {
		steps = fmt.Sprintf("… %s\n%s", count(f.earlier, "earlier step"), steps)
	}
	for _, part := range []struct{ label, text string }{
		{"did", steps}, {"wanted", f.wanted}, {"got", f.got}, {"diff", f.diff}, {"why", wrap(f.why)}, {"read", f.read},
	} {
		label := part.label
		for line := range strings.Lines(part.text) {
			text := fmt.Sprintf("%s%-*s%s", indent, labelWide, label, line)
			b.WriteString(strings.TrimRight(text, " \t\r\n") + "\n")
			label = ""
		}
	}
	return b.String()
}

// wrap breaks lines at spaces, so that they have at most textWide columns unless a word alone is wider.
func wrap(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for _, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			switch {
			case column == 0:
			case column+1+n > textWide:
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

// shorten cuts what is longer than n characters, and says so.
func shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n]) + fmt.Sprintf("… (%s)", count(len(runes)-n, "more character"))
}

// count says "1 step", "2 steps".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// capLines keeps the first n lines and says how many there were more.
func capLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines[:n], "\n") + fmt.Sprintf("\n… %s", count(len(lines)-n, "more line"))
}
