package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner/overlay"
)

func TestSolution_shows_the_files_of_the_task_first(t *testing.T) {
	files := []overlay.File{
		{Name: "a.go", Content: []byte("package box\n\n//workshop:task 12\nfunc a() {}\n")},
		{Name: "b.go", Content: []byte("package box\n\n//workshop:task 2\nfunc b() {}\n")},
		{Name: "c.go", Content: []byte("package box\n\n// File.\n//\n//workshop:file task 1\n\n// C is of it.\nfunc C() {}\n")},
		{Name: "d.go", Content: []byte("package box\n\n//workshop:task 1\nfunc d() {}\n")},
	}
	for task, want := range []string{"abcd", "cdab", "bacd"} {
		got := ""
		for _, f := range firstOfTask(files, task) {
			got += f.Name[:1]
		}
		require.Equal(t, want, got, "task %d", task)
	}
}
