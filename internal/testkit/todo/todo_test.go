package todo_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/todo"
)

func reach() { panic(todo.Task(3, "Queue.Pop")) } // line 12: the tests below expect it here

func TestA_todo_panics_in_a_program(t *testing.T) {
	todo.OnReach(nil)
	defer func() {
		n, ok := recover().(todo.NotWritten)
		require.True(t, ok, "the panic's value is a NotWritten")
		require.Equal(t, 3, n.Task)
		require.Equal(t, "Queue.Pop", n.Symbol)
		require.Equal(t, "todo_test.go", filepath.Base(n.File))
		require.EqualError(t, n, "Queue.Pop is not written yet (todo_test.go:12, task 3): its comment says what to write")
	}()
	reach()
}

func TestA_todo_that_nobody_takes_over_panics(t *testing.T) {
	asked := 0
	todo.OnReach(func(todo.NotWritten) bool { asked++; return false })
	defer todo.OnReach(nil)
	require.Panics(t, reach)
	require.Equal(t, 1, asked)
}

func TestA_todo_that_is_taken_over_ends_its_goroutine(t *testing.T) {
	var reached []todo.NotWritten
	todo.OnReach(func(n todo.NotWritten) bool { reached = append(reached, n); return true })
	defer todo.OnReach(nil)

	var returned bool
	var recovered any
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { recovered = recover() }()
		reach()
		returned = true
	}()
	<-ended

	require.False(t, returned, "what follows a todo must not run")
	require.Nil(t, recovered, "a recover below the todo must not swallow it")
	require.Len(t, reached, 1)
	require.Equal(t, "Queue.Pop", reached[0].Symbol)
	require.Equal(t, 12, reached[0].Line)
}

func TestChapter_is_the_last_folder_named_like_one(t *testing.T) {
	for path, want := range map[string]string{
		"/w/07-controller/factory/factory.go":  "07-controller",
		`C:\99-mine\w\05-indexer\store.go`:     "05-indexer",
		"client-go-workshop/06-workqueue/a.go": "06-workqueue",
		"/w/labs/rewriting-proxy/proxy.go":     "labs/rewriting-proxy",
		"/w/labs/rewriting-proxy":              "labs/rewriting-proxy",
		"/labs/w/05-indexer/store.go":          "05-indexer",
		"/w/labs/a.go":                         "",
		"/w/internal/a.go":                     "",
		"":                                     "",
	} {
		require.Equal(t, want, todo.Chapter(path), path)
	}
	require.Equal(t, "indexer", todo.NotWritten{File: "/w/05-indexer/store.go"}.Layer())
	require.Equal(t, "client", todo.NotWritten{File: "/w/02-watch-stream/frame.go"}.Layer())
	require.Empty(t, todo.NotWritten{File: "/w/07-controller/a.go"}.Layer(), "nothing runs on it")
}
