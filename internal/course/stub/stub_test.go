package stub

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/checksum"
)

const solution = `// Package box is a chapter.
package box

import (
	"errors"
	"fmt"
	str "strings"

	_ "embed"

	"k8s.io/klog/v2"
)

// Box counts.
type Box struct {
	n int // how many
	// lid is for the learner to invent.
	//
	//workshop:omit
	lid bool
}

//workshop:omit
type helper struct{}

const (
	// small is kept.
	small = 1

	// big is not.
	//
	//workshop:omit
	big = 2
)

// Put adds.
//
// It never fails.
//
//workshop:task 1
func (b *Box) Put(what string) (err error) {
	// A comment inside goes with the body.
	if str.TrimSpace(what) == "" {
		return errors.New("nothing")
	}
	b.add(helper{})
	return nil
}

// A comment between declarations stays.

// Len tells how many there are.
func (b *Box) Len() int { return b.n }

//workshop:task 2 The.Symbol
func free() { klog.Info(big) }

// add is a helper.
//
//workshop:omit
func (b *Box) add(helper) { b.n++ } // with a comment behind it

// String is kept, with its import.
func (b *Box) String() string { return fmt.Sprint(b.n) }
`

const wanted = `// Package box is a chapter.
package box

import (
	"fmt"

	_ "embed"

	"client-go-workshop/internal/testkit/todo"
)

// Box counts.
type Box struct {
	n int // how many
}

const (
	// small is kept.
	small = 1
)

// Put adds.
//
// It never fails.
func (b *Box) Put(what string) (err error) {
	panic(todo.Task(1, "Box.Put"))
}

// A comment between declarations stays.

// Len tells how many there are.
func (b *Box) Len() int { return b.n }

func free() {
	panic(todo.Task(2, "The.Symbol"))
}

// String is kept, with its import.
func (b *Box) String() string { return fmt.Sprint(b.n) }
`

func TestGenerate_takes_out_what_is_marked(t *testing.T) {
	got, err := Generate("box.go", []byte(solution))
	require.NoError(t, err)
	require.Equal(t, wanted, string(got))
}

func TestGenerate_twice_is_once(t *testing.T) {
	once, err := Generate("box.go", []byte(solution))
	require.NoError(t, err)
	again, err := Generate("box.go", []byte(solution))
	require.NoError(t, err)
	require.Equal(t, string(once), string(again), "the same solution gives the same stub")
	twice, err := Generate("box.go", once)
	require.NoError(t, err)
	require.Equal(t, string(once), string(twice), "a stub is its own stub")
}

const fileOfTask = `package box

// This file is a map.
//
//workshop:file task 6 Box

type box struct{}

//workshop:keep
func New() *box { return &box{} }

// Put adds.
func (b *box) Put() { b.add() }

//workshop:task 7
func (b *box) Len() int { return size() }

// Box is a function.
func Box() {}

// add adds.
func (b *box) add() {}

//workshop:keep
func size() int { return 0 }
`

func TestGenerate_of_a_file_with_a_task_for_all(t *testing.T) {
	got, err := Generate("box.go", []byte(fileOfTask))
	require.NoError(t, err)
	require.Equal(t, `package box

// This file is a map.

import "client-go-workshop/internal/testkit/todo"

type box struct{}

func New() *box { return &box{} }

// Put adds.
func (b *box) Put() {
	panic(todo.Task(6, "Box.Put"))
}

func (b *box) Len() int {
	panic(todo.Task(7, "Box.Len"))
}

// Box is a function.
func Box() {
	panic(todo.Task(6, "Box"))
}

func size() int { return 0 }
`, string(got))
}

func TestGenerate_of_a_file_that_omits_all_helpers(t *testing.T) {
	got, err := Generate("box.go", []byte("// Package box is a map.\n//\n//workshop:file omit\npackage box\n\nfunc F() "+
		"{}\n\nfunc f() {}\n"))
	require.NoError(t, err)
	require.Equal(t, "// Package box is a map.\npackage box\n\nfunc F() {}\n", string(got))
}

func TestTodos_lists_the_marked_bodies(t *testing.T) {
	todos, err := Todos("box.go", []byte(solution))
	require.NoError(t, err)
	for i, h := range todos {
		require.Equal(t, byte('{'), solution[h.Body-1], "the byte before the body of %s", h.Symbol)
		todos[i].Body = 0
	}
	require.Equal(t, []Todo{
		{Task: 1, Symbol: "Box.Put", Doc: "Put adds.\n\nIt never fails.\n", Line: 41, Function: "Box.Put"},
		{Task: 2, Symbol: "The.Symbol", Line: 56, Function: "free"},
	}, todos)
}

func TestGenerate_of_a_file_with_no_import(t *testing.T) {
	got, err := Generate("box.go", []byte("package box\n\n//workshop:task 1\nfunc Put() {}\n"))
	require.NoError(t, err)
	require.Equal(t, "package box\n\nimport \"client-go-workshop/internal/testkit/todo\"\n\nfunc Put() "+
		"{\n\tpanic(todo.Task(1, \"Put\"))\n}\n", string(got))
}

func TestGenerate_leaves_the_map_of_a_file_at_its_head(t *testing.T) {
	got, err := Generate("box.go", []byte("package box\n\n// This file is a map.\n\nimport \"fmt\"\n\n// F "+
		"prints.\n//\n//workshop:task 1\nfunc F() { fmt.Println() }\n"))
	require.NoError(t, err)
	require.Equal(t, "package box\n\n// This file is a map.\n\nimport "+
		"\"client-go-workshop/internal/testkit/todo\"\n\n// F prints.\nfunc F() {\n\tpanic(todo.Task(1, \"F\"))\n}\n",
		string(got))
}

func TestGenerate_names_the_receiver_of_a_generic_type(t *testing.T) {
	got, err := Generate("box.go", []byte("package box\n\ntype Box[K comparable, V any] struct{}\n\n//workshop:task "+
		"1\nfunc (b *Box[K, V]) Put() {}\n"))
	require.NoError(t, err)
	require.Contains(t, string(got), `todo.Task(1, "Box.Put")`)
}

func TestGenerate_refuses_what_it_cannot_mean(t *testing.T) {
	for name, c := range map[string]struct{ src, problem string }{
		"an unknown directive": {"//workshop:taks 1\nfunc f() {}\n",
			"box.go:3:1: there is no directive //workshop:taks 1"},
		"no task":                  {"//workshop:task\nfunc f() {}\n", "there is no directive"},
		"task 0":                   {"//workshop:task 0\nfunc f() {}\n", "there is no directive"},
		"a symbol of two words":    {"//workshop:task 1 a b\nfunc f() {}\n", "there is no directive"},
		"a task for a type":        {"//workshop:task 1\ntype t int\n", "can only be omitted"},
		"a task without a body":    {"//workshop:task 1\nfunc f()\n", "only a function with a body has a task"},
		"two directives":           {"//workshop:task 1\n//workshop:omit\nfunc f() {}\n", "box.go:4:1: a second directive"},
		"an exported name omitted": {"//workshop:omit\nfunc F() {}\n", "an exported name cannot be omitted"},
		"an exported name in a list": {"const (\n\ta = 1\n\t//workshop:omit\n\tB = 2\n)\n",
			"box.go:5:2: an exported name cannot be omitted"},
		"a directive inside a body": {"func f() {\n\t//workshop:task 1\n}\n",
			"box.go:4:2: //workshop:task 1 is in no doc comment"},
		"a directive with nothing below": {"//workshop:task 1\n\nfunc f() {}\n",
			"is in no doc comment"},
		"a file's directive of a declaration": {"//workshop:file omit\nfunc f() {}\n",
			"there is no directive //workshop:file omit"},
		"a file's directive below the head": {"func f() {}\n\n//workshop:file omit\n\nfunc g() {}\n", "would do nothing"},
		"an unknown file's directive":       {"//workshop:file keep\n\nfunc f() {}\n", "a file's directive is"},
		"a file's task without a number":    {"//workshop:file task Box\n\nfunc f() {}\n", "a file's directive is"},
		"two directives of a file": {"//workshop:file omit\n//workshop:file omit\n\nfunc f() {}\n",
			"a second directive for one file"},
		"no Go": {"func {\n", "read the solution: box.go:3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Generate("box.go", []byte("package box\n\n"+c.src))
			require.ErrorContains(t, err, c.problem)
		})
	}
}

func TestDir_needs_a_solution(t *testing.T) {
	_, err := Dir(t.TempDir())
	require.ErrorContains(t, err, "there is no solution in")
}

// The checksums of a chapter are those of the stubs that its solution gives today.
func TestDir_of_each_solution_gives_the_stubs_that_are_listed(t *testing.T) {
	root, err := course.Root(".")
	require.NoError(t, err)
	chapters, err := course.All(root)
	require.NoError(t, err)
	for _, c := range chapters {
		solution := filepath.Join(root, c.Solution())
		made, err := Dir(solution)
		require.NoError(t, err)
		listed, err := checksum.Read(solution)
		require.NoError(t, err)
		require.Len(t, listed.Stubs, len(made), c.Dir)
		for name, content := range made {
			require.Equal(t, listed.Stubs[name], checksum.Of(content), "%s/%s", c.Dir, name)
		}
	}
}

// FuzzGenerate feeds it files with directives in odd places: it may refuse them, but what it returns is Go, and a stub
// of which another one can be made. (That it is formatted cannot be asked: gofmt itself wants a second go at some
// files.)
func FuzzGenerate(f *testing.F) {
	f.Add(solution)
	f.Add("package p\n//workshop:task 1\nfunc f() {}")
	f.Add("package p\nimport \"fmt\"\n//workshop:omit\nvar a, b = fmt.Sprint(1), 2\n")
	f.Add("package p\n\n/* a */ //workshop:omit\ntype t struct{} // b\n//workshop:task 3\nfunc (t) m() { /* c */ }\n")
	f.Add(fileOfTask)
	f.Add("package A\nimport()\n//workshop:task 1\nfunc()A(){}")
	f.Fuzz(func(t *testing.T, src string) {
		got, err := Generate("f.go", []byte(src))
		if err != nil {
			return
		}
		_, err = parser.ParseFile(token.NewFileSet(), "f.go", got, parser.ParseComments)
		require.NoError(t, err)
		_, err = Generate("f.go", got)
		require.NoError(t, err)
	})
}
