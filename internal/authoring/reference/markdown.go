package reference

// This file reads Markdown as far as the checks need it: first line by line (code blocks, comments, definitions of
// links), then what is left, block by block, for inline code and links. It knows lists, tables and quotes only as places
// where a block ends. Left out: code blocks made by indentation, which are read as text.

import (
	"regexp"
	"slices"
	"strings"
)

// document is a Markdown text, taken apart.
type document struct {
	links    []link
	code     []code
	blocks   []block
	comments []*comment
	anchors  []string // set in HTML
	prose    string   // the text with spaces where code blocks and comments stand
}

// link is a link or an image.
type link struct {
	line   int
	text   string // as written between the brackets; "" for a bare address
	target string
}

// code is a piece of inline code, without its backquotes.
type code struct {
	line int
	text string
}

// block is a fenced code block.
type block struct {
	line     int      // of the opening fence
	info     []string // the words after the fence: "go", "nocheck"
	lines    []string
	source   *comment // the "source:" comment right above it
	unclosed bool
}

// comment is an HTML comment that stands on lines of its own, without its marks.
type comment struct {
	line int
	text string
	used bool // by a block
}

var (
	fence      = regexp.MustCompile("^((?:\\s*>)*\\s*(?:(?:[-*+]|\\d+[.)])\\s+)?)(`{3,}|~{3,})([^`]*)$")
	quoteMarks = regexp.MustCompile(`^(?:\s*>)+ ?`)
	definition = regexp.MustCompile(`^\s{0,3}\[([^\]^][^\]]*)\]:\s*<?([^\s>]+)>?(?:\s+["'(].*)?\s*$`)
	htmlAnchor = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	htmlTarget = regexp.MustCompile(`^<(?:a|img)\s[^>]*?(?:href|src)="([^"]+)"`)
	// apart begins a block of its own: a list item, a heading, a row of a table.
	apart = regexp.MustCompile(`^\s*(?:[-*+]\s|\d+[.)]\s|#{1,6}\s|\||>)`)
)

// parseMarkdown takes a text apart.
func parseMarkdown(text string) document {
	p := &lineParser{definitions: map[string]definitionAt{}}
	for i, line := range strings.Split(text, "\n") {
		p.line(i+1, strings.TrimSuffix(line, "\r"))
	}
	p.close()
	doc := p.doc
	doc.prose = strings.Join(p.prose, "\n")
	for _, m := range htmlAnchor.FindAllStringSubmatch(doc.prose, -1) {
		doc.anchors = append(doc.anchors, m[1])
	}
	used := map[string]bool{}
	start := 0
	for i, line := range p.prose {
		blank := strings.TrimSpace(line) == ""
		if blank || apart.MatchString(line) {
			doc.inline(p.prose[start:i], start+1, p.definitions, used)
			start = i
		}
	}
	doc.inline(p.prose[start:], start+1, p.definitions, used)
	for label, d := range p.definitions {
		if !used[label] {
			doc.links = append(doc.links, link{line: d.line, target: d.target})
		}
	}
	return doc
}

// lineParser goes through a text line by line.
type lineParser struct {
	doc         document
	prose       []string // the lines, empty where they are no prose
	definitions map[string]definitionAt

	open    *block // the code block that we are in
	mark    string // its opening fence
	indent  int    // of the opening fence
	comment *comment
	above   *comment // the last "source:" comment, if nothing but blank lines followed
}

type definitionAt struct {
	line   int
	target string
}

func (p *lineParser) line(number int, line string) {
	switch {
	case p.open != nil:
		p.blockLine(line)
		line = ""
	case p.comment != nil:
		line = p.commentLine(line)
	case strings.HasPrefix(strings.TrimSpace(line), "<!--"):
		p.comment = &comment{line: number}
		line = p.commentLine(strings.TrimPrefix(strings.TrimSpace(line), "<!--"))
	default:
		line = p.textLine(number, line)
	}
	p.prose = append(p.prose, line)
}

func (p *lineParser) textLine(number int, line string) string {
	if m := fence.FindStringSubmatch(line); m != nil {
		p.open = &block{line: number, info: strings.Fields(m[3]), source: p.above}
		p.mark, p.indent, p.above = m[2], len(quoteMarks.ReplaceAllString(m[1], "")), nil
		return ""
	}
	if strings.TrimSpace(line) != "" {
		p.above = nil
	}
	if m := definition.FindStringSubmatch(line); m != nil {
		p.definitions[strings.ToLower(m[1])] = definitionAt{number, m[2]}
		return ""
	}
	return line
}

// blockLine takes a line of the open code block, without the quote marks and the indentation of its fence.
func (p *lineParser) blockLine(line string) {
	trimmed := strings.Trim(quoteMarks.ReplaceAllString(line, ""), " \t")
	if strings.HasPrefix(trimmed, p.mark) && strings.Trim(trimmed, p.mark[:1]) == "" {
		p.doc.blocks = append(p.doc.blocks, *p.open)
		p.open = nil
		return
	}
	line = quoteMarks.ReplaceAllString(line, "")
	for n := 0; n < p.indent && strings.HasPrefix(line, " "); n++ {
		line = line[1:]
	}
	p.open.lines = append(p.open.lines, line)
}

// commentLine takes a line of the open comment, and returns what follows the comment's end.
func (p *lineParser) commentLine(line string) (rest string) {
	part, rest, ends := strings.Cut(line, "-->")
	p.comment.text += part + "\n"
	if !ends {
		return ""
	}
	p.comment.text = strings.TrimSpace(p.comment.text)
	p.doc.comments = append(p.doc.comments, p.comment)
	p.above = nil
	if strings.HasPrefix(p.comment.text, "source:") && strings.TrimSpace(rest) == "" {
		p.above = p.comment
	}
	p.comment = nil
	return rest
}

func (p *lineParser) close() {
	if p.open != nil {
		p.open.unclosed = true
		p.doc.blocks = append(p.doc.blocks, *p.open)
	}
}

// inline reads the lines of one block of text: inline code, links, addresses.
func (d *document) inline(lines []string, first int, definitions map[string]definitionAt, used map[string]bool) {
	text := strings.Join(lines, "\n")
	lineOf := func(at int) int { return first + strings.Count(text[:at], "\n") }
	var brackets []int // where the open ones stand
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			i += 2
		case rest[0] == '`':
			inside, length := codeSpan(rest)
			if inside != "" {
				d.code = append(d.code, code{lineOf(i), strings.ReplaceAll(inside, `\|`, "|")}) // as in tables
			}
			i += length
		case strings.HasPrefix(rest, "<!--"):
			end := strings.Index(rest, "-->")
			if end < 0 {
				return
			}
			i += end + len("-->")
		case rest[0] == '<' && htmlTarget.MatchString(rest):
			m := htmlTarget.FindStringSubmatch(rest)
			d.links = append(d.links, link{line: lineOf(i), target: m[1]})
			i += len(m[0])
		case webAddressAt(rest) != "":
			address := webAddressAt(rest)
			d.links = append(d.links, link{line: lineOf(i), target: strings.TrimRight(address, ".,;:*_")})
			i += len(address)
		case rest[0] == '[':
			brackets = append(brackets, i)
			i++
		case rest[0] == ']' && len(brackets) > 0:
			start := brackets[len(brackets)-1]
			brackets = brackets[:len(brackets)-1]
			target, length := targetAfter(rest[1:], text[start+1:i], definitions, used)
			if target != "" {
				d.links = append(d.links, link{lineOf(start), strings.Join(strings.Fields(text[start+1:i]), " "), target})
			}
			i += 1 + length
		default:
			i++
		}
	}
}

func webAddressAt(text string) string {
	if !strings.HasPrefix(text, "http") {
		return ""
	}
	if at := webAddress.FindStringIndex(text); at != nil && at[0] == 0 {
		return text[:at[1]]
	}
	return ""
}

// codeSpan reads inline code at the start of text: what is inside, and the length with its backquotes. Backquotes that
// nothing closes are text, with nothing inside.
func codeSpan(text string) (inside string, length int) {
	n := len(text) - len(strings.TrimLeft(text, "`"))
	mark := text[:n]
	for at := n; at < len(text); {
		next := strings.Index(text[at:], mark)
		if next < 0 {
			break
		}
		at += next
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if run == n {
			return strings.Join(strings.Fields(text[n:at]), " "), at + n
		}
		at += run
	}
	return "", n
}

// targetAfter reads what makes brackets a link: "(target)", "[label]", or nothing if the text itself is a label. The
// length is that of what it has read.
func targetAfter(text, inside string, definitions map[string]definitionAt, used map[string]bool) (target string, length int) {
	if strings.HasPrefix(text, "(") {
		if target, length = inParentheses(text); target != "" {
			return target, length
		}
	}
	label := inside
	if end := strings.Index(text, "]"); strings.HasPrefix(text, "[") && end > 0 {
		if end > 1 {
			label = text[1:end]
		}
		length = end + 1
	}
	d, known := definitions[strings.ToLower(label)]
	if !known {
		return "", 0
	}
	used[strings.ToLower(label)] = true
	return d.target, length
}

// inParentheses reads "(target)", "(<target>)" or "(target "title")".
func inParentheses(text string) (target string, length int) {
	i := 1 + len(text[1:]) - len(strings.TrimLeft(text[1:], " \n"))
	if strings.HasPrefix(text[i:], "<") {
		end := strings.Index(text[i:], ">")
		if end < 0 {
			return "", 0
		}
		target, i = text[i+1:i+end], i+end+1
	} else {
		start, depth := i, 0
		for ; i < len(text) && !slices.Contains([]byte(" \t\n"), text[i]); i++ {
			if text[i] == '(' {
				depth++
			} else if text[i] == ')' {
				if depth == 0 {
					break
				}
				depth--
			}
		}
		target = text[start:i]
	}
	end := strings.Index(text[i:], ")")
	if title := strings.TrimSpace(text[i:max(i, i+end)]); end < 0 || title != "" && !strings.ContainsAny(title[:1], `"'(`) {
		return "", 0
	}
	return target, i + end + 1
}
