// Package todo is what an unwritten function of a chapter says.
//
// Every todo of a stub is one line:
//
//	panic(todo.Task(1, "ThreadSafeStore.Add"))
//
// In a program that line panics, and says which function is missing and where. Under the tests it ends the calling
// goroutine instead, and the test fails with one line (package guard sees to that). It must not panic there: the code
// under test may run on a goroutine without a recover, where a panic kills the test binary with all other tests,
// and it may run below a recover, or a require.Panics, which would take the todo for an answer.
//
// What it leaves out: it knows no test and does not import testing, so a chapter that uses it stays an ordinary
// package.
package todo

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
)

// NotWritten is the value that a todo panics with.
type NotWritten struct {
	Task   int    // the task of the chapter in which the learner writes it
	Symbol string // what is missing: "ThreadSafeStore.Add"
	File   string // where the todo is, as the compiler knows the path
	Line   int
}

// Error says what is missing, where it is, and what to do.
func (n NotWritten) Error() string {
	return fmt.Sprintf("%s is not written yet (%s:%d, task %d): its comment says what to write",
		n.Symbol, filepath.Base(n.File), n.Line, n.Task)
}

// Chapter returns the folder of the chapter that the todo is in, such as "05-indexer" or "labs/rewriting-proxy", and ""
// if it is in none.
func (n NotWritten) Chapter() string { return Chapter(n.File) }

// Chapter returns the last folder of a path that is named like a chapter, or the last one in a folder labs, and "" if
// there is none.
func Chapter(path string) string {
	path = strings.ReplaceAll(strings.ReplaceAll(path, `\`, "/"), "labs/solutions/", "labs/")
	folders := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, folder := range slices.Backward(folders) {
		if len(folder) > 3 && strings.Trim(folder[:2], "0123456789") == "" && folder[2] == '-' {
			return folder
		}
		if i > 0 && folders[i-1] == "labs" && !strings.HasSuffix(folder, ".go") {
			return "labs/" + folder
		}
	}
	return ""
}

// Layer returns the name under which flags choose the chapter's layer: "indexer" in "yours,indexer=solutions". It
// returns "" if the chapter is no layer below others.
func (n NotWritten) Layer() string {
	_, topic, _ := strings.Cut(n.Chapter(), "-")
	switch topic {
	case "restclient", "watch-stream":
		return "client"
	case "reflector", "deltafifo", "indexer", "workqueue":
		return topic
	}
	return ""
}

// Task makes the value for the todo that calls it. It returns in a program; where a hook takes the todo over, it does
// not return: it ends the calling goroutine with runtime.Goexit, deferred calls included.
func Task(task int, symbol string) NotWritten {
	n := NotWritten{Task: task, Symbol: symbol}
	_, n.File, n.Line, _ = runtime.Caller(1)
	if taken := hook.Load(); taken != nil && (*taken)(n) {
		runtime.Goexit()
	}
	return n
}

var hook atomic.Pointer[func(NotWritten) bool]

// OnReach installs a hook that receives every todo that is reached, on the goroutine that reached it. It replaces the
// earlier hook; nil removes it. The hook reports whether it takes the todo over, so that the goroutine can just end.
// Several goroutines may call it at once.
func OnReach(f func(NotWritten) bool) {
	if f == nil {
		hook.Store(nil)
		return
	}
	hook.Store(&f)
}
