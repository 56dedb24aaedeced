package reference

// This file checks links: to files of the repository, to issues, and to source on GitHub. It leaves other addresses in
// the web alone. Whether the text of a link names what it leads to is checked in declared.go.

import (
	"cmp"
	"fmt"
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
	upstreamLink = regexp.MustCompile(
		`^https?://github\.com/kubernetes/([\w.-]+)/(?:blob|tree|blame)/([^/#?]+)(?:/([^#?]*))?(?:\?[^#]*)?(?:#(.*))?$`)
	issue       = regexp.MustCompile(`^https?://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/(\d+)(?:[/?#].*)?$`)
	issueNumber = regexp.MustCompile(`#\d+\b`)
	hasScheme   = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|//)`)
	pseudo      = regexp.MustCompile(`\d{14}-([0-9a-f]{12})$`)
	lineRange   = regexp.MustCompile(`^L(\d+)(?:C\d+)?(?:-L(\d+)(?:C\d+)?)?$`)
)

// link checks one link of the file.
func (c *checker) link(l markdown.Link) {
	if m := upstreamLink.FindStringSubmatch(l.Target); m != nil {
		c.upstreamLink(l, m[1], m[2], m[3], m[4])
	} else if m := issue.FindStringSubmatch(l.Target); m != nil {
		numbers := issueNumber.FindAllString(l.Text, -1)
		if len(numbers) > 0 && !slices.Contains(numbers, "#"+m[1]) {
			c.problem(l.Line, "the link [%s] leads to #%s", l.Text, m[1])
		}
	} else if !hasScheme.MatchString(l.Target) {
		if why := c.localLink(l); why != "" {
			c.problem(l.Line, "the link to %s leads nowhere: %s", l.Target, why)
		}
	}
}

// upstreamLink checks a link to a file or folder in a kubernetes repository at a ref.
func (c *checker) upstreamLink(l markdown.Link, repository, ref, name, fragment string) {
	mod, known := c.repository(repository)
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	switch {
	case !known:
		c.problem(l.Line, "the link to %[1]s/%[2]s cannot be checked: go.mod does not require k8s.io/%[1]s", repository, name)
	case !mod.isPinnedBy(ref):
		c.problem(l.Line, "the link to %s names %s, and go.mod pins %s%s", name, ref, mod.version, c.nowAt(l, mod, name))
	case !mod.has(name):
		c.problem(l.Line, "the link to %s leads nowhere: %s has no such file%s", name, mod, elsewhere(mod, name))
	default:
		if why := c.fragment(l, mod, name, fragment); why != "" {
			c.problem(l.Line, "the link to %s#%s leads nowhere: %s", name, fragment, why)
		}
	}
}

// isPinnedBy reports whether a ref of the module's repository is the pinned version: its tag, or its commit if it has
// none.
func (m module) isPinnedBy(ref string) bool {
	if commit := pseudo.FindStringSubmatch(m.version); commit != nil {
		return strings.HasPrefix(ref, commit[1])
	}
	return ref == m.version
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
	if readme := path.Join(file, "README.md"); target.Fragment != "" && c.own.has(readme) {
		file = readme // what GitHub shows for a folder
	}
	return c.fragment(l, c.own, file, target.Fragment)
}

// fragment checks the lines or the heading of a file that a link leads to, and that its text names what is there. It
// returns why the link leads nowhere, empty if it does not.
func (c *checker) fragment(l markdown.Link, mod module, file, fragment string) (why string) {
	if fragment == "" {
		c.namedByLink(l, mod, file, 0)
		return ""
	}
	if m := lineRange.FindStringSubmatch(fragment); m != nil {
		first, last := lineNumbers(m[1], m[2])
		if total := len(mod.lines(file)); first > total || last > total {
			return fmt.Sprintf("the file ends before that line, with line %d", total)
		}
		if first < 1 || last < first {
			return "lines count from 1, the smaller one first"
		}
		c.namedByLink(l, mod, file, first)
		return ""
	}
	if path.Ext(file) != ".md" {
		return "#" + fragment + " is not a line; write #L10 or #L10-L20"
	}
	var near []string
	for _, anchor := range markdown.Parse([]byte(strings.Join(mod.lines(file), ""))).Anchors {
		if anchor == fragment {
			return ""
		}
		if distance(anchor, fragment) <= len(fragment)/3 {
			near = append(near, "#"+anchor)
		}
	}
	return "there is no heading with the anchor #" + fragment + suggest(near)
}

// lineNumbers reads "10" and "20" of #L10-L20; without the second, both are the first.
func lineNumbers(from, to string) (first, last int) {
	first, _ = strconv.Atoi(from) // digits, say the patterns; out of range is a line that no file has
	last, _ = strconv.Atoi(cmp.Or(to, from))
	return first, last
}
