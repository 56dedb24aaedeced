// Package markdown reads a Markdown text, as GitHub shows it, into a flat model: headings, code blocks, links,
// comments.
//
// It is the workshop's one reader of Markdown. goldmark parses; this package keeps what the course and the checks of
// the texts ask for, each with its line. It does not render anything.
//
// This file has the model and what can be asked of it; parse.go builds it.
package markdown

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Document is a Markdown text, taken apart. Lines count from 1.
type Document struct {
	Headings []Heading
	Blocks   []*Block // fenced code blocks
	Comments []*Text  // HTML comments, without their marks
	Links    []Link   // links, images, bare addresses and definitions
	Code     []Text   // inline code, without its backquotes and on one line
	Items    []Text   // of numbered lists; each of an item's paragraphs is one line of its text
	Points   []Point  // of bulleted lists
	Prose    []string // the lines, without fenced code blocks and comments

	lines []string
}

// Heading is one heading.
type Heading struct {
	Level  int
	Text   string // as written, without the number signs
	Anchor string // the fragment that GitHub gives it
	Line   int
}

// Block is a fenced code block.
type Block struct {
	Line    int      // of the opening fence
	Info    []string // the words behind the fence: "go", "nocheck"
	Lines   []string
	Closed  bool  // whether the text has a closing fence
	Comment *Text // the comment right above it; nil if there is none
}

// Is reports whether the first word behind the fence is language.
func (b *Block) Is(language string) bool { return len(b.Info) > 0 && b.Info[0] == language }

// Text is a piece of a document: a comment, inline code, an item of a list.
type Text struct {
	Line int
	Text string
}

// Point is an item of a bulleted list.
type Point struct {
	Text
	Lead string // the paragraph right above the list; empty if there is none
}

// Link is a link, an image, an address or a definition of one.
type Link struct {
	Line   int
	Text   string // as shown, with the backquotes of inline code; empty for an address
	Target string
}

// Slug turns the text of a heading into its anchor as GitHub does: lower case, letters, digits, dashes and underscores
// stay, each space becomes a dash, the rest goes.
func Slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, text)
}

// Title returns the text of the first heading of level 1, empty if there is none.
func (d *Document) Title() string {
	for _, h := range d.Headings {
		if h.Level == 1 {
			return h.Text
		}
	}
	return ""
}

// Above returns the last heading above line that has the level or a higher rank. It is the zero Heading if there is
// none.
func (d *Document) Above(line, level int) (above Heading) {
	for _, h := range d.Headings {
		if h.Level <= level && h.Line < line {
			above = h
		}
	}
	return above
}

// Section returns the text below the first heading with this text and level, down to the next one of its rank, without
// the heading. It reports whether there is such a heading.
func (d *Document) Section(level int, title string) (text string, ok bool) {
	i := slices.IndexFunc(d.Headings, func(h Heading) bool { return h.Level == level && h.Text == title })
	if i < 0 {
		return "", false
	}
	return strings.TrimSpace(strings.Join(d.Below(d.Headings[i]), "\n")), true
}

// Below returns the lines below a heading, down to the next one of its rank.
func (d *Document) Below(h Heading) []string {
	end := len(d.lines)
	for _, next := range slices.Backward(d.Headings) {
		if next.Line > h.Line && next.Level <= h.Level {
			end = next.Line - 1
		}
	}
	return d.lines[h.Line:end]
}

var shellComment = regexp.MustCompile(`\s+# .*$`)

// Commands returns the commands that the block shows: the lines of a block of sh, and those behind "$ " in a block of
// console. A line that ends in a backslash is joined with the next one; comments go.
func (b *Block) Commands() (all []Text) {
	console := b.Is("console")
	if !console && !b.Is("sh") {
		return nil
	}
	var command Text
	for i, line := range b.Lines {
		text, shown := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if console && !shown && command.Text == "" || text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if command.Text == "" {
			command.Line = b.Line + 1 + i
		}
		text, continues := strings.CutSuffix(text, `\`)
		command.Text += text
		if !continues {
			command.Text = shellComment.ReplaceAllString(command.Text, "")
			all = append(all, command)
			command = Text{}
		}
	}
	return all
}
