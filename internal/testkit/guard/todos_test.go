package guard

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/testkit/todo"
)

// The tests of chapter 07 can run on the learner's lower layers.
func TestTodo_of_another_chapter_names_it_and_the_ways_out(t *testing.T) {
	defer func(dir string) { startDir = dir }(startDir)
	startDir = "/w/07-controller"
	if flag.Lookup("on") == nil { // -count runs this test again
		flag.CommandLine.String("on", "yours", "")
	}
	r := &run{outer: t, todos: []met{{NotWritten: todo.NotWritten{
		Task: 3, Symbol: "NewIndexer", File: "/w/05-indexer/store.go", Line: 7}}}}
	f := r.todoFailure()
	require.Equal(t, "The tests run on your layers, and chapter 05-indexer is not written yet. To write it: go tool "+
		"workshop 05. To run on the finished layer: --on yours,indexer=solutions.", f.Why)
	require.Equal(t, &failure.Todo{Symbol: "NewIndexer", At: failure.Position{File: "store.go", Line: 7}, Task: 3,
		Chapter: "05-indexer"}, f.Todo)
	require.Contains(t, f.String(), "called NewIndexer of 05-indexer: not written yet (store.go:7, task 3): The tests")

	r.todos[0].File = "/w/07-controller/factory/factory.go"
	require.Empty(t, r.todoFailure().Todo.Chapter)

	startDir = "/w/labs/todays-informer"
	require.Equal(t, "07-controller", r.todoFailure().Todo.Chapter, "a lab runs on the chapters")
}

func TestTodo_of_a_lab_is_explained_in_its_folder(t *testing.T) {
	defer func(dir string) { startDir = dir }(startDir)
	startDir = "/w/labs/rewriting-proxy"
	r := &run{outer: t, todos: []met{{NotWritten: todo.NotWritten{
		Task: 3, Symbol: "New", File: "/w/labs/rewriting-proxy/proxy.go", Line: 7}}}}
	f := r.todoFailure()
	require.Empty(t, f.Todo.Chapter)
	require.Equal(t, "labs/rewriting-proxy/README.md, task 3", f.Read)
}
