package course

// This file reads the chapters' texts: a README with its tasks and sections, and the hints. Package markdown parses
// them.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course/markdown"
)

var (
	taskHeading = regexp.MustCompile(`^(Bonus task|Task) (\d+): (.*?)(?: \((\d+) min\))?$`)
	testCommand = regexp.MustCompile(`^go test (?:-\S+ )*\./\S+ .*-run.*$`)
)

// Text reads the Markdown file at path.
func Text(path string) (*markdown.Document, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the text: %w", err)
	}
	return markdown.Parse(content), nil
}

// tasks finds the tasks in the README of the chapter on topic. A task's command is the first one in its section that
// tests with -run; a former ID is a comment in its section, <!-- formerly: indexer/old-title -->.
func tasks(doc *markdown.Document, topic string) (all []Task) {
	for _, h := range doc.Headings {
		m := taskHeading.FindStringSubmatch(h.Text)
		if h.Level != 2 || m == nil {
			continue
		}
		t := Task{Title: m[3], ID: topic + "/" + markdown.Slug(m[3]), Anchor: h.Anchor, Line: h.Line, Bonus: m[1] != "Task"}
		t.Number, _ = strconv.Atoi(m[2])  // digits, says the pattern
		t.Minutes, _ = strconv.Atoi(m[4]) // digits or nothing
		for _, b := range doc.Blocks {
			for _, command := range b.Commands() {
				if t.Command == "" && doc.Above(b.Line, 2) == h && testCommand.MatchString(command.Text) {
					t.Command = command.Text
				}
			}
		}
		for _, c := range doc.Comments {
			if id, ok := strings.CutPrefix(c.Text, "formerly: "); ok && doc.Above(c.Line, 2) == h {
				t.Former = append(t.Former, id)
			}
		}
		all = append(all, t)
	}
	return all
}

// Section returns the text under a second-level heading of a chapter's README, without the heading.
func Section(root string, c Chapter, title string) (string, error) {
	path := filepath.Join(root, c.Dir, "README.md")
	doc, err := Text(path)
	if err != nil {
		return "", err
	}
	text, ok := doc.Section(2, title)
	if !ok {
		return "", fmt.Errorf("%s has no heading \"## %s\"", path, title)
	}
	return text, nil
}

// TaskText returns the lines of a task in its chapter's README, without the heading, comments and folded parts: those
// are programs with their answers.
func TaskText(root string, c Chapter, t Task) (lines []string, err error) {
	doc, err := Text(filepath.Join(root, c.Dir, "README.md"))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(doc.Headings, func(h markdown.Heading) bool { return h.Anchor == t.Anchor })
	if i < 0 {
		return nil, fmt.Errorf("%s/README.md has no heading #%s", c.Dir, t.Anchor)
	}
	folded, blank := 0, true
	for _, line := range doc.Below(doc.Headings[i]) {
		text := strings.TrimSpace(line)
		folded += strings.Count(text, "<details>")
		comment := strings.HasPrefix(text, "<!--") && strings.HasSuffix(text, "-->")
		if folded == 0 && !comment && (text != "" || !blank) {
			lines, blank = append(lines, line), text == ""
		}
		folded -= strings.Count(text, "</details>")
	}
	return lines, nil
}

// Contract returns the points of the chapter's contract: the bulleted lists of its README whose lead is a line such as
// "The contract, in short:".
func Contract(root string, c Chapter) (points []markdown.Text, err error) {
	path := filepath.Join(root, c.Dir, "README.md")
	doc, err := Text(path)
	if err != nil {
		return nil, err
	}
	for _, p := range doc.Points {
		if contractLead.MatchString(p.Lead) {
			points = append(points, p.Text)
		}
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s has no list below a line that ends like \"The contract, in short:\"", path)
	}
	return points, nil
}

var contractLead = regexp.MustCompile(`(?i)\bcontract[^.]*:$`)

// Hints returns the hints of each task of the chapter in dir, by the task's number: the numbered list below the task's
// heading in hints.md. Each hint is one line of text; where it has paragraphs, they are lines.
func Hints(root, dir string) (map[int][]string, error) {
	doc, err := Text(filepath.Join(root, dir, "hints.md"))
	if err != nil {
		return nil, fmt.Errorf("read the hints: %w", err)
	}
	return hints(doc), nil
}

func hints(doc *markdown.Document) map[int][]string {
	all := map[int][]string{}
	for _, item := range doc.Items {
		above := doc.Above(item.Line, 6)
		if m := taskHeading.FindStringSubmatch(above.Text); above.Level == 2 && m != nil {
			number, _ := strconv.Atoi(m[2])
			all[number] = append(all[number], item.Text)
		}
	}
	return all
}

var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// PlainLinks puts a link's text in its place.
func PlainLinks(text string) string { return markdownLink.ReplaceAllString(text, "$1") }
