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
// The package does not check whether the result compiles, and does not write it. directives.go reads a solution,
// write.go writes what stays of it.
package stub

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"

	"client-go-workshop/internal/course"
)

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
	files, err := readSolution(dir)
	for name, src := range files {
		if files[name], err = Generate(filepath.Join(dir, name), src); err != nil {
			return nil, err
		}
	}
	return files, err
}

// readSolution reads the Go files in a solution's folder.
func readSolution(dir string) (map[string][]byte, error) {
	files, err := course.Code(dir)
	if err != nil {
		return nil, fmt.Errorf("read the solution: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no solution in %s: it has no Go file", dir)
	}
	return files, nil
}

// Generate makes the stub of one file. name is for error messages. It depends on src alone; a file without directives
// comes out as it went in, but for formatting, so a stub is its own stub.
func Generate(name string, src []byte) ([]byte, error) {
	f, err := readFile(token.NewFileSet(), name, src)
	if err != nil {
		return nil, err
	}
	return f.write()
}

// Todos lists the bodies that Generate takes out of a file.
func Todos(name string, src []byte) (todos []Todo, err error) {
	f, err := readFile(token.NewFileSet(), name, src)
	if err != nil {
		return nil, err
	}
	for _, p := range f.parts {
		if p.state == todo {
			todos = append(todos, p.todo)
		}
	}
	return todos, nil
}

var mark = regexp.MustCompile(`(?m)^(?:[ \t]*//\n)?[ \t]*//workshop:.*\n`)

// WithoutMarks is a solution's file as a reader wants it: without directives.
func WithoutMarks(src []byte) []byte { return mark.ReplaceAll(src, nil) }

// Declared returns the names that specs of types, variables and constants declare.
func Declared(specs ...ast.Spec) (names []*ast.Ident) {
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name)
		case *ast.ValueSpec:
			names = append(names, s.Names...)
		}
	}
	return names
}

// FieldNames returns the names of a field; an embedded one is named for its type.
func FieldNames(field *ast.Field) []*ast.Ident {
	if len(field.Names) > 0 {
		return field.Names
	}
	return []*ast.Ident{typeName(field.Type)}
}

// typeName returns the name of a type without its package, pointer and type arguments: Box of *box.Box[K, V]. A type
// without a name has an empty one.
func typeName(t ast.Expr) *ast.Ident {
	for n := range ast.Preorder(t) {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return n.Sel
		case *ast.Ident:
			return n
		}
	}
	return &ast.Ident{}
}

// Symbol returns Receiver.Method, or the function's name.
func Symbol(d *ast.FuncDecl) string {
	if d.Recv != nil && len(d.Recv.List) > 0 {
		if receiver := typeName(d.Recv.List[0].Type).Name; receiver != "" {
			return receiver + "." + d.Name.Name
		}
	}
	return d.Name.Name
}
