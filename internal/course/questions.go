package course

// This file reads the questions at the end of a chapter's README, and their answers:
//
//	## Questions
//
//	1. Why does a queue have a lock?
//
//	   <details><summary>Answer</summary>
//
//	   Two workers call it at once.
//
//	   </details>

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/course/markdown"
)

// Question is one of a chapter's questions. Text and Answer are Markdown. Answer is empty if there is none.
type Question struct {
	Line         int // in the README
	Text, Answer string
}

// Questions returns the items of the lists below the heading "Questions" of the chapter's README. A chapter without
// that heading has none.
func Questions(root string, c Chapter) ([]Question, error) {
	doc, err := Text(filepath.Join(root, c.Dir, "README.md"))
	if err != nil {
		return nil, err
	}
	return questions(doc), nil
}

var folded = regexp.MustCompile(`(?is)<details>\s*<summary>\s*Answer\s*</summary>(.*?)</details>`)

func questions(doc *markdown.Document) (all []Question) {
	for _, h := range doc.Headings {
		if h.Level != 2 || h.Text != "Questions" {
			continue
		}
		lines := doc.Below(h)
		first := h.Line + 1 // the number of lines[0]
		starts := items(doc, h, lines)
		for i, start := range starts {
			end := len(lines)
			if i+1 < len(starts) {
				end = starts[i+1] - first
			}
			all = append(all, question(start, lines[start-first:end]))
		}
	}
	return all
}

// items returns the lines on which the items of the lists below a heading begin, without lists in items.
func items(doc *markdown.Document, h markdown.Heading, lines []string) (starts []int) {
	add := func(item markdown.Text) {
		if doc.Above(item.Line, 2) == h && !strings.HasPrefix(lines[item.Line-h.Line-1], " ") {
			starts = append(starts, item.Line)
		}
	}
	for _, item := range doc.Items {
		add(item)
	}
	for _, point := range doc.Points {
		add(point.Text)
	}
	slices.Sort(starts)
	return starts
}

// question takes the source of an item apart.
func question(line int, source []string) Question {
	_, first, _ := strings.Cut(source[0], " ") // behind the item's mark
	text := strings.Join(append([]string{first}, dedent(source[1:])...), "\n")
	answer := ""
	if m := folded.FindStringSubmatchIndex(text); m != nil {
		answer, text = text[m[2]:m[3]], text[:m[0]]
	}
	return Question{Line: line, Text: strings.TrimSpace(text), Answer: strings.TrimSpace(answer)}
}

// dedent removes the indentation that all lines have, except for blank ones.
func dedent(lines []string) (out []string) {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	full := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(full) == 0 {
		return nil
	}
	least := indent(slices.MinFunc(full, func(a, b string) int { return cmp.Compare(indent(a), indent(b)) }))
	for _, line := range lines {
		out = append(out, line[min(least, indent(line)):])
	}
	return out
}
