package reference

// This file checks the paths of upstream files that a text names without a link: tools/cache/store.go.

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var goPath = regexp.MustCompile(`([\w@~./-]*\w\.go)\b(?::(\d+))?`)

// clientGoDirs are the folders of client-go by which one knows a path of it. "pkg", "testing" and "examples" are
// missing: every module has those.
var clientGoDirs = strings.Fields("tools rest util listers informers kubernetes features transport discovery dynamic " +
	"metadata applyconfigurations")

// paths checks every path in a line.
func (c *checker) paths(line int, text string) {
	for _, m := range goPath.FindAllStringSubmatch(text, -1) {
		name := m[1]
		mod, rest, ok := c.upstreamPath(name)
		if !ok {
			continue
		}
		switch number, _ := strconv.Atoi(m[2]); { // no digits: 0
		case c.isGone(name) && mod.has(rest):
			c.problem(line, "%s is marked as gone, and %s has it", name, mod)
		case c.isGone(name):
		case !mod.has(rest):
			c.problem(line, "%s has no file %s%s", strings.TrimPrefix(mod.String(), "k8s.io/"), rest, elsewhere(mod, rest))
		case number > len(mod.lines(rest)):
			c.problem(line, "%s ends before line %d", name, number)
		}
	}
}

// upstreamPath finds the file of a module that a path means. Paths of the workshop itself, and of modules that are not
// at hand, are not ok.
func (c *checker) upstreamPath(name string) (m module, rest string, ok bool) {
	if strings.HasPrefix(name, "k8s.io/") {
		return c.module(name)
	}
	first, below, slash := strings.Cut(name, "/")
	ours := c.own.has(name) || c.own.has(path.Join(path.Dir(c.file), name))
	if ours || !slash || first == "" || strings.Contains(name, "..") {
		return module{}, "", false
	}
	if m, ok := c.repository(first); ok { // "client-go/tools/cache/store.go"
		return m, below, true
	}
	if first == "pkg" { // of apimachinery, if it has the folder
		second, _, _ := strings.Cut(below, "/")
		m, ok := c.repository("apimachinery")
		return m, name, ok && m.has("pkg/"+second)
	}
	m, ok = c.repository("client-go")
	return m, name, ok && slices.Contains(clientGoDirs, first)
}

// elsewhere says where a file of this name is now, if there is just one.
func elsewhere(m module, name string) string {
	var all []string
	_ = filepath.WalkDir(m.dir, func(file string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == path.Base(name) {
			all = append(all, file)
		}
		return nil // only a hint: what cannot be read has none
	})
	if len(all) != 1 {
		return ""
	}
	return "; there is " + filepath.ToSlash(strings.TrimPrefix(all[0], m.dir+string(filepath.Separator)))
}
