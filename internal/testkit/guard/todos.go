package guard

// This file answers the todos of a stub (package todo): it notes them for the test whose goroutine reached them, and
// lets that goroutine end. Goroutines are told apart by the number of their bubble, so it does not matter who started
// them. It also skips the tests of bonus tasks that are not begun: optional work must not look like work that is left.

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/testkit/todo"
)

// met is a todo of the stub that a test reached.
type met struct {
	todo.NotWritten
	at   failure.Position // the line of the test
	main bool             // reached on the goroutine of the test's function
}

// runs holds the guarded tests by the number of their bubble; 0 is the one in a process started by Race.
var runs sync.Map

func init() { todo.OnReach(onReach) }

// onReach is called on the goroutine that reached a todo. Todos outside guarded tests are left to panic.
func onReach(n todo.NotWritten) bool {
	id, bubble := self()
	found, ok := runs.Load(bubble)
	if !ok {
		return false
	}
	r := found.(*run)
	r.freezeIfAbandoned()
	r.leave()
	r.mu.Lock()
	r.todos = append(r.todos, met{NotWritten: n, at: r.testLine(callers()), main: id == r.main})
	f := r.todoFailure()
	r.child.note(func(now *record) { now.Todo = &f })
	r.mu.Unlock()
	select {
	case r.reached <- struct{}{}:
	default: // the watcher knows already
	}
	return true
}

// todoFailure is the one line about the todos that were reached. Which came first may be chance, so it is the one on
// the test's own goroutine, or else the one to be written first. The caller holds r.mu.
func (r *run) todoFailure() failure.Failure {
	h := slices.MinFunc(r.todos, func(a, b met) int {
		switch {
		case a.main != b.main && a.main:
			return -1
		case a.main != b.main:
			return 1
		}
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Symbol, b.Symbol),
			cmp.Compare(a.at.String(), b.at.String()))
	})
	f := failure.Failure{
		Kind: failure.NotWritten, At: h.at, Problem: "called " + h.Symbol + ": not written yet",
		Task: r.task(), Read: read(h.Task),
		Todo: &failure.Todo{
			Symbol: h.Symbol, At: failure.Position{File: filepath.Base(h.File), Line: h.Line}, Task: h.Task,
			ComesFirst: h.Task < r.task(),
		},
	}
	if chapter, own := h.Chapter(), todo.Chapter(startDir); chapter != "" && own != "" && chapter != own {
		f.Problem = "called " + h.Symbol + " of " + chapter + ": not written yet"
		f.Why, f.Read = h.whyLayer(), chapter+"/README.md"
		f.Todo.Chapter, f.Todo.ComesFirst = chapter, false
	}
	return f
}

// whyLayer is about a todo in another chapter, whose layer the learner has chosen to run on.
func (h met) whyLayer() string {
	number, _, _ := strings.Cut(h.Chapter(), "-")
	why := fmt.Sprintf("The tests run on your layers, and chapter %s is not written yet. "+
		"To write it: go tool workshop %s.", h.Chapter(), number)
	if on := flag.Lookup("on"); on != nil && h.Layer() != "" {
		why += fmt.Sprintf(" To run on the finished layer: --on %s,%s=solutions.", on.Value, h.Layer())
	}
	return why
}

// Bonus skips the test of a bonus task that has not been begun: calling start, which needs the first thing to be
// written, meets a todo. A task that is named with -run Task6 counts as begun. Bonus is called before Test or Race.
func Bonus(t *testing.T, start func()) {
	t.Helper()
	pattern := flag.Lookup("test.run").Value.String()
	if task := taskOf(t.Name()); task > 0 && strings.Contains(pattern, fmt.Sprintf("Task%d", task)) {
		return
	}
	defer func() {
		if missing, ok := recover().(todo.NotWritten); ok { // any other panic is for the test to find
			t.Skipf("a bonus, not begun: %v", missing)
		}
	}()
	start()
}
