package reference

// This file checks links: where they lead inside the repository, and that the number of an issue is that of its link.
// Links to source on GitHub are in upstream.go; it leaves other addresses in the web alone.

import (
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course/markdown"
)

var (
	issue       = regexp.MustCompile(`^https?://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/(\d+)(?:[/?#].*)?$`)
	issueNumber = regexp.MustCompile(`#\d+\b`)
	hasScheme   = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)`)
	lineRange   = regexp.MustCompile(`^L(\d+)(?:C\d+)?(?:-L(\d+)(?:C\d+)?)?$`)
)

// link checks one link of the file.
func (c *checker) link(l markdown.Link) {
	if m := upstreamLink.FindStringSubmatch(l.Target); m != nil {
		c.upstreamLink(l, m[1], m[2], m[3], m[4])
		return
	}
	if m := issue.FindStringSubmatch(l.Target); m != nil {
		numbers := issueNumber.FindAllString(l.Text, -1)
		if len(numbers) > 0 && !slices.Contains(numbers, "#"+m[1]) {
			c.problem(l.Line, "the link [%s] leads to #%s", l.Text, m[1])
		}
		return
	}
	if hasScheme.MatchString(l.Target) {
		return
	}
	if why := c.localLink(l); why != "" {
		c.problem(l.Line, "the link to %s leads nowhere: %s", l.Target, why)
	}
}

// localLink checks a link to a file of the repository, or to a heading of the same file. It returns why the link leads
// nowhere, empty if it does not.
func (c *checker) localLink(l markdown.Link) (why string) {
	target, err := url.Parse(l.Target)
	if err != nil {
		return err.Error()
	}
	file := c.file
	switch {
	case strings.HasPrefix(target.Path, "/"): // the root of the repository, on GitHub
		file = strings.TrimPrefix(path.Clean(target.Path), "/")
	case target.Path != "":
		file = path.Join(path.Dir(c.file), target.Path)
	}
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return "it is outside of the repository"
	}
	if !c.own.has(file) {
		return "there is no such file"
	}
	if target.Fragment == "" {
		return ""
	}
	if readme := path.Join(file, "README.md"); c.own.has(readme) { // what GitHub shows for a folder
		file = readme
	}
	lines := c.own.lines(file)
	if m := lineRange.FindStringSubmatch(target.Fragment); m != nil {
		first, last := lineNumbers(m[1], m[2])
		if first < 1 || last < first || last > len(lines) {
			return "there is no such line"
		}
		c.namedByLink(l, c.own, file, first)
		return ""
	}
	if path.Ext(file) != ".md" {
		return "#" + target.Fragment + " is not a line; write #L10 or #L10-L20"
	}
	var near []string
	for _, anchor := range markdown.Parse([]byte(strings.Join(lines, ""))).Anchors {
		if anchor == target.Fragment {
			return ""
		}
		if distance(anchor, target.Fragment) <= len(target.Fragment)/3 {
			near = append(near, "#"+anchor)
		}
	}
	return "there is no heading with the anchor #" + target.Fragment + suggest(near)
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
