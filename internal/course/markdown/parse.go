package markdown

// This file builds a Document from goldmark's tree.

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// commonMark is the parser. goldmark's extensions for tables and bare addresses are not used: they bring its renderer,
// and with it the first build of the workshop's tool takes a second longer. A table is a paragraph here, and bare
// addresses are found by reader.visit.
var commonMark = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
})

// Parse takes a text apart. Every text is Markdown, so there is no error.
func Parse(content []byte) *Document {
	source := bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	r := &reader{source: source, blanked: bytes.Clone(source), seen: map[string]int{}}
	r.doc.lines = strings.Split(string(source), "\n")
	_ = ast.Walk(commonMark().Parse(text.NewReader(source)), r.visit) // visit returns no error
	r.doc.Prose = strings.Split(string(r.blanked), "\n")
	for _, b := range r.doc.Blocks {
		end := b.Line + len(b.Lines)
		if b.Closed {
			end++
		}
		clear(r.doc.Prose[b.Line-1 : min(end, len(r.doc.Prose))])
	}
	return &r.doc
}

// reader is the work on one text.
type reader struct {
	doc     Document
	source  []byte
	blanked []byte         // the source, with spaces for comments
	seen    map[string]int // anchors of headings, without suffixes
}

// line returns the line of an offset.
func (r *reader) line(at int) int { return 1 + bytes.Count(r.source[:at], []byte("\n")) }

func (r *reader) visit(node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	switch n := node.(type) {
	case *ast.Heading:
		r.heading(n)
	case *ast.FencedCodeBlock:
		r.block(n)
	case *ast.ListItem:
		item, list := Text{r.line(n.Pos()), r.paragraphs(n)}, n.Parent().(*ast.List)
		if list.IsOrdered() {
			r.doc.Items = append(r.doc.Items, item)
		} else {
			r.doc.Points = append(r.doc.Points, Point{item, r.paragraph(list.PreviousSibling())})
		}
	case *ast.CodeSpan:
		inside := strings.ReplaceAll(r.shown(n, ""), `\|`, "|") // as in tables
		r.doc.Code = append(r.doc.Code, Text{r.line(n.Pos()), inside})
		return ast.WalkSkipChildren, nil
	case *ast.Text:
		for _, at := range WebAddress.FindAllIndex(n.Value(r.source), -1) {
			from := n.Pos() + at[0]
			target := strings.TrimRight(string(r.source[from:n.Pos()+at[1]]), ".,;:*_")
			r.doc.Links = append(r.doc.Links, Link{Line: r.line(from), Target: target})
		}
	case *ast.Link:
		r.link(n, r.shown(n, "`"), n.Destination)
	case *ast.Image:
		r.link(n, r.shown(n, "`"), n.Destination)
	case *ast.AutoLink:
		if n.AutoLinkType == ast.AutoLinkURL {
			r.link(n, "", n.URL(r.source))
		}
	case *ast.LinkReferenceDefinition:
		r.link(n, "", n.Destination)
	case *ast.HTMLBlock:
		from, to := n.Pos(), n.Pos()
		if last := n.Lines().Len(); last > 0 {
			to = n.Lines().At(last - 1).Stop
		}
		r.html(from, max(to, n.ClosureLine.Stop))
	case *ast.RawHTML:
		r.html(n.Segments.At(0).Start, n.Segments.At(n.Segments.Len()-1).Stop)
	}
	return ast.WalkContinue, nil
}

// heading adds a heading. Equal ones get the suffixes that GitHub gives them.
func (r *reader) heading(n *ast.Heading) {
	anchor := Slug(r.shown(n, ""))
	equal := r.seen[anchor]
	r.seen[anchor]++
	if equal > 0 {
		anchor += "-" + strconv.Itoa(equal)
	}
	raw := strings.TrimSpace(string(n.Lines().Value(r.source)))
	r.doc.Headings = append(r.doc.Headings, Heading{n.Level, raw, anchor, r.line(n.Pos())})
}

// link adds a link.
func (r *reader) link(n ast.Node, text string, target []byte) {
	r.doc.Links = append(r.doc.Links, Link{r.line(n.Pos()), text, string(target)})
}

var fence = regexp.MustCompile("`{3,}|~{3,}")

// block adds a fenced code block.
func (r *reader) block(n *ast.FencedCodeBlock) {
	b := &Block{Line: r.line(n.Pos())}
	if n.Info != nil {
		b.Info = strings.Fields(string(n.Info.Segment.Value(r.source)))
	}
	if content := string(n.Lines().Value(r.source)); content != "" {
		b.Lines = strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	}
	if above, ok := n.PreviousSibling().(*ast.HTMLBlock); ok && len(r.doc.Comments) > 0 {
		if last := r.doc.Comments[len(r.doc.Comments)-1]; last.Line >= r.line(above.Pos()) {
			b.Comment = last
		}
	}
	mark := fence.FindString(r.doc.lines[b.Line-1])
	end := b.Line + len(b.Lines) // the index of the line behind the block's last one
	b.Closed = end < len(r.doc.lines) && strings.HasPrefix(strings.TrimLeft(r.doc.lines[end], " \t>"), mark)
	r.doc.Blocks = append(r.doc.Blocks, b)
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--(.*?)(?:-->|\z)`)
	htmlTarget  = regexp.MustCompile(`<(?:a|img|source)\s[^>]*?(?:href|src|srcset)="([^"]+)"`)
)

// WebAddress matches an address in a text that does not mark it as a link. Punctuation at its end is the sentence's.
var WebAddress = regexp.MustCompile("https?://[^\\s<>()\\[\\]`\"']+")

// html adds the comments and links of a range of HTML.
func (r *reader) html(from, to int) {
	for _, m := range htmlComment.FindAllSubmatchIndex(r.source[from:to], -1) {
		text := strings.TrimSpace(string(r.source[from+m[2] : from+m[3]]))
		r.doc.Comments = append(r.doc.Comments, &Text{r.line(from + m[0]), text})
		for i := from + m[0]; i < from+m[1]; i++ {
			if r.blanked[i] != '\n' {
				r.blanked[i] = ' '
			}
		}
	}
	rest := r.blanked[from:to]
	for _, m := range htmlTarget.FindAllSubmatchIndex(rest, -1) {
		r.doc.Links = append(r.doc.Links, Link{Line: r.line(from + m[0]), Target: string(rest[m[2]:m[3]])})
	}
}

// shown returns the text of inline nodes on one line, with quote around inline code.
func (r *reader) shown(n ast.Node, quote string) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := c.Value(r.source)
			if _, inCode := n.(*ast.CodeSpan); !inCode {
				value = util.UnescapePunctuations(value)
			}
			b.Write(value)
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.CodeSpan:
			b.WriteString(quote + r.shown(c, "") + quote)
		case *ast.AutoLink:
			b.Write(c.Label(r.source))
		default:
			b.WriteString(r.shown(c, quote))
		}
	}
	if _, inCode := n.(*ast.CodeSpan); inCode {
		return strings.Join(strings.Fields(b.String()), " ")
	}
	return b.String()
}

// paragraphs returns the source of the paragraphs below a block, each on one line.
func (r *reader) paragraphs(n ast.Node) string {
	var all []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if text := r.paragraph(c); text != "" {
			all = append(all, text)
		} else {
			all = append(all, r.paragraphs(c))
		}
	}
	return strings.Join(all, "\n")
}

// paragraph returns the source of a paragraph on one line, or nothing if n is another kind of block.
func (r *reader) paragraph(n ast.Node) string {
	switch n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		return strings.Join(strings.Fields(string(n.Lines().Value(r.source))), " ")
	}
	return ""
}
