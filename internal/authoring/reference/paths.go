package reference

// This file checks the paths of upstream files that a text names without a link, tools/cache/store.go, and the places it
// gives for symbols: `newQueueFIFO` (tools/cache/controller.go:1063).

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	goPath = regexp.MustCompile(`[\w@~./-]*\w\.go\b(?::(\d+))?`)
	// place is a symbol in inline code with file and line in parentheses behind it.
	place = regexp.MustCompile("`([^`]+)` \\(`?([\\w./-]+\\.go):(\\d+)`?\\)")
)

// clientGoDirs are the folders of client-go by which one knows a path of it. "pkg", "testing" and "examples" are missing:
// every module has those.
var clientGoDirs = []string{"tools", "rest", "util", "listers", "informers", "kubernetes", "features", "transport", "discovery",
	"dynamic", "metadata", "applyconfigurations"}

// paths checks every path in a line.
func (c *checker) paths(line int, text string) {
	for _, m := range goPath.FindAllStringSubmatch(text, -1) {
		name, _, _ := strings.Cut(m[0], ":")
		mod, rest, ok := c.upstreamPath(name)
		if !ok {
			continue
		}
		if !mod.has(rest) {
			if !c.isGone(name) {
				c.problem(line, "%s has no file %s%s", strings.TrimPrefix(mod.String(), "k8s.io/"), rest, elsewhere(mod, rest))
			}
			continue
		}
		if c.isGone(name) {
			c.problem(line, "%s is marked as gone, and %s has it", name, mod)
		}
		if number, _ := strconv.Atoi(m[1]); number > lineCount(mod.file(rest)) { // no digits: 0
			c.problem(line, "%s ends before line %d", name, number)
		}
	}
}

// upstreamPath tells which file of which module a path means. Paths of the workshop itself, and of what is not at hand,
// are not ok.
func (c *checker) upstreamPath(name string) (m Module, rest string, ok bool) {
	if m, rest, ok := c.upstream.module(name); ok && m.Path != "std" {
		return m, rest, true
	}
	first, below, slash := strings.Cut(name, "/")
	if !slash || first == "" || strings.Contains(name, "..") {
		return Module{}, "", false
	}
	here := Module{Dir: c.root}
	if here.has(name) || here.has(path.Join(path.Dir(c.file), name)) {
		return Module{}, "", false
	}
	if m, ok := c.upstream.repository(first); ok { // "client-go/tools/cache/store.go"
		return m, below, true
	}
	if m, ok := c.upstream.repository("client-go"); ok && slices.Contains(clientGoDirs, first) {
		return m, name, true
	}
	if first == "pkg" { // of apimachinery, if it has the folder
		second, _, _ := strings.Cut(below, "/")
		m, ok := c.upstream.repository("apimachinery")
		return m, name, ok && m.has("pkg/"+second)
	}
	return Module{}, "", false
}

// elsewhere says where a file of this name stands now, if there is just one.
func elsewhere(m Module, name string) string {
	var all []string
	_ = filepath.WalkDir(m.Dir, func(file string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == path.Base(name) {
			if rel, err := filepath.Rel(m.Dir, file); err == nil {
				all = append(all, filepath.ToSlash(rel))
			}
		}
		return nil // only a hint: what cannot be read has none
	})
	if len(all) != 1 {
		return ""
	}
	return "; there is " + all[0]
}

// places checks symbols that a line gives the place of.
func (c *checker) places(line int, text string) {
	for _, m := range place.FindAllStringSubmatch(text, -1) {
		chain, ok := symbolIn("`" + m[1] + "`")
		if !ok {
			continue
		}
		number, _ := strconv.Atoi(m[3]) // digits, says the pattern
		if mod, rest, ok := c.upstreamPath(m[2]); ok {
			if mod.has(rest) && number <= lineCount(mod.file(rest)) { // or paths has said so
				c.declaredAt(line, chain, mod, rest, number)
			}
			continue
		}
		paths := aliases[chain[0]]
		if strings.Contains(m[2], "/") || len(chain) < 2 || len(paths) == 0 {
			continue // a file name alone says nothing without the package
		}
		if mod, dir, ok := c.upstream.module(paths[0]); ok {
			c.declaredAt(line, chain, mod, path.Join(dir, m[2]), number)
		}
	}
}
