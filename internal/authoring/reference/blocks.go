package reference

// This file checks code blocks. One below a comment that says where it is from has to be what stands there:
//
//	<!-- source: k8s.io/client-go/tools/cache/store.go#L10-L20 -->
//	<!-- source: solutions/05-indexer/index.go#func index.update -->
//	<!-- source: solutions/05-indexer/index.go#doc+func index.update -->
//
// A path begins with an upstream module or is one from the workshop's root. After "#" come lines, or a declaration (func,
// type, const, var), without its doc comment unless it says doc+. Directives of the doc comment are never shown. Any other
// block of Go has to parse, as a file, as declarations or as statements, unless its fence says "go nocheck".

import (
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (c *checker) block(b block) {
	if b.unclosed {
		c.problem(b.line, "this code block is never closed: all that follows is part of it")
	}
	if b.source != nil {
		b.source.used = true
		c.quoted(b, strings.TrimSpace(strings.TrimPrefix(b.source.text, "source:")))
		return
	}
	if len(b.info) == 0 || b.info[0] != "go" || slices.Contains(b.info, "nocheck") {
		return
	}
	if at, err := parseGo(strings.Join(b.lines, "\n")); err != nil {
		c.problem(b.line+at, "this block is not Go: %v; mend it, or write ```go nocheck", err)
	}
}

// parseGo parses a file, declarations or statements. at is the line of the error, from 1.
func parseGo(text string) (at int, err error) {
	_, err = parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	for _, frame := range [][2]string{{"package p; ", ""}, {"package p; func _() { ", "\n}"}} {
		if err == nil {
			return 0, nil
		}
		// The frame adds no line in front, so the error's line is the block's.
		_, framed := parser.ParseFile(token.NewFileSet(), "", frame[0]+text+frame[1], parser.SkipObjectResolution)
		if framed == nil || errorLine(framed) > errorLine(err) { // who got further has understood more
			err = framed
		}
	}
	if err == nil {
		return 0, nil
	}
	at = errorLine(err)
	if list, ok := err.(scanner.ErrorList); ok && len(list) > 0 {
		return min(at, countLines(text)), fmt.Errorf("%s", list[0].Msg)
	}
	return at, err
}

func errorLine(err error) int {
	if list, ok := err.(scanner.ErrorList); ok && len(list) > 0 {
		return list[0].Pos.Line
	}
	return 0
}

var declarationPart = regexp.MustCompile(`^(doc\+)?(func|type|const|var)\s+(\S+)$`)

// quoted compares a block with what its source comment names.
func (c *checker) quoted(b block, spec string) {
	name, part, _ := strings.Cut(spec, "#")
	mod, file, upstream := c.upstream.module(name)
	if !upstream {
		mod, file = Module{Path: ownModule, Dir: c.root}, name
	}
	all, err := mod.read(file)
	if err != nil {
		c.problem(b.source.line, "the source %s cannot be read: %s has no such file%s", name, mod, elsewhere(mod, file))
		return
	}
	var from []string // what the block has to be
	var first int
	if m := lineRange.FindStringSubmatch(part); m != nil {
		begin, last := lineNumbers(m[1], m[2])
		if begin < 1 || last < begin || last > len(all) {
			c.problem(b.source.line, "the source %s is not there: the file has %d lines", spec, len(all))
			return
		}
		first, from = begin, all[begin-1:last]
	} else if m := declarationPart.FindStringSubmatch(part); m != nil {
		d := c.declaration(mod, file, kind(m[2]), m[3])
		if d == nil {
			c.problem(b.source.line, "the source %s is not there: %s declares no %s %s", spec, file, m[2], m[3])
			return
		}
		first, from = d.line, all[d.line-1:d.end]
		if m[1] != "" && d.doc > 0 {
			first, from = d.doc, append(withoutDirectives(all[d.doc-1:d.line-1]), from...)
		}
	} else {
		c.problem(b.source.line, "the source %q cannot be understood: write FILE#L10-L20 or FILE#func Name", spec)
		return
	}
	c.compare(b, spec, from, first, all)
}

// declaration finds a declaration of one file.
func (c *checker) declaration(mod Module, file string, k kind, name string) *decl {
	chain, ok := symbolIn("`" + name + "`")
	if !ok {
		return nil
	}
	for _, s := range c.candidates(mod, file, chain) {
		if s.file == file && s.kind == k {
			return s.decl
		}
	}
	return nil
}

var directive = regexp.MustCompile(`^//[a-z]+:[a-z]`)

// withoutDirectives takes the lines for tools off a doc comment, and the empty ones that then end it.
func withoutDirectives(doc []string) []string {
	doc = slices.DeleteFunc(slices.Clone(doc), directive.MatchString)
	for len(doc) > 0 && strings.TrimSpace(doc[len(doc)-1]) == "//" {
		doc = doc[:len(doc)-1]
	}
	return doc
}

// compare reports the first line in which a block departs from its source, and where the block's text stands if it has
// only moved. first is the line of from[0] in the file, all the file.
func (c *checker) compare(b block, spec string, from []string, first int, all []string) {
	want, got := trimmed(from), trimmed(b.lines)
	if slices.Equal(want, got) {
		return
	}
	if at := indexOf(trimmed(all), got); at >= 0 && len(got) == len(want) {
		c.problem(b.source.line, "this block is not %s: it stands at #L%d-L%d now", spec, at+1, at+len(got))
		return
	}
	n := 0
	for n < len(want) && n < len(got) && want[n] == got[n] {
		n++
	}
	line := func(lines []string) string {
		if n == len(lines) {
			return "at its end"
		}
		return strconv.Quote(lines[n])
	}
	c.problem(b.line+1+n, "this block is not %s: here it is %s, and the source, near line %d, is %s", spec, line(got), first+n, line(want))
}

// trimmed takes the space off the ends of lines.
func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(line, " \t\r")
	}
	return out
}

// indexOf finds where part stands in all, -1 if nowhere.
func indexOf(all, part []string) int {
	for i := range len(all) - len(part) + 1 {
		if slices.Equal(all[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}
