package runner

// This file finds the two lines that a failure is about: of the learner's code, and of the test.

import (
	"cmp"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/testkit/failure"
)

// Places returns the line of the learner's code and the line of the test that a failure is about, relative to the
// workshop at root. Each is the zero Position if it is unknown. An assertion does not tell which code is wrong; then it
// is the exported function of the failure's task that the test called last, or else the last one of an earlier task.
// Tests call no other functions of a chapter: run is a helper of the test.
func Places(root string, c course.Chapter, f failure.Failure) (yours, test failure.Position) {
	f = FromRoot(root, c, f)
	switch {
	case f.Todo != nil:
		yours = f.Todo.At
	case f.Code.File != "":
		yours = fromRoot(root, c.Dir, f.Code)
	case f.At.File != "":
		yours = lastCall(root, c, f)
	}
	return yours, f.At
}

var (
	callPattern = regexp.MustCompile(`(\w+)(?:\[[^\]]*\])?\(`)
	funcPattern = regexp.MustCompile(`^func (?:\((?:\w+ )?\*?(\w+)[^)]*\) )?(\w+)`)
)

// lastCall returns where the chapter declares the function that the test called last, see Places. f is from the root.
func lastCall(root string, c course.Chapter, f failure.Failure) (last failure.Position) {
	text, _ := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.At.File))) // it has such a line, or is no test
	lines := strings.Split(string(text), "\n")
	if f.At.Line > len(lines) {
		return last
	}
	declared, asked := declarations(root, c), askedFor(filepath.Join(root, c.Solution()))
	for _, line := range slices.Backward(lines[:f.At.Line]) {
		if strings.HasPrefix(line, "func ") {
			break
		}
		for _, call := range slices.Backward(callPattern.FindAllStringSubmatch(line, -1)) {
			if !token.IsExported(call[1]) {
				continue
			}
			for _, h := range asked[call[1]] {
				at := cmp.Or(declared[h.Symbol], declared["."+call[1]])
				if h.Task == f.Task && at.Line > 0 {
					return at
				}
				if h.Task < f.Task {
					last = cmp.Or(last, at)
				}
			}
		}
	}
	return last
}

// declarations returns where the chapter's code declares each function, and each method by its type and name. A name
// behind a dot stands for the only function or method of that name.
func declarations(root string, c course.Chapter) map[string]failure.Position {
	files, _ := course.Code(filepath.Join(root, c.Dir)) // the tests report an error
	all := map[string]failure.Position{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for i, line := range strings.Split(string(files[name]), "\n") {
			m := funcPattern.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			at := failure.Position{File: c.Dir + "/" + name, Line: i + 1}
			all[strings.TrimPrefix(m[1]+"."+m[2], ".")] = at
			if _, another := all["."+m[2]]; another {
				at = failure.Position{}
			}
			all["."+m[2]] = at
		}
	}
	return all
}

// askedFor returns the functions of a solution that tasks ask for, by their names without a type.
func askedFor(solution string) map[string][]failure.Todo {
	files, _ := stub.Dir(solution) // without them, no function is of a task
	all := map[string][]failure.Todo{}
	for _, h := range todosIn(files) {
		name := h.Symbol[strings.LastIndexByte(h.Symbol, '.')+1:]
		all[name] = append(all[name], h)
	}
	return all
}
