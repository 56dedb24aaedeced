package runner

// This file finds the two lines that a failure is about: of the learner's code, and of the test.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/testkit/failure"
)

// Places returns the line of the learner's code and the line of the test that a failure is about, relative to the
// workshop at root. Each is the zero Position if it is unknown. An assertion does not tell which code is wrong; then it
// is the function of the failure's task that the test called last, or else the last function of the chapter.
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

// lastCall returns where the chapter declares the function that the test called last, see Places. f is from the root.
func lastCall(root string, c course.Chapter, f failure.Failure) (last failure.Position) {
	declared := declarations(root, c)
	ofTask := tasksOf(filepath.Join(root, c.Solution()))
	fset := token.NewFileSet()
	path := filepath.Join(root, filepath.FromSlash(f.At.File))
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return last
	}
	var at token.Pos
	known := false // whether last is of the task
	for _, decl := range file.Decls {
		if fset.Position(decl.Pos()).Line > f.At.Line || fset.Position(decl.End()).Line < f.At.Line {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || fset.Position(call.Pos()).Line > f.At.Line {
				return true
			}
			name := calledName(call.Fun)
			position, isHere := declared[name]
			is := slices.Contains(ofTask[name], f.Task)
			if isHere && (is && !known || is == known && call.End() > at) {
				last, at, known = position, call.End(), is
			}
			return true
		})
	}
	return last
}

// calledName returns the name of a called function or method, "" if it has none.
func calledName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return calledName(e.X)
	}
	return ""
}

// declarations returns where the chapter's code declares each function and method, by its name alone.
func declarations(root string, c course.Chapter) map[string]failure.Position {
	files, _ := course.Code(filepath.Join(root, c.Dir)) // the tests report an error
	all := map[string]failure.Position{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, files[name], parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				all[f.Name.Name] = failure.Position{File: c.Dir + "/" + name, Line: fset.Position(f.Name.Pos()).Line}
			}
		}
	}
	return all
}

// tasksOf returns the tasks that ask for each function of a solution, by its name alone.
func tasksOf(solution string) map[string][]int {
	files, _ := stub.Dir(solution) // without them, no function is of a task
	all := map[string][]int{}
	for _, h := range todosIn(files) {
		name := h.Symbol[strings.LastIndexByte(h.Symbol, '.')+1:]
		all[name] = append(all[name], h.Task)
	}
	return all
}
