package reference

// This file finds the names of symbols in a piece of text, cache.NewIndexer or (*cache.DeltaFIFO).Pop, and tells whether
// there are such symbols. What only looks like one (file names, host names, label keys, fields of a variable) has to stay
// silent: a check that cries wolf is soon switched off.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// mention is a qualified name in a text.
type mention struct {
	head   string   // the package as the text calls it: an alias, or an import path
	chain  []string // what follows: the symbol, its members
	prefix bool     // "workqueue.Typed…" and "workqueue.Typed*" mean all that begin so
}

func (m mention) String() string { return m.head + "." + strings.Join(m.chain, ".") }

var (
	dotted = regexp.MustCompile(`[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+`)
	member = regexp.MustCompile(`^\.([A-Za-z_]\w*)`)
)

// notIdentifiers follow a dot, and yet are no symbols: ends of file names and host names.
var notIdentifiers = []string{"go", "md", "mod", "sum", "txt", "txtar", "yaml", "yml", "json", "proto", "html", "sh", "test",
	"k8s", "io", "com", "org", "svc"}

// mentions lists the qualified names in text. Calls, pointers, type arguments and literals around them are left out;
// what they have in them is listed for itself.
func mentions(text string) (all []mention) {
	for _, at := range dotted.FindAllStringIndex(text, -1) {
		head, ok := headBefore(text, at[0])
		if !ok {
			continue
		}
		parts := strings.Split(text[at[0]:at[1]], ".")
		m := mention{head: head + parts[0], chain: parts[1:]}
		rest := afterBrackets(text[at[1]:])
		if strings.HasSuffix(text[:at[0]], "(*") {
			rest = strings.TrimPrefix(rest, ")") // (*cache.DeltaFIFO).Pop
		}
		for {
			more := member.FindStringSubmatch(rest)
			if more == nil {
				break
			}
			m.chain = append(m.chain, more[1])
			rest = rest[len(more[0]):]
		}
		m.prefix = strings.HasPrefix(rest, "…") || strings.HasPrefix(rest, "*")
		if !slices.ContainsFunc(m.chain, func(s string) bool { return slices.Contains(notIdentifiers, s) }) {
			all = append(all, m)
		}
	}
	return all
}

// headBefore looks at what stands before a name: nothing that makes it part of something longer, or the import path of
// its package, which it returns.
func headBefore(text string, at int) (importPath string, ok bool) {
	before := text[:at]
	switch {
	case before == "" || strings.HasSuffix(before, "..."): // a variadic parameter
		return "", true
	case strings.HasSuffix(before, "/"):
		start := strings.LastIndexFunc(before, func(r rune) bool {
			return !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("./-_", r))
		}) + 1
		return before[start:], strings.HasPrefix(before[start:], "k8s.io/")
	}
	last := before[len(before)-1]
	return "", !strings.ContainsRune(`.-@$#\%~`, rune(last)) && (last < '0' || last > '9')
}

// afterBrackets skips type arguments: "[T].Add" becomes ".Add".
func afterBrackets(text string) string {
	if !strings.HasPrefix(text, "[") {
		return text
	}
	depth := 0
	for i, r := range text {
		switch r {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return text[i+1:]
			}
		}
	}
	return text
}

// scope is what the names in a Go file's comments mean by the file's own words; nil in Markdown.
type scope struct {
	imports  map[string]string // import paths by name
	declared map[string]bool   // names that the file gives to something else: parameters, variables, types
}

// names checks the symbols that a piece of inline code or a line of a comment speaks of.
func (c *checker) names(line int, text string, in *scope) {
	for _, m := range mentions(text) {
		c.name(line, m, in)
	}
}

func (c *checker) name(line int, m mention, in *scope) {
	paths := c.meanings(m.head, in)
	if everyday[m.head] && !isExported(m.chain[0]) {
		return
	}
	absent := ""
	var best *pkg // the package to name when it is in none
	at := 0
	for _, importPath := range paths {
		p := c.load(importPath)
		if p == nil {
			mod, _, atHand := c.module(importPath)
			if !atHand {
				return
			}
			absent = fmt.Sprintf("there is no package %s in %s, so no %s", importPath, mod, m)
			continue
		}
		v, missingAt := c.lookUp(p, m)
		if v == unknown {
			return
		}
		if v == found {
			if c.isGone(m.String()) {
				c.problem(line, "%s is marked as gone, and it is in %s", m, p)
			}
			return
		}
		if best == nil || missingAt > at {
			best, at = p, missingAt
		}
	}
	switch {
	case len(paths) == 0 || c.isGone(m.String()):
	case best == nil:
		c.problem(line, "%s", absent)
	default:
		c.problem(line, "there is no %s in %s%s", m, best, c.hint(best, m, at))
	}
}

// meanings gives the import paths that a name for a package may stand for, none if it is not ours to check.
func (c *checker) meanings(head string, in *scope) []string {
	if strings.Contains(head, "/") {
		return []string{head}
	}
	own := c.chapters[head]
	if in != nil {
		if imported, ok := in.imports[head]; ok {
			return c.imported(imported, own)
		}
		if in.declared[head] {
			return nil
		}
	}
	paths := aliases[head]
	if own != "" {
		paths = append(slices.Clone(paths), own)
	}
	return paths
}

// imported gives the import path that a file's import means here: for a chapter, its solution.
func (c *checker) imported(importPath, own string) []string {
	if rest, ok := strings.CutPrefix(importPath, ownModule+"/"); ok {
		if own != "" && chapterFolder.MatchString(rest) {
			return []string{own}
		}
		return nil
	}
	if _, _, upstream := c.upstream.module(importPath); upstream {
		return []string{importPath}
	}
	return nil
}

// lookUp tells whether p has what m names.
func (c *checker) lookUp(p *pkg, m mention) (v verdict, missingAt int) {
	_, _, v, missingAt = c.find(p, m.chain)
	if v != missing {
		return v, missingAt
	}
	if m.prefix && missingAt == len(m.chain)-1 {
		start := strings.Join(m.chain, ".")
		for name := range p.decls {
			if strings.HasPrefix(name, start) {
				return found, 0
			}
		}
	}
	// indexer.ByIndex("image", …): the chapters have the names that one gives to variables.
	if p.module.Path == ownModule && missingAt == 0 && len(p.byLast[m.chain[0]]) > 0 {
		return found, 0
	}
	return missing, missingAt
}

// hint says what may have been meant: the same name elsewhere in the package, or one that is spelled nearly so.
func (c *checker) hint(p *pkg, m mention, at int) string {
	name := m.chain[at]
	owner := strings.Join(m.chain[:at], ".")
	var near []string
	for full, ds := range p.decls {
		if of, last := split(full); of == owner && isNear(last, name) {
			near = append(near, ds[0].name)
		}
	}
	if len(near) == 0 {
		for _, d := range p.byLast[name] {
			near = append(near, d.name)
		}
	}
	return suggest(near, func(s string) string { return m.head + "." + s })
}

// suggest turns candidates into the end of a message. Exported names come first: they are what texts speak of.
func suggest(near []string, show func(string) string) string {
	if len(near) == 0 {
		return ""
	}
	slices.SortFunc(near, func(a, b string) int {
		if x, y := isExported(a), isExported(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	near = slices.Compact(near)
	near = near[:min(len(near), 3)]
	for i := range near {
		near[i] = show(near[i])
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// split separates a member from its type.
func split(full string) (owner, last string) {
	i := strings.LastIndex(full, ".")
	return full[:max(i, 0)], full[i+1:]
}

func isExported(name string) bool { return name != "" && unicode.IsUpper([]rune(name)[0]) }

// isNear tells whether two names differ by case or a typing mistake: at most one letter in four, and two in all.
func isNear(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	return distance(a, b) <= min(2, len(b)/4)
}

// distance counts the letters to insert, delete or change to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
