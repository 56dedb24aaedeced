package stub

// This file makes the bare stub of a chapter: its exported names and their contracts, for learners who want to design
// the rest themselves.
//
// What goes is the design: unexported functions, types, variables and fields. What stays:
//
//   - exported names, and what their signatures and the values of exported variables need;
//   - unexported types with an exported method that the learner writes, since the method's comment is a contract;
//   - given files, which have no directive, except for code in them that needs something that goes.
//
// An exported function with a given body that needs something that goes becomes a todo.

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

// Bare makes the bare stub of a solution. files holds the content of the solution's Go files by name. A file that would
// be empty is not in the result.
func Bare(files map[string][]byte) (map[string][]byte, error) {
	s := &design{members: map[string][]*part{}, decls: map[string]*part{}, set: token.NewFileSet()}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := read(s.set, name, files[name])
		if err != nil {
			return nil, err
		}
		s.files, s.parts = append(s.files, f), append(s.parts, f.parts...)
	}
	s.relate()
	s.choose()
	bare := map[string][]byte{}
	marked := false
	for _, f := range s.files {
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
		marked = marked || f.tree.Doc != nil
	}
	if first := slices.Sorted(maps.Keys(bare)); !marked && len(first) > 0 {
		bare[first[0]] = append([]byte(bareComment+"\n"), bare[first[0]]...)
	}
	return bare, nil
}
