package reference

// This file checks links to source on GitHub, and that a link whose text is a symbol leads to where it is declared.

import (
	"go/token"
	"go/types"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	upstreamLink = regexp.MustCompile(`^https?://github\.com/kubernetes/([\w.-]+)/(?:blob|tree|blame)/([^/#?]+)(?:/([^#?]*))?(?:\?[^#]*)?(?:#(.*))?$`)
	pseudo       = regexp.MustCompile(`\d{14}-([0-9a-f]{12})$`)
	fileText     = regexp.MustCompile(`^([\w./-]+\.(?:go|md|proto|yaml|mod))(?:(?::|#L)(\d+)(?:-L?\d+)?)?$`)
	symbolText   = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$`)
	typeArgs     = regexp.MustCompile(`\[[^\]]*\]`)
)

// upstreamLink checks a link to a file or folder in a kubernetes repository at a ref.
func (c *checker) upstreamLink(l link, repository, ref, name, fragment string) {
	mod, known := c.upstream.repository(repository)
	if !known {
		c.problem(l.line, "the link to %s/%s cannot be checked: go.mod does not require k8s.io/%s", repository, name, repository)
		return
	}
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	if !mod.isPinnedBy(ref) {
		c.problem(l.line, "the link to %s names %s, and go.mod pins %s%s", name, ref, mod.Version, c.nowAt(l, mod, name))
		return
	}
	if !mod.has(name) {
		c.problem(l.line, "the link to %s leads nowhere: %s has no such file%s", name, mod, elsewhere(mod, name))
		return
	}
	if fragment == "" {
		c.namedByLink(l, mod, name, 0)
		return
	}
	m := lineRange.FindStringSubmatch(fragment)
	if m == nil {
		if path.Ext(name) == ".go" {
			c.problem(l.line, "the link to %s#%s leads nowhere: #%s is not a line; write #L10 or #L10-L20", name, fragment, fragment)
		}
		return
	}
	first, last := lineNumbers(m[1], m[2])
	switch total := lineCount(mod.file(name)); {
	case first > total || last > total:
		c.problem(l.line, "the link to %s#%s leads nowhere: the file ends before that line, with line %d", name, fragment, total)
	case first < 1 || last < first:
		c.problem(l.line, "the link to %s#%s leads nowhere: lines count from 1, the smaller one first", name, fragment)
	default:
		c.namedByLink(l, mod, name, first)
	}
}

// isPinnedBy tells whether a ref of the module's repository is the pinned version: its tag, or its commit if it has none.
func (m Module) isPinnedBy(ref string) bool {
	if commit := pseudo.FindStringSubmatch(m.Version); commit != nil {
		return strings.HasPrefix(ref, commit[1])
	}
	return ref == m.Version
}

// nowAt says what a link to another version would be today, if its text tells.
func (c *checker) nowAt(l link, mod Module, name string) string {
	if chain, ok := symbolIn(l.text); ok && path.Ext(name) == ".go" {
		if all := c.candidates(mod, name, chain); len(all) > 0 {
			return ", where `" + strings.Join(chain, ".") + "` is declared at " + show(all)
		}
	}
	return ""
}

// namedByLink checks that a link's text, if it is code, names what stands at first in a file: a symbol, or file and line
// themselves. With first 0 the link has no line.
func (c *checker) namedByLink(l link, mod Module, name string, first int) {
	text := strings.Trim(l.text, "`")
	if m := fileText.FindStringSubmatch(text); m != nil {
		number, _ := strconv.Atoi(m[2]) // no digits: 0, any line
		if !strings.HasSuffix("/"+name, "/"+strings.TrimPrefix(m[1], "./")) {
			c.problem(l.line, "the link's text is %s, and it leads to %s", text, name)
		} else if number != 0 && number != first {
			c.problem(l.line, "the link's text is %s, and it leads to %s", text, strings.TrimSuffix(name+"#L"+strconv.Itoa(first), "#L0"))
		}
		return
	}
	if chain, ok := symbolIn(l.text); ok && path.Ext(name) == ".go" {
		c.declaredAt(l.line, chain, mod, name, first)
	}
}

// symbolIn reads a link's text, or other inline code, as the name of a symbol: `cache.NewStore`, `(*DeltaFIFO).Pop`,
// `NewStore(keyFunc)`. Without backquotes only a qualified name counts, for a single word may be any word.
func symbolIn(text string) (chain []string, ok bool) {
	plain := strings.Trim(text, "`")
	isCode := len(plain) == len(text)-2 && !strings.Contains(plain, "`")
	declaration := false
	for _, keyword := range []string{"func ", "type ", "const ", "var "} {
		if rest, ok := strings.CutPrefix(plain, keyword); ok {
			plain, declaration = rest, true
		}
	}
	if strings.HasPrefix(plain, "(") { // a receiver
		plain = strings.Replace(strings.TrimLeft(plain, "(*"), ")", "", 1)
	}
	plain = typeArgs.ReplaceAllString(strings.TrimLeft(plain, "*&"), "")
	if i := strings.IndexAny(plain, "({"); i > 0 && (declaration || strings.ContainsAny(plain[len(plain)-1:], ")}")) {
		plain = plain[:i]
	}
	chain = strings.Split(plain, ".")
	if !symbolText.MatchString(plain) || token.IsKeyword(plain) || slices.ContainsFunc(chain[1:], func(s string) bool { return slices.Contains(notIdentifiers, s) }) {
		return nil, false
	}
	return chain, isCode || len(chain) > 1 && aliases[chain[0]] != nil
}

// declaredAt checks that a symbol is declared at a line of a file; with line 0, anywhere in it.
func (c *checker) declaredAt(at int, chain []string, mod Module, name string, line int) {
	symbol := strings.Join(chain, ".")
	all := c.candidates(mod, name, chain)
	here := slices.DeleteFunc(slices.Clone(all), func(s site) bool { return s.file != name || s.mod.Dir != mod.Dir })
	switch {
	case line == 0 && (len(here) > 0 || len(all) == 0 || len(chain) == 1 && !isExported(symbol)):
		// Without a line, the text may well be a word for what the file is about.
	case slices.ContainsFunc(here, func(s site) bool { return s.startsAt(line) }):
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

// site is a declaration and the module that it is in.
type site struct {
	*decl
	mod Module
}

// show lists at most three places: "tools/cache/store.go#L429". If a package declares the name itself, that is what is
// meant, and not the methods and fields of this name.
func show(all []site) string {
	isMember := func(s site) bool { return strings.Contains(s.name, ".") }
	if own := slices.DeleteFunc(slices.Clone(all), isMember); len(own) > 0 {
		all = own
	}
	var places []string
	for _, s := range all[:min(len(all), 3)] {
		places = append(places, s.file+"#L"+strconv.Itoa(s.line))
	}
	return strings.Join(places, " or ")
}

// candidates finds everything that a symbol can mean in a link to a file: the name of a declaration, method or field in
// the file's package, with or without its package's or its type's name in front, or what a known package has.
func (c *checker) candidates(mod Module, name string, chain []string) (all []site) {
	add := func(p *pkg, ds ...*decl) {
		for _, d := range ds {
			if !slices.ContainsFunc(all, func(s site) bool { return s.decl == d }) {
				all = append(all, site{d, p.module})
			}
		}
	}
	importPath := path.Join(mod.Path, path.Dir(name))
	if strings.HasSuffix(name, "_test.go") {
		importPath += testSuffix
	}
	rest := chain[1:]
	if p := c.load(importPath); p != nil {
		if len(chain) == 1 {
			add(p, p.byLast[chain[0]]...)
		} else if d, in, v, _ := c.find(p, chain); v == found {
			add(in, d)
		}
		if len(rest) > 0 && (chain[0] == p.name || slices.Contains(aliases[chain[0]], importPath)) {
			add(p, p.decls[strings.Join(rest, ".")]...)
		}
	}
	paths := aliases[chain[0]]
	if own := c.chapters[chain[0]]; own != "" {
		paths = append(slices.Clone(paths), own)
	}
	for _, importPath := range paths {
		if p := c.load(importPath); p != nil && len(rest) > 0 {
			if d, in, v, _ := c.find(p, rest); v == found {
				add(in, d)
			}
		}
	}
	return all
}

// read returns the lines of a file.
func (m Module) read(name string) ([]string, error) {
	content, err := os.ReadFile(m.file(name))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n"), nil
}
