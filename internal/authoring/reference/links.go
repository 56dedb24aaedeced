package reference

// This file checks links: to files of the repository, to issues, and to source on GitHub. It leaves other addresses in
// the web alone. The text of a link has to name what is there.

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
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
	fileText    = regexp.MustCompile(`^([\w./-]+\.(?:go|md|proto|yaml|mod))(?:(?::|#L)(\d+)(?:-L?\d+)?)?$`)
	symbolText  = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$`)
	typeArgs    = regexp.MustCompile(`\[[^\]]*\]`)
	receiver    = regexp.MustCompile(`^[(*&]+([\w.]*)\)?`)
	declares    = regexp.MustCompile(`^(?:func|type|const|var) `)
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
	pinned := ref == mod.version
	if commit := pseudo.FindStringSubmatch(mod.version); commit != nil {
		pinned = strings.HasPrefix(ref, commit[1]) // the module has no tag for it
	}
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	switch {
	case !known:
		c.problem(l.Line, "the link to %[1]s/%[2]s cannot be checked: go.mod does not require k8s.io/%[1]s", repository, name)
	case !pinned:
		c.problem(l.Line, "the link to %s names %s, and go.mod pins %s%s", name, ref, mod.version, c.nowAt(l, mod, name))
	case !mod.has(name):
		c.problem(l.Line, "the link to %s leads nowhere: %s has no such file%s", name, mod, elsewhere(mod, name))
	default:
		if why := c.fragment(l, mod, name, fragment); why != "" {
			c.problem(l.Line, "the link to %s#%s leads nowhere: %s", name, fragment, why)
		}
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
	for _, h := range markdown.Parse([]byte(strings.Join(mod.lines(file), "\n"))).Headings {
		anchor := h.Anchor
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

// nowAt says what a link to another version would be today, if its text names a symbol.
func (c *checker) nowAt(l markdown.Link, mod module, name string) string {
	if chain, ok := symbolIn(l.Text); ok && path.Ext(name) == ".go" {
		if all := c.candidates(mod, name, chain); len(all) > 0 {
			return ", where `" + strings.Join(chain, ".") + "` is declared at " + show(all)
		}
	}
	return ""
}

// namedByLink checks that a link's text, if it is code, names what is at first in a file: a symbol, or file and line
// themselves. With first 0 the link has no line.
func (c *checker) namedByLink(l markdown.Link, mod module, name string, first int) {
	text := strings.Trim(l.Text, "`")
	m := fileText.FindStringSubmatch(text)
	if m == nil {
		if chain, ok := symbolIn(l.Text); ok && path.Ext(name) == ".go" {
			c.declaredAt(l.Line, chain, mod, name, first)
		}
		return
	}
	number, _ := strconv.Atoi(m[2]) // no digits: 0, any line
	if !strings.HasSuffix("/"+name, "/"+strings.TrimPrefix(m[1], "./")) || number != 0 && first == 0 {
		c.problem(l.Line, "the link's text is %s, and it leads to %s", text, name)
	} else if number != 0 && number != first {
		c.problem(l.Line, "the link's text is %s, and it leads to %s#L%d", text, name, first)
	}
}

// symbolIn reads a link's text, or other inline code, as the name of a symbol: `cache.NewStore`, `(*DeltaFIFO).Pop`,
// `NewStore(keyFunc)`. Without backquotes only a qualified name counts, for a single word may be any word.
func symbolIn(text string) (chain []string, ok bool) {
	plain := strings.Trim(text, "`")
	isCode := len(plain) == len(text)-2 && !strings.Contains(plain, "`")
	keyword := declares.FindString(plain)
	plain = typeArgs.ReplaceAllString(receiver.ReplaceAllString(plain[len(keyword):], "$1"), "")
	if i := strings.IndexAny(plain, "({"); i > 0 && (keyword != "" || strings.ContainsAny(plain[len(plain)-1:], ")}")) {
		plain = plain[:i]
	}
	chain = strings.Split(plain, ".")
	if !symbolText.MatchString(plain) || token.IsKeyword(plain) || hasNoIdentifier(chain[1:]) {
		return nil, false
	}
	return chain, isCode || len(chain) > 1 && aliases[chain[0]] != nil
}

// declaredAt checks that a symbol is declared at a line of a file; with line 0, anywhere in it.
func (c *checker) declaredAt(at int, chain []string, mod module, name string, line int) {
	symbol := strings.Join(chain, ".")
	all := c.candidates(mod, name, chain)
	here := slices.DeleteFunc(slices.Clone(all), func(d *decl) bool { return d.file != name || d.pkg.module != mod })
	switch {
	case line == 0 && (len(here) > 0 || len(all) == 0 || len(chain) == 1 && !token.IsExported(symbol)):
		// Without a line, the text may well be a word for what the file is about.
	case slices.ContainsFunc(here, func(d *decl) bool { return line == d.line || line == d.doc }):
	case len(here) > 0:
		c.problem(at, "`%s` is declared at %s, not at line %d", symbol, show(here), line)
	case len(all) > 0:
		c.problem(at, "`%s` is not declared in %s but at %s", symbol, name, show(all))
	case types.Universe.Lookup(symbol) != nil:
		// `delete(index, value)` is a line of the file, and nothing that it declares.
	default:
		c.problem(at, "`%s` is not declared in %s, nor beside it in %s", symbol, name, mod)
	}
}

// show lists at most three places: "tools/cache/store.go#L429". If a package declares the name itself, that is what is
// meant, and not the methods and fields of this name.
func show(all []*decl) string {
	if slices.ContainsFunc(all, func(d *decl) bool { return d.owner == "" }) {
		all = slices.DeleteFunc(slices.Clone(all), func(d *decl) bool { return d.owner != "" })
	}
	var places []string
	for _, d := range all[:min(len(all), 3)] {
		places = append(places, fmt.Sprintf("%s#L%d", d.file, d.line))
	}
	return strings.Join(places, " or ")
}

// candidates finds everything that a symbol can mean in a link to a file: the name of a declaration, method or field in
// the file's package, with or without its package's or its type's name in front, or what a known package has.
func (c *checker) candidates(mod module, name string, chain []string) (all []*decl) {
	if len(chain) == 0 {
		return nil
	}
	importPath, packages := path.Join(mod.path, path.Dir(name)), c.meanings(chain[0], nil)
	add := func(p *pkg, chain []string) {
		if p == nil || len(chain) == 0 {
			return
		}
		d, _, _ := c.find(p, chain)
		for _, d := range append([]*decl{d}, p.decls[strings.Join(chain, ".")]...) { // several, for several systems
			if d != nil && !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	beside := c.load(importPath)
	if beside != nil && len(chain) == 1 {
		all = beside.ending(chain[0])
	}
	add(beside, chain)
	if beside != nil && chain[0] == beside.name {
		packages = append(packages, importPath)
	}
	for _, importPath := range packages {
		add(c.load(importPath), chain[1:])
	}
	return all
}
