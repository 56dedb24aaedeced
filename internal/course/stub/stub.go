// Package stub makes what a learner starts from out of the solution, so that the two cannot drift apart.
//
// Directives in doc comments of the solution name the code that is taken out:
//
//	//workshop:task 2 ThreadSafeStore.ByIndex
//
// before a function or method: its body becomes panic(todo.Task(2, "ThreadSafeStore.ByIndex")). Without a symbol it is
// the function's name, or Receiver.Method.
//
//	//workshop:omit
//
// before an unexported declaration, or a field of a struct: it goes, with its comments.
//
//	//workshop:file omit
//	//workshop:file task 6 DeltaFIFO
//
// in the head of a file, before its first declaration, are for all functions of the file without a directive of their
// own: the unexported ones go, and with a task the exported ones are written in it. The last word, which can be left
// out, is the name of unexported receiver types in symbols. A function with //workshop:keep stays as it is.
//
// Imports that nothing uses any more go too, and the one of package todo comes. All else stays as it is, comment for
// comment: the stub's documentation is the solution's.
//
// A bare stub is another start, for learners who want to design themselves: the exported names alone (bare.go).
//
// It does not check whether the result compiles, and does not write it.
package stub

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"path/filepath"
	"regexp"

	"client-go-workshop/internal/course"
)

const todoPath = "client-go-workshop/internal/testkit/todo"

// Todo is a body that the learner writes.
type Todo struct {
	Task   int
	Symbol string
	Doc    string // the text of its doc comment
	Line   int    // of the declaration in the solution
	Body   int    // the offset in the solution's file, behind the body's opening brace
	// Function is the function as the solution names it, "store.Add" where Symbol may be "Store.Add".
	Function string
}

// Dir makes the stubs of a solution's folder: the content of each non-test Go file by name.
func Dir(dir string) (map[string][]byte, error) {
	files, err := course.Code(dir)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	for name, src := range files {
		if files[name], err = Generate(filepath.Join(dir, name), src); err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no solution in %s: it has no Go file", dir)
	}
	return files, nil
}

// Todos lists the bodies that Generate takes out of a file.
func Todos(name string, src []byte) ([]Todo, error) {
	f, err := read(name, src)
	if err != nil {
		return nil, err
	}
	return f.todos, nil
}

var mark = regexp.MustCompile(`(?m)^(?:[ \t]*//\n)?[ \t]*//workshop:.*\n`)

// WithoutMarks is a solution's file as a reader wants it: without directives.
func WithoutMarks(src []byte) []byte { return mark.ReplaceAll(src, nil) }

// Generate makes the stub of one file. name is for error messages. It depends on src alone; a file without directives
// comes out as it went in, but for formatting, so a stub is its own stub.
func Generate(name string, src []byte) ([]byte, error) {
	f, err := read(name, src)
	if err != nil {
		return nil, err
	}
	cut, err := format.Source(f.apply())
	if err != nil {
		return nil, fmt.Errorf("%s: the stub is not Go: %w", name, err)
	}
	fixed, err := fixImports(name, cut, len(f.todos) > 0)
	if err != nil {
		return nil, err
	}
	return format.Source(fixed)
}

// file is a solution, read: what to cut, and the todos that it leaves.
type file struct {
	src   []byte
	set   *token.FileSet
	todos []Todo
	edits []edit // in ascending order, not overlapping

	used     map[*ast.Comment]bool // the directives that were carried out
	forAll   bool                  // whether there is a directive for functions without one
	task     int                   // of that directive; 0 if it only omits
	receiver string                // the name of unexported receiver types in symbols; empty is their own
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

func (f *file) offset(p token.Pos) int { return f.set.Position(p).Offset }

// errorf returns an error about a position.
func (f *file) errorf(at token.Pos, format string, args ...any) error {
	return fmt.Errorf("%s: %w", f.set.Position(at), fmt.Errorf(format, args...))
}

// lineStart returns the offset of the line with an offset.
func (f *file) lineStart(at int) int { return bytes.LastIndexByte(f.src[:at], '\n') + 1 }

// cut removes the lines from one position to another.
func (f *file) cut(from, to token.Pos) {
	end := len(f.src)
	if i := bytes.IndexByte(f.src[f.offset(to):], '\n'); i >= 0 {
		end = f.offset(to) + i + 1
	}
	f.edits = append(f.edits, edit{f.lineStart(f.offset(from)), end, ""})
}

// cutNode removes the lines of a node and of its doc comment, which may be nil.
func (f *file) cutNode(node ast.Node, doc *ast.CommentGroup) {
	if doc != nil {
		f.cut(doc.Pos(), node.End())
	} else {
		f.cut(node.Pos(), node.End())
	}
}

// apply carries out the edits.
func (f *file) apply() []byte {
	var out bytes.Buffer
	at := 0
	for _, e := range f.edits {
		out.Write(f.src[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(f.src[at:])
	return out.Bytes()
}
