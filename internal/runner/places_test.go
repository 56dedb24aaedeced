package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/failure"
)

const placedTest = `package box_test

func TestTask1_Put(t *T) {
	b := box.New()
	b.Put()
	b.Len()
	b.Empty()
	check(b)
}

func TestTask2_Other(t *T) {
	b := box.New[int]()
	b.Close()
	check(b)
}

func TestTask1_Helper(t *T) {
	b.Put()
	b.run()
	check(b)
}
`

const placedCode = `package box

func New() {}
func (Box) Put() {}
func (Box) Len() {}
func (b *Box[T]) Empty() {}
func (other) Empty() {}
func (Crate) Close() {}
func (Box) run() {}
`

const placedSolution = `package box

// Put puts.
//
//workshop:task 1
func (b *Box) Put() { b.n++ }

// Empty takes all out.
//
//workshop:task 2
func (b *Box) Empty() { b.n = 0 }

// Close closes.
//
//workshop:task 3
func (b *Box) Close() {}

//workshop:task 1
func (b *Box) run() {}
`

func TestPlaces_of_an_assertion_are_the_last_call_of_its_task_and_the_test(t *testing.T) {
	root := boxRoot(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "solutions", "01-box"), 0o755))
	for name, text := range map[string]string{"01-box/box_test.go": placedTest, "01-box/box.go": placedCode,
		"solutions/01-box/box.go": placedSolution} {
		require.NoError(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644))
	}
	for _, c := range []struct {
		test, task, code int // the line of the test, the task, and the line of the code
	}{
		{8, 1, 4}, // Put, although Empty comes later
		{8, 2, 6},
		{6, 2, 4},  // Put is of an earlier task; no task asks for Len
		{14, 2, 0}, // nor for New
		{15, 1, 0},
		{15, 3, 8}, // the learner's type has another name
		{20, 1, 4}, // run is a helper of the test
		{99, 1, 0},
	} {
		f := failure.Failure{Kind: failure.Assertion, At: position("box_test.go", c.test), Task: c.task}
		yours, test := Places(root, box, f)
		want := failure.Position{}
		if c.code > 0 {
			want = position("01-box/box.go", c.code)
		}
		require.Equal(t, want, yours, "%+v", c)
		require.Equal(t, position("01-box/box_test.go", c.test), test)
	}
}

func TestPlaces_of_a_panic_and_of_a_todo_are_those_that_it_names(t *testing.T) {
	root := boxRoot(t)
	at, code := position("box_test.go", 8), position("box.go", 3)
	for _, f := range []failure.Failure{
		{Kind: failure.Panic, At: at, Code: code}, {Kind: failure.NotWritten, At: at, Todo: &failure.Todo{At: code}},
	} {
		yours, test := Places(root, box, f)
		require.Equal(t, position("01-box/box.go", 3), yours)
		require.Equal(t, position("01-box/box_test.go", 8), test)
	}
	yours, test := Places(root, box, failure.Failure{Kind: failure.Other})
	require.Zero(t, yours)
	require.Zero(t, test)
}
