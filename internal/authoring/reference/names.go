package reference

// This file finds the names of symbols in a piece of text, cache.NewIndexer or (*cache.DeltaFIFO).Pop, and reports
// those that do not exist. What only looks like one (file names, host names, label keys, fields of a variable) has to
// stay silent: authors switch off a check that reports what is right.

import (
	"cmp"
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strings"
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
	// before is what may come before a name: nothing that makes it part of something longer, or its package's import path.
	before = regexp.MustCompile(`(?:^|\.\.\.|[^-.@$#\\%~/\d])$|(?:^|[^\w./-])(k8s\.io/(?:[\w./-]*/)?)$`)
	// behind is what may follow: type arguments, the parenthesis of (*cache.DeltaFIFO), more members, an ellipsis.
	behind = regexp.MustCompile(`^(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\])?(\)?)((?:\.[A-Za-z_]\w*)*)([…*]?)`)
)

// notIdentifiers follow a dot, and yet are not symbols: ends of file names and host names.
var notIdentifiers = strings.Fields("go md mod sum txt txtar yaml yml json proto html sh test k8s io com org svc")

// mentions lists the qualified names in text. Calls, pointers, type arguments and literals around them are left out;
// what they have in them is listed for itself.
func mentions(text string) (all []mention) {
	for _, at := range dotted.FindAllStringIndex(text, -1) {
		head := before.FindStringSubmatch(text[:at[0]])
		if head == nil {
			continue
		}
		parts := strings.Split(text[at[0]:at[1]], ".")
		m := mention{head: head[1] + parts[0], chain: parts[1:]}
		if rest := behind.FindStringSubmatch(text[at[1]:]); rest[1] == "" || strings.HasSuffix(text[:at[0]], "(*") {
			m.chain = append(m.chain, strings.Split(rest[2], ".")[1:]...)
			m.prefix = rest[3] != ""
		}
		if !hasNoIdentifier(m.chain) {
			all = append(all, m)
		}
	}
	return all
}

func hasNoIdentifier(chain []string) bool {
	return slices.ContainsFunc(chain, func(s string) bool { return slices.Contains(notIdentifiers, s) })
}

// names checks the symbols that a piece of inline code or a line of a comment speaks of.
func (c *checker) names(line int, text string, in *scope) {
	for _, m := range mentions(text) {
		if token.IsExported(m.chain[0]) || !slices.Contains(everyday, m.head) {
			c.name(line, m, c.meanings(m.head, in))
		}
	}
}

// name checks that one of the packages at paths has what m names. It reports the package that has most of it.
func (c *checker) name(line int, m mention, paths []string) {
	problem, at := "", -1
	for _, importPath := range paths {
		p := c.load(importPath)
		if p == nil {
			mod, _, atHand := c.module(importPath)
			if !atHand {
				return
			}
			if at < 0 {
				problem = fmt.Sprintf("there is no package %s in %s, so no %s", importPath, mod, m)
			}
			continue
		}
		v, missingAt := c.lookUp(p, m)
		if v == found && c.isGone(m.String()) {
			c.problem(line, "%s is marked as gone, and it is in %s", m, p)
		}
		if v != missing {
			return
		}
		if missingAt > at {
			problem, at = fmt.Sprintf("there is no %s in %s%s", m, p, hint(p, m, missingAt)), missingAt
		}
	}
	if problem != "" && !c.isGone(m.String()) {
		c.problem(line, "%s", problem)
	}
}

// meanings gives the import paths that a name for a package may stand for, none if it is not ours to check.
func (c *checker) meanings(head string, in *scope) []string {
	if strings.Contains(head, "/") {
		return []string{head}
	}
	paths := slices.Clone(aliases[head])
	own := c.chapters[head]
	if own != "" {
		paths = append(paths, own)
	}
	if in == nil {
		return paths
	}
	imported := in.imports[head]
	if own != "" && imported == strings.Replace(own, "/solutions/", "/", 1) {
		return []string{own} // a text of the chapter speaks of its solution
	}
	if m, _, ok := c.module(imported); ok && slices.Contains(upstreamModules, m.path) {
		return []string{imported}
	}
	if imported != "" || in.declared[head] {
		return nil
	}
	return paths
}

// lookUp reports whether p has what m names.
func (c *checker) lookUp(p *pkg, m mention) (v verdict, missingAt int) {
	_, v, missingAt = c.find(p, m.chain)
	start := func(d *decl) bool { return strings.HasPrefix(d.String(), strings.Join(m.chain, ".")) }
	switch {
	case v != missing:
	case m.prefix && missingAt == len(m.chain)-1 && slices.ContainsFunc(p.all, start):
		return found, 0
	case p.module.path == ownModule && missingAt == 0 && len(p.ending(m.chain[0])) > 0:
		return found, 0 // indexer.ByIndex("image", …): the chapters have the names that one gives to variables
	}
	return v, missingAt
}

// hint says what may have been meant: a name that is spelled nearly so, or the same one elsewhere in the package.
func hint(p *pkg, m mention, at int) string {
	owner := strings.Join(m.chain[:at], ".")
	var near, same []string
	for _, d := range p.all {
		if d.owner == owner && isNear(d.name, m.chain[at]) {
			near = append(near, m.head+"."+d.String())
		}
		if d.name == m.chain[at] {
			same = append(same, m.head+"."+d.String())
		}
	}
	return cmp.Or(suggest(near), suggest(same))
}

// suggest turns candidates into the end of a message. Exported names come first: they are what texts speak of.
func suggest(near []string) string {
	if len(near) == 0 {
		return ""
	}
	slices.Sort(near) // upper case sorts first
	near = slices.Compact(near)
	return "; did you mean " + strings.Join(near[:min(len(near), 3)], " or ") + "?"
}

// isNear reports whether two names differ by case or a typing mistake: at most one letter in four, and two in all.
func isNear(a, b string) bool {
	return strings.EqualFold(a, b) || distance(a, b) <= min(2, len(b)/4)
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
