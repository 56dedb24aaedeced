// Package failure is one failure of a test as a value: what was done, wanted and got, which rule was broken, and where.
//
// Package guard makes it inside the test binary. From there it goes two ways: as text, when a person runs go test
// (text.go), and as an attribute of the test, when the runner asks for it (attr.go). Everything that shows or judges a
// failure reads the fields of this struct; nothing reads the text.
//
// This package leaves out how a failure comes about (guard) and how it fits on a screen (tui/style). The learners'
// tests compile it, so it imports the standard library alone.
package failure

import (
	"fmt"
	"slices"
	"strconv"
)

// Kind says what sort of failure it is.
type Kind string

const (
	Assertion  Kind = "assertion"   // a value is not the one that the test wanted
	NotWritten Kind = "not written" // the test reached a part of the stub; see Failure.Todo
	Panic      Kind = "panic"       // the code panicked, or ended the goroutine that called it
	Hang       Kind = "hang"        // a call never returned
	Memory     Kind = "memory"      // the test took too much memory
	Leak       Kind = "leak"        // goroutines outlived the test
	Race       Kind = "race"        // two goroutines met in the same memory
	NotRun     Kind = "not run"     // the test was left out, because earlier ones ended badly
	Other      Kind = "other"       // the test said something that is none of these
)

// Failure is one thing that went wrong in a test. Every field but Kind and Problem may be empty.
type Failure struct {
	Test         string   `json:"test,omitempty"` // the test or subtest; the reader of the events fills it in
	Kind         Kind     `json:"kind"`
	At           Position `json:"at,omitzero"`            // the line of the test
	Code         Position `json:"code,omitzero"`          // for a panic, hang or leak: the line of the chapter's code
	Value        string   `json:"value,omitempty"`        // the name of what was compared: "keys under image=nginx"
	Problem      string   `json:"problem"`                // one line: "not equal", "(*Store).Get never returned"
	Rest         []string `json:"rest,omitempty"`         // more lines that belong to Problem, of no known form
	Did          []string `json:"did,omitempty"`          // the last steps of the test
	EarlierSteps int      `json:"earlierSteps,omitempty"` // how many steps came before Did
	Wanted       string   `json:"wanted,omitempty"`
	Got          string   `json:"got,omitempty"`
	Diff         string   `json:"diff,omitempty"`
	Why          string   `json:"why,omitempty"`  // the reason: the rule, or for a hang or a crash what helps more
	Rule         string   `json:"rule,omitempty"` // the rule that the test was at
	Task         int      `json:"task,omitempty"` // that the test belongs to; 0 if it belongs to none
	Read         string   `json:"read,omitempty"` // where the rule is explained: "05-indexer/README.md, task 2"
	See          string   `json:"see,omitempty"`  // the command that opens a recording of it
	Todo         *Todo    `json:"todo,omitempty"` // set when Kind is NotWritten
	More         int      `json:"more,omitempty"` // how many failures of the test came after this one and were not kept
}

// Todo is a function of the stub that is not written yet.
type Todo struct {
	Symbol     string   `json:"symbol"` // "Store.Update"
	At         Position `json:"at"`
	Task       int      `json:"task"`
	Chapter    string   `json:"chapter,omitempty"`    // the folder of its chapter, if the test is in another one
	ComesFirst bool     `json:"comesFirst,omitempty"` // its task comes before the task of the test
}

// Position is a line of a source file. File is the base name, or a full path after go test -fullpath.
type Position struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// String returns the position as compilers print it, "" for the zero Position.
func (p Position) String() string {
	if p.File == "" {
		return ""
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// SameAs reports whether g says nothing that f does not say. Steps do not count: they are those of the test.
func (f Failure) SameAs(g Failure) bool {
	return f.At == g.At && f.Value == g.Value && f.Problem == g.Problem && f.Wanted == g.Wanted && f.Got == g.Got &&
		f.Why == g.Why && slices.Equal(f.Rest, g.Rest)
}

// Headline returns the failure in one line, without its position: the value and the problem.
func (f Failure) Headline() string {
	if f.Value == "" {
		return f.Problem
	}
	return f.Value + ": " + f.Problem
}

// Part is one labelled part of a failure.
type Part struct {
	Label string // "did", "wanted", "got", "diff", "why", "read" or "see"
	Text  string // of one or more lines
}

// Parts returns the parts that are not empty, in the order in which a reader needs them.
func (f Failure) Parts() (parts []Part) {
	steps := ""
	if f.EarlierSteps > 0 {
		steps = "… " + Count(f.EarlierSteps, "earlier step")
	}
	for _, step := range f.Did {
		if steps != "" {
			steps += "\n"
		}
		steps += step
	}
	for _, p := range []Part{
		{"did", steps}, {"wanted", f.Wanted}, {"got", f.Got}, {"diff", f.Diff}, {"why", f.Why}, {"read", f.Read},
		{"see", f.See},
	} {
		if p.Text != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// Count returns a number with its noun: "1 step", "2 steps".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
