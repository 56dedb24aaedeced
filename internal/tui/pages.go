package tui

// This file is the pages with lists: all failures, and all keys.

import (
	"fmt"
	"slices"

	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui/style"
)

// everything is the page with all failures of the chapter.
func (m *Model) everything() (out []string) {
	if m.verdict == nil || len(m.verdict.Build) > 0 {
		return m.result(0)
	}
	todos := 0
	for _, t := range m.verdict.Tasks {
		for _, test := range t.Tests {
			written := slices.DeleteFunc(slices.Clone(test.Failures), func(f failure.Failure) bool { return f.Todo != nil })
			if len(written) < len(test.Failures) {
				todos++
			}
			for _, f := range written {
				out = append(append(out, style.Failure(f, m.width, 0)...), "")
			}
		}
	}
	if todos > 0 {
		out = append(out, style.Faint(failure.Count(todos, "test")+" failed because something is not written yet."))
	}
	if len(out) == 0 && !m.verdict.Green() {
		return m.result(0) // not everything has run
	}
	if len(out) == 0 {
		out = append(out, style.Good("Nothing fails."))
	}
	return out
}

func (m *Model) help() []string {
	out := append(m.wrap("A save runs the tests of the tasks up to yours, and then the others: briefly, then in full, "+
		"with go vet."), "")
	for _, b := range bindings {
		if b.keys == "" {
			continue
		}
		keys := b.keys
		for _, row := range style.Wrap(b.help, m.width-7) {
			out = append(out, "  "+style.Key(fmt.Sprintf("%-5s", keys))+row)
			keys = ""
		}
	}
	return slices.Concat(out, []string{""}, m.wrap(style.Legend),
		m.wrap("Saves are noticed by polling, five times a second."),
		m.wrap("The mouse is the terminal's own: select and copy as always."))
}
