package style

// This file shows the lines of source around the one that a failure is about.

import (
	"fmt"
	"strings"
)

// Excerpt returns at most rows lines of a file: the one with the number at, which is marked, and those around it, down
// and up to the ends of its declaration. It returns nil if the file has no such line.
func Excerpt(lines []string, at, rows int) (out []string) {
	if at < 1 || at > len(lines) || rows < 1 {
		return nil
	}
	first, last := at, at
	ends := func(number int) bool {
		return strings.HasPrefix(lines[number-1], "}") || strings.TrimRight(lines[number-1], "\r") == ")"
	}
	for first > 1 && !ends(first-1) {
		first--
	}
	for last < len(lines) && !ends(last) {
		last++
	}
	blank := func(number int) bool { return strings.TrimSpace(lines[number-1]) == "" }
	for first < at && blank(first) {
		first++
	}
	// If not all fits, more of what leads to the line than of what follows it.
	first = max(first, min(at-(rows-1)*2/3, last-rows+1))
	last = min(last, first+rows-1)
	for last > at && blank(last) {
		last--
	}
	for n := first; n <= last; n++ {
		text, mark := clean(strings.TrimRight(lines[n-1], "\r")), Faint(fmt.Sprintf("  %4d  ", n))
		if n == at {
			text, mark = Strong(text), Key(fmt.Sprintf("> %4d  ", n))
		}
		out = append(out, strings.TrimRight(mark+text, " "))
	}
	return out
}
