package reference

// This file checks links: where they lead inside the repository, and that the number of an issue is that of its link.
// Links to source on GitHub are in upstream.go; other addresses in the web are left alone.

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course"
)

var (
	issue       = regexp.MustCompile(`^https?://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/(\d+)(?:[/?#].*)?$`)
	issueNumber = regexp.MustCompile(`#(\d+)\b`)
	hasScheme   = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)`)
	lineRange   = regexp.MustCompile(`^L(\d+)(?:C\d+)?(?:-L(\d+)(?:C\d+)?)?$`)
)

// link checks one link of the file, whose text is self.
func (c *checker) link(l link, self string) {
	if m := upstreamLink.FindStringSubmatch(l.target); m != nil {
		c.upstreamLink(l, m[1], m[2], m[3], m[4])
		return
	}
	if m := issue.FindStringSubmatch(l.target); m != nil {
		numbers := issueNumber.FindAllStringSubmatch(l.text, -1)
		same := func(n []string) bool { return n[1] == m[1] }
		if len(numbers) > 0 && !slices.ContainsFunc(numbers, same) {
			c.problem(l.line, "the link [%s] leads to #%s", l.text, m[1])
		}
		return
	}
	if hasScheme.MatchString(l.target) {
		return
	}
	c.localLink(l, self)
}

// localLink checks a link to a file of the repository, or to a heading of the same file.
func (c *checker) localLink(l link, self string) {
	nowhere := func(why string, args ...any) {
		c.problem(l.line, "the link to "+strings.ReplaceAll(l.target, "%", "%%")+" leads nowhere: "+why, args...)
	}
	target, fragment, _ := strings.Cut(l.target, "#")
	target, _, _ = strings.Cut(target, "?")
	name, err := url.PathUnescape(target)
	if err != nil {
		nowhere("%v", err)
		return
	}
	if fragment, err = url.PathUnescape(fragment); err != nil {
		nowhere("%v", err)
		return
	}
	file, content := c.file, self
	if name != "" {
		file = path.Join(path.Dir(c.file), name)
		if strings.HasPrefix(name, "/") { // the root of the repository, on GitHub
			file = strings.TrimPrefix(path.Clean(name), "/")
		}
		if !filepath.IsLocal(filepath.FromSlash(file)) {
			nowhere("it is outside of the repository")
			return
		}
		info, err := os.Stat(filepath.Join(c.root, filepath.FromSlash(file)))
		if err != nil {
			nowhere("there is no such file")
			return
		}
		if fragment == "" {
			return
		}
		if info.IsDir() {
			file = path.Join(file, "README.md") // what GitHub shows for a folder
		}
		read, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(file)))
		if err != nil {
			nowhere("%v", err)
			return
		}
		content = string(read)
	}
	if m := lineRange.FindStringSubmatch(fragment); m != nil {
		first, last := lineNumbers(m[1], m[2])
		if first < 1 || last < first || last > countLines(content) {
			nowhere("there is no such line")
			return
		}
		c.namedByLink(l, Module{Path: ownModule, Dir: c.root}, file, first)
		return
	}
	if fragment == "" || path.Ext(file) != ".md" {
		if fragment != "" {
			nowhere("#%s is not a line; write #L10 or #L10-L20", fragment)
		}
		return
	}
	anchors := parseMarkdown(content).anchors
	for _, h := range course.Headings(content) {
		anchors = append(anchors, h.Anchor)
	}
	if slices.Contains(anchors, fragment) {
		return
	}
	near := slices.DeleteFunc(anchors, func(a string) bool { return distance(a, fragment) > len(fragment)/3 })
	nowhere("there is no heading with the anchor #%s%s", fragment, suggest(near, func(s string) string { return "#" + s }))
}

// lineNumbers reads "10" and "20" of #L10-L20; without the second, both are the first.
func lineNumbers(from, to string) (first, last int) {
	first, _ = strconv.Atoi(from) // digits, say the patterns; out of range is a line that no file has
	if to == "" {
		return first, first
	}
	last, _ = strconv.Atoi(to)
	return first, last
}

// countLines counts the lines of a text, also one that no line break ends.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func lineCount(file string) int {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	return countLines(string(content))
}
