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
	"path/filepath"
	"regexp"
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

var (
	questionMark = regexp.MustCompile(`^(?:\d+\.|-) +`)
	folded       = regexp.MustCompile(`(?is)<details>\s*<summary>\s*Answer\s*</summary>(.*?)</details>`)
)

func questions(doc *markdown.Document) (all []Question) {
	for _, h := range doc.Headings {
		if h.Level != 2 || h.Text != "Questions" {
			continue
		}
		mark := ""
		for i, line := range doc.Below(h) {
			if begins := questionMark.FindString(line); begins != "" {
				mark = begins
				all = append(all, Question{Line: h.Line + 1 + i})
				line = line[len(mark):]
			}
			if mark != "" {
				indent := len(line) - len(strings.TrimLeft(line, " "))
				all[len(all)-1].Text += line[min(indent, len(mark)):] + "\n"
			}
		}
	}
	for i, q := range all {
		if m := folded.FindStringSubmatchIndex(q.Text); m != nil {
			q.Text, q.Answer = q.Text[:m[0]], q.Text[m[2]:m[3]]
		}
		all[i] = Question{q.Line, strings.TrimSpace(q.Text), strings.TrimSpace(q.Answer)}
	}
	return all
}
