package guard

// This file is what a test calls on its T: the steps, and those methods of testing.T that must do more than usual. They
// note failures instead of printing them (see run.go), find the position themselves, and never touch a testing.T whose
// test has been reported and is over: that would panic.

import (
	"fmt"
	"runtime"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

// Did notes a step of the test, formatted at once, because what it shows may change. A failing test tells its last
// eight. Notes are for what the test does, not for what it sees.
func (t *T) Did(format string, args ...any) {
	t.run.did(fmt.Sprintf(format, args...))
}

// Story forgets the steps noted so far, and lets a failing test tell its last n from now on.
func (t *T) Story(n int) {
	t.run.locked(func() { t.run.steps, t.run.skipped, t.run.kept = nil, 0, n })
}

// Rule names the rule that the test checks from here on. A test with one rule gives it to Test alone.
func (t *T) Rule(format string, args ...any) {
	rule := fmt.Sprintf(format, args...)
	t.run.locked(func() { t.run.rule = rule })
	t.run.child.note(func(now *record) { now.Rule = rule })
}

// See notes the command that shows a recording of the test's run, for the failure to name it.
func (t *T) See(command string) {
	t.run.locked(func() { t.run.see = command })
}

// Errorf notes a failure and lets the test go on. What testify says is taken apart; anything else is passed on as it
// is.
func (t *T) Errorf(format string, args ...any) { t.note(fmt.Sprintf(format, args...)) }

// Error is Errorf without a format.
func (t *T) Error(args ...any) { t.note(fmt.Sprintln(args...)) }

// Fatalf is Errorf followed by FailNow.
func (t *T) Fatalf(format string, args ...any) {
	t.note(fmt.Sprintf(format, args...))
	t.FailNow()
}

// Fatal is Error followed by FailNow.
func (t *T) Fatal(args ...any) {
	t.note(fmt.Sprintln(args...))
	t.FailNow()
}

func (t *T) note(message string) {
	t.run.fail(fromMessage(message))
	t.Fail()
}

// Fail marks the test as failed and lets it go on.
func (t *T) Fail() {
	t.run.freezeIfAbandoned()
	t.T.Fail()
}

// FailNow marks the test as failed and ends the calling goroutine. On the test's own goroutine that ends the test.
func (t *T) FailNow() {
	t.run.freezeIfAbandoned()
	t.run.leave()
	t.T.FailNow()
}

// SkipNow marks the test as skipped and ends the calling goroutine. It must be the test's own.
func (t *T) SkipNow() {
	t.run.freezeIfAbandoned()
	t.T.SkipNow()
}

// Skip is Log followed by SkipNow.
func (t *T) Skip(args ...any) {
	t.Log(args...)
	t.SkipNow()
}

// Skipf is Logf followed by SkipNow.
func (t *T) Skipf(format string, args ...any) {
	t.Logf(format, args...)
	t.SkipNow()
}

// Log prints its arguments if the test fails, or with go test -v.
func (t *T) Log(args ...any) { t.log(fmt.Sprintln(args...)) }

// Logf is Log with a format.
func (t *T) Logf(format string, args ...any) { t.log(fmt.Sprintf(format, args...)) }

func (t *T) log(text string) {
	t.run.freezeIfAbandoned()
	text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ")
	var position failure.Position
	t.run.locked(func() { position = t.run.position() })
	fmt.Fprintf(t.T.Output(), "%s: %s\n", position, text)
}

// Cleanup registers f to run when the test's function has returned, the last one registered first, inside the bubble
// and guarded as the test itself is.
func (t *T) Cleanup(f func()) {
	t.T.Cleanup(func() { t.guarded(f, nil) })
}

// Helper marks the calling function as one whose lines say nothing: a failure in it is reported at the line of the test
// that called it.
func (t *T) Helper() {
	var pc [1]uintptr
	runtime.Callers(2, pc[:])
	t.run.locked(func() { t.run.helpers[pc[0]] = true }) // looked up only when something fails
}
