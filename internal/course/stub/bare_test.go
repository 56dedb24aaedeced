package stub

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// bareOf makes the bare stub of a solution. Both are txtar archives.
func bareOf(t *testing.T, solution string) string {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range txtar.Parse([]byte(solution)).Files {
		files[f.Name] = f.Data
	}
	bare, err := Bare(files)
	require.NoError(t, err)
	archive := &txtar.Archive{}
	for _, name := range slices.Sorted(maps.Keys(bare)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: bare[name]})
	}
	return string(txtar.Format(archive))
}

func TestBare_leaves_exported_names_and_their_comments(t *testing.T) {
	require.Equal(t, `-- box.go --
// Package box is a chapter.
//
// This is the bare stub: exported names and given code. Comments may name files, functions and fields of the
// ordinary stub. They belong to one design; yours may be another. Keep the line below: the commands know a bare
// chapter by it.
//
//workshop:bare
package box

// This file is the box.

import (
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// Box counts.
type Box struct {
	Name string // of the box

	// Store is below.
	cache.Store
}

var (
	_ cache.Store = (*Box)(nil)
)

// New returns an empty box.
func New() *Box {
	panic(todo.Task(1, "New"))
}

// Put adds.
func (b *Box) Put(what string) {
	panic(todo.Task(1, "Box.Put"))
}

// PutAll adds all.
func (b *Box) PutAll(all ...string) {
	for _, what := range all {
		b.Put(what)
	}
}

// shelf has a contract.
type shelf[T any] struct{}

// NewShelf returns a shelf.
func NewShelf[T any]() interface{ Take() T } {
	panic(todo.Task(1, "NewShelf"))
}

// Take removes.
func (s *shelf[T]) Take() T {
	panic(todo.Task(2, "Shelf.Take"))
}
-- given.go --
package box

import "fmt"

// Default is a box of a size.
var Default = newSize(1)

// newSize is needed.
func newSize(n int) size { return size{n} }

type size struct{ n int }

// describe may help.
func describe(b *Box) string { return fmt.Sprint(b.Name) }
`, bareOf(t, `-- box.go --
// Package box is a chapter.
//
//workshop:file omit Shelf
package box

// This file is the box.

import (
	"strings"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// Box counts.
type Box struct {
	// lock guards things.
	lock   sync.Mutex
	Name   string // of the box
	things things

	// Store is below.
	cache.Store
}

// things is the design.
type things map[string]int

var (
	_ cache.Store  = (*Box)(nil)
	_ cache.Queue  = (things)(nil)
)

// New returns an empty box.
func New() *Box { return &Box{things: things{}} }

// Put adds.
//
//workshop:task 1
func (b *Box) Put(what string) {
	b.lock.Lock()
	b.things[strings.TrimSpace(what)]++
}

// PutAll adds all.
func (b *Box) PutAll(all ...string) {
	for _, what := range all {
		b.Put(what)
	}
}

// Len is a method of what goes.
func (t things) Len() int { return len(t) }

// shelf has a contract.
type shelf[T any] struct{ items []T }

// NewShelf returns a shelf.
func NewShelf[T any]() interface{ Take() T } { return &shelf[T]{[]T{}} }

// Take removes.
//
//workshop:task 2
func (s *shelf[T]) Take() T { return s.first() }

//workshop:task 1
func (s *shelf[T]) first() T { return s.items[0] }
-- given.go --
package box

import "fmt"

// Default is a box of a size.
var Default = newSize(1)

// newSize is needed.
func newSize(n int) size { return size{n} }

type size struct{ n int }

// describe may help.
func describe(b *Box) string { return fmt.Sprint(b.Name) }

// count needs the design.
func count(b *Box) int { return b.things.Len() }
-- helper.go --
package box

// This file has only helpers.
//
//workshop:file omit

func help() {}
`))
}

func TestBare_leaves_nothing_that_needs_the_design(t *testing.T) {
	for name, c := range map[string]struct{ src, wanted string }{
		"no blank line in the place of a struct's fields": {
			"//workshop:file omit\n\ntype T struct {\n\ta int\n\n\t// B is exported.\n\tB int\n\n\tc int\n}\n",
			"type T struct {\n\t// B is exported.\n\tB int\n}\n",
		},
		"nothing of a method that goes through a field that goes": {
			"//workshop:file omit\n\ntype T struct{ inner }\n\ntype inner struct{}\n\nfunc (inner) M() {}\n\n" +
				"func (t T) N() { t.M() }\n\n//workshop:task 2\nfunc (t T) O() {}\n",
			"import \"client-go-workshop/internal/testkit/todo\"\n\ntype T struct{}\n\n" +
				"func (t T) N() {\n\tpanic(todo.Task(2, \"T.N\"))\n}\n\nfunc (t T) O() {\n\tpanic(todo.Task(2, \"T.O\"))\n}\n",
		},
		"nothing of a field whose type is unknown": {
			"//workshop:file omit\n\nimport \"x\"\n\ntype T struct{ a int }\n\nfunc F() int { return x.Make(T{}).a }\n",
			"import \"client-go-workshop/internal/testkit/todo\"\n\ntype T struct{}\n\n" +
				"func F() int {\n\tpanic(todo.Task(1, \"F\"))\n}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bare, err := Bare(map[string][]byte{"a.go": []byte("// Package p is one.\npackage p\n\n" + c.src)})
			require.NoError(t, err)
			require.Equal(t, "// Package p is one.\n//\n"+bareComment+"package p\n\n"+c.wanted, string(bare["a.go"]))
			require.True(t, IsBare(bare))
		})
	}
}

func TestBare_reports_a_solution_that_is_not_Go(t *testing.T) {
	_, err := Bare(map[string][]byte{"a.go": []byte("package p\n\nfunc {")})
	require.ErrorContains(t, err, "read the solution: a.go:3")
	_, err = BareDir(t.TempDir())
	require.ErrorContains(t, err, "there is no solution in")
}
