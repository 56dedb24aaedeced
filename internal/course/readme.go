package course

// This file reads a chapter's README the way a learner does: headings, tasks, and the commands shown. It knows
// Markdown's fenced code blocks and headings, nothing else.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	heading     = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*$`)
	taskHeading = regexp.MustCompile(`^(Bonus task|Task) (\d+): (.*?)(?: \((\d+) min\))?$`)
	fence       = regexp.MustCompile("^\\s*(```+|~~~+)")
	former      = regexp.MustCompile(`^<!-- formerly: (\S+) -->$`)
	testCommand = regexp.MustCompile(`^(?:\$ )?(go test (?:-\S+ )*\./\S+ .*-run.*)$`)
)

// Heading is one heading of a Markdown text.
type Heading struct {
	Level  int
	Text   string
	Anchor string // the fragment that GitHub gives it
	Line   int
}

// Headings lists the headings of a Markdown text, leaving out what stands in code blocks. Equal headings get the
// suffixes that GitHub gives them.
func Headings(text string) []Heading {
	var out []Heading
	seen := map[string]int{}
	eachLine(text, func(number int, line string, inFence bool) {
		m := heading.FindStringSubmatch(line)
		if inFence || m == nil {
			return
		}
		anchor := Slug(m[2])
		n := seen[anchor]
		seen[anchor]++
		if n > 0 {
			anchor += "-" + strconv.Itoa(n)
		}
		out = append(out, Heading{Level: len(m[1]), Text: m[2], Anchor: anchor, Line: number})
	})
	return out
}

// Slug turns a heading into its anchor as GitHub does: lower case, letters, digits, dashes and underscores stay, each
// space becomes a dash, all else goes.
func Slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// TaskAnchor finds the anchor of a task's heading in the README at path. It is what a failing test tells its reader;
// ok is false when there is no such file or heading.
func TaskAnchor(path string, task int) (anchor string, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	_, tasks := parse(string(text))
	for _, t := range tasks {
		if t.Number == task {
			return t.Anchor, true
		}
	}
	return "", false
}

// parse finds the title and the tasks. A task's command is the first one in its section that tests with -run; a former
// ID is a comment in its section, <!-- formerly: indexer/old-title -->.
func parse(text string) (title string, tasks []Task) {
	for _, h := range Headings(text) {
		if h.Level == 1 && title == "" {
			title = h.Text
		}
		if m := taskHeading.FindStringSubmatch(h.Text); h.Level == 2 && m != nil {
			t := Task{Title: m[3], Anchor: h.Anchor, Line: h.Line, Bonus: m[1] != "Task"}
			t.Number, _ = strconv.Atoi(m[2])  // digits, says the pattern
			t.Minutes, _ = strconv.Atoi(m[4]) // digits or nothing
			tasks = append(tasks, t)
		}
	}
	sections := Headings(text)
	eachLine(text, func(number int, line string, inFence bool) {
		command := testCommand.FindStringSubmatch(line)
		name := former.FindStringSubmatch(line)
		if inFence && command == nil || !inFence && name == nil {
			return
		}
		start := 0 // the line of the second-level heading we are under
		for _, h := range sections {
			if h.Level <= 2 && h.Line < number {
				start = h.Line
			}
		}
		for i := range tasks {
			switch {
			case tasks[i].Line != start:
			case !inFence:
				tasks[i].Former = append(tasks[i].Former, name[1])
			case tasks[i].Command == "":
				tasks[i].Command = command[1]
			}
		}
	})
	return title, tasks
}

func eachLine(text string, do func(number int, line string, inFence bool)) {
	open := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if m := fence.FindStringSubmatch(line); m != nil {
			switch {
			case open == "":
				open = m[1]
			case strings.HasPrefix(m[1], open) && strings.Trim(line, " `~") == "":
				open = ""
			}
			continue
		}
		do(i+1, line, open != "")
	}
}

// Section returns the text under a second-level heading of a chapter's README, without the heading.
func Section(root string, c Chapter, title string) (string, error) {
	path := filepath.Join(root, c.Dir, "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the chapter: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	all := Headings(string(text))
	for i, h := range all {
		if h.Level != 2 || h.Text != title {
			continue
		}
		end := len(lines)
		for _, next := range all[i+1:] {
			if next.Level <= 2 {
				end = next.Line - 1
				break
			}
		}
		return strings.TrimSpace(strings.Join(lines[h.Line:end], "\n")), nil
	}
	return "", fmt.Errorf("%s has no heading \"## %s\"", path, title)
}

var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// PlainLinks puts a link's text in its place.
func PlainLinks(text string) string { return markdownLink.ReplaceAllString(text, "$1") }
