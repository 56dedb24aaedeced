package reference

// This file checks that a symbol is declared where a text says: in the text of a link, or beside a place.

import (
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course/markdown"
)

var (
	fileText   = regexp.MustCompile(`^([\w./-]+\.(?:go|md|proto|yaml|mod))(?:(?::|#L)(\d+)(?:-L?\d+)?)?$`)
	symbolText = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$`)
	typeArgs   = regexp.MustCompile(`\[[^\]]*\]`)
	receiver   = regexp.MustCompile(`^[(*&]+([\w.]*)\)?`)
	declares   = regexp.MustCompile(`^(?:func|type|const|var) `)
)

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
	if m := fileText.FindStringSubmatch(text); m != nil {
		number, _ := strconv.Atoi(m[2]) // no digits: 0, any line
		to := name
		if !strings.HasSuffix("/"+name, "/"+strings.TrimPrefix(m[1], "./")) {
			number = -1
		} else if first > 0 {
			to += "#L" + strconv.Itoa(first)
		}
		if number != 0 && number != first {
			c.problem(l.Line, "the link's text is %s, and it leads to %s", text, to)
		}
		return
	}
	if chain, ok := symbolIn(l.Text); ok && path.Ext(name) == ".go" {
		c.declaredAt(l.Line, chain, mod, name, first)
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
	isMember := func(d *decl) bool { return d.name != d.last() }
	if own := slices.DeleteFunc(slices.Clone(all), isMember); len(own) > 0 {
		all = own
	}
	var places []string
	for _, d := range all[:min(len(all), 3)] {
		places = append(places, d.file+"#L"+strconv.Itoa(d.line))
	}
	return strings.Join(places, " or ")
}

// candidates finds everything that a symbol can mean in a link to a file: the name of a declaration, method or field in
// the file's package, with or without its package's or its type's name in front, or what a known package has.
func (c *checker) candidates(mod module, name string, chain []string) (all []*decl) {
	find := func(p *pkg, chain []string) (all []*decl) {
		if p != nil && len(chain) > 0 {
			if d, v, _ := c.find(p, chain); v == found {
				all = append(all, d)
			}
		}
		return all
	}
	importPath := path.Join(mod.path, path.Dir(name))
	if strings.HasSuffix(name, "_test.go") {
		importPath += testSuffix
	}
	rest := chain[1:]
	if p := c.load(importPath); p != nil {
		if len(rest) == 0 {
			all = p.ending(chain[0])
		} else {
			all = find(p, chain)
		}
		if chain[0] == p.name || slices.Contains(aliases[chain[0]], importPath) {
			all = append(all, p.decls[strings.Join(rest, ".")]...)
		}
	}
	for _, importPath := range c.meanings(chain[0], nil) {
		all = append(all, find(c.load(importPath), rest)...)
	}
	var unique []*decl
	for _, d := range all {
		if !slices.Contains(unique, d) {
			unique = append(unique, d)
		}
	}
	return unique
}
