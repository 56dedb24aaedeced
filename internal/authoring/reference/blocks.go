package reference

// This file checks code blocks. One below a comment that says where it is from has to be the lines of that source:
//
//	<!-- source: k8s.io/client-go/tools/cache/store.go#L10-L20 -->
//
// A path begins with an upstream module or is one from the workshop's root. Any other block of Go has to parse, as a
// file, as declarations or as statements, unless its fence says "go nocheck".

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course/markdown"
)

func (c *checker) block(b *markdown.Block) {
	if !b.Closed {
		c.problem(b.Line, "this code block is never closed: all that follows is part of it")
	}
	if b.Comment != nil {
		if spec, ok := strings.CutPrefix(b.Comment.Text, "source:"); ok {
			c.quoted(b, strings.TrimSpace(spec))
			return
		}
	}
	if !b.Is("go") || slices.Contains(b.Info, "nocheck") {
		return
	}
	if err := goError(strings.Join(b.Lines, "\n")); err != nil {
		at := b.Line + min(err.Pos.Line, len(b.Lines))
		c.problem(at, "this block is not Go: %v; fix it, or write ```go nocheck", err.Msg)
	}
}

// goError parses a text as a file, as declarations and as statements. It returns nil if one of them succeeds, otherwise
// the error of the one that gets furthest.
func goError(text string) (furthest *scanner.Error) {
	for _, frame := range [][2]string{{"", ""}, {"package p; ", ""}, {"package p; func _() { ", "\n}"}} {
		_, err := parser.ParseFile(token.NewFileSet(), "", frame[0]+text+frame[1], parser.SkipObjectResolution)
		var list scanner.ErrorList
		if !errors.As(err, &list) {
			return nil
		}
		if furthest == nil || list[0].Pos.Line > furthest.Pos.Line {
			furthest = list[0]
		}
	}
	return furthest
}

// quoted compares a block with what its source comment names.
func (c *checker) quoted(b *markdown.Block, spec string) {
	name, part, _ := strings.Cut(spec, "#")
	mod, file, upstream := c.upstreamPath(name)
	if !upstream {
		mod, file = c.own, name
	}
	all := mod.lines(file)
	at := b.Comment.Line
	if len(all) == 0 {
		c.problem(at, "the source %s cannot be read: %s has no such file%s", name, mod, elsewhere(mod, file))
		return
	}
	m := lineRange.FindStringSubmatch(part)
	if m == nil {
		c.problem(at, "the source %q cannot be understood: write FILE#L10-L20", spec)
		return
	}
	first, last := lineNumbers(m[1], m[2])
	if first < 1 || last < first || last > len(all) {
		c.problem(at, "the source %s is not there: the file has %d lines", spec, len(all))
		return
	}
	c.compare(b, spec, all[first-1:last], first, all)
}

// compare reports the first line in which a block departs from its source, and where the file has the block's text if
// it has only moved. first is the line of want[0] in the file, all the file.
func (c *checker) compare(b *markdown.Block, spec string, want []string, first int, all []string) {
	got := trimmed(b.Lines)
	if slices.Equal(want, got) {
		return
	}
	for i := range len(all) - len(got) + 1 {
		if len(got) == len(want) && slices.Equal(all[i:i+len(got)], got) {
			c.problem(b.Comment.Line, "this block is not %s: it stands at #L%d-L%d now", spec, i+1, i+len(got))
			return
		}
	}
	n := 0
	for n < min(len(want), len(got)) && want[n] == got[n] {
		n++
	}
	line := func(lines []string) string {
		if n == len(lines) {
			return "at its end"
		}
		return strconv.Quote(lines[n])
	}
	c.problem(b.Line+1+n, "this block is not %s: here it is %s, and the source, near line %d, is %s",
		spec, line(got), first+n, line(want))
}

// trimmed takes the space off the ends of lines.
func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(line, " \t\r\n")
	}
	return out
}
