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
	got := trimmed(b.Lines)
	if slices.Equal(all[first-1:last], got) {
		return
	}
	text := func(lines []string) string { return "\n" + strings.Join(lines, "\n") + "\n" }
	before, _, moved := strings.Cut(text(all), text(got))
	if !moved {
		c.problem(at, "this block is not %s: the file has no such lines", spec)
		return
	}
	first = strings.Count(before, "\n") + 1
	c.problem(at, "this block is not %s: it stands at #L%d-L%d now", spec, first, first+len(got)-1)
}

// trimmed takes the space off the ends of lines.
func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(line, " \t\r\n")
	}
	return out
}
