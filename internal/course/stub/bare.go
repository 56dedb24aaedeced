package stub

// This file makes the bare stub of a chapter: its exported names and their contracts, for learners who want to design
// the rest themselves.
//
// What goes is the design: unexported functions, types, variables and fields. What stays:
//
//   - exported names;
//   - unexported types with an exported method that the learner writes, since the method's comment is a contract;
//   - given files, which have no directive.
//
// Code of these that needs something that goes goes too. An exported function becomes a todo instead.

import (
	"fmt"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
)

// BareMark is the line in the package comment of a bare stub by which IsBare knows it.
const BareMark = "//workshop:bare"

// bareComment ends the package comment of a bare stub.
const bareComment = "// This is the bare stub: exported names and given code. Comments may name files, functions and " +
	"fields of the\n" +
	"// ordinary stub. They belong to one design; yours may be another. Keep the line below: the commands know a bare\n" +
	"// chapter by it.\n" +
	"//\n" + BareMark + "\n"

var bareMark = regexp.MustCompile(`(?m)^` + BareMark + `\r?$`)

// IsBare reports whether a chapter's files come from a bare stub, however much has been written since. files holds the
// content of Go files by name.
func IsBare(files map[string][]byte) bool {
	for _, src := range files {
		if bareMark.Match(src) {
			return true
		}
	}
	return false
}

// BareDir makes the bare stub of a solution's folder: the content of each file by name.
func BareDir(dir string) (map[string][]byte, error) {
	files, err := readSolution(dir)
	if err != nil {
		return nil, err
	}
	bare, err := Bare(files)
	if err != nil {
		return nil, fmt.Errorf("make the bare stub of %s: %w", filepath.Base(dir), err)
	}
	return bare, nil
}

// Bare makes the bare stub of a solution. files holds the content of the solution's Go files by name; one of them has a
// package comment. A file that would be empty is not in the result.
func Bare(files map[string][]byte) (map[string][]byte, error) {
	s := &design{members: map[string][]*part{}, decls: map[string]*part{}}
	set := token.NewFileSet()
	var read []*file
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := readFile(set, name, files[name])
		if err != nil {
			return nil, err
		}
		read, s.parts = append(read, f), append(s.parts, f.parts...)
	}
	s.relate()
	s.choose()
	bare := map[string][]byte{}
	for _, f := range read {
		if f.tree.Doc != nil {
			at := f.offset(f.tree.Package)
			f.replace(at, at, "//\n"+bareComment)
		} else if !slices.ContainsFunc(f.parts, func(p *part) bool { return p.state != gone }) {
			continue
		}
		src, err := f.write()
		if err != nil {
			return nil, err
		}
		bare[f.name] = src
	}
	return bare, nil
}

// choose gives every part its state.
func (s *design) choose() {
	for _, p := range s.parts {
		switch {
		case !p.offered() || p.owner != nil && !p.owner.offered():
			p.state = gone
		case p.todo.Task > 0:
			p.state = todo
		default:
			p.state = stays
		}
	}
	for s.demote() {
	}
	for _, p := range s.parts {
		if p.state == todo && p.todo.Task == 0 {
			p.todo.Task, p.todo.Symbol = s.firstTask(p), p.file.symbol(p.function())
		}
	}
}

// offered reports whether a part is exported, a contract, given, or code that nothing can name.
func (p *part) offered() bool {
	return p.exported || p.contract || !p.file.marked || p.owner == nil && !p.named
}

// demote takes back what needs something that goes: an exported function becomes a todo, anything else goes too. It
// reports whether there was such a part.
func (s *design) demote() (changed bool) {
	for _, p := range s.parts {
		if p.state == stays && slices.ContainsFunc(p.needs, meanings.gone) {
			p.state, changed = gone, true
			if p.exported && p.function() != nil {
				p.state = todo
			}
		}
	}
	return changed
}

// firstTask returns the task of a function that the stub gives: the first one in which the learner writes a method of
// its type, a function that its body names, or a method of a type that its body names.
func (s *design) firstTask(function *part) int {
	near := []*part{function.owner}
	for _, needed := range s.needed(function.function().Body) {
		p := needed[0] // of an exported method of an unexported type, the callers see an interface
		if len(needed) == 1 && (p.owner == nil || p.owner.exported || !p.exported) {
			near = append(near, p)
		}
	}
	first := 0
	for _, p := range s.parts {
		isNear := slices.Contains(near, p) || p.owner != nil && slices.Contains(near, p.owner)
		if isNear && p.todo.Task > 0 && (first == 0 || p.todo.Task < first) {
			first = p.todo.Task
		}
	}
	return max(first, 1)
}
