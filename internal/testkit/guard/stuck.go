package guard

// This file reports goroutines that cannot go on: calls that never returned, and goroutines that outlive their test. It
// says who waits, in which call of the chapter, and in what. Locks have a file of their own.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

const waitersShown = 6

// waiter is a goroutine of the test, and the call in it that matters.
type waiter struct {
	goroutine
	call  frame
	whose int // lower is closer to the test
}

const (
	testsOwn    = iota // the goroutine of the test's function
	testsHelper        // started by the test, with Go or otherwise
	codesOwn           // started by the code under test
)

// waiters picks those goroutines of a dump that belong to the test, closest to the test first.
func (r *run) waiters(dump []goroutine) []waiter {
	members := r.members(dump)
	code := r.where.isCode
	if !slices.ContainsFunc(members, func(g goroutine) bool { return slices.ContainsFunc(g.frames, code) }) {
		code = r.where.isForeign
	}
	var main int
	r.locked(func() { main = r.main })
	var out []waiter
	for _, g := range members {
		w := waiter{goroutine: g, whose: codesOwn}
		switch _, inTest := r.where.inTest(g.frames); {
		case g.id == main:
			w.whose = testsOwn
		case inTest || r.where.isTest(g.created):
			w.whose = testsHelper
		}
		call, ok := first(g.frames, code, r.where.isOwn, r.where.isTest)
		if !ok {
			call, ok = g.entry()
		}
		if w.call = call; ok {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b waiter) int {
		return cmp.Or(cmp.Compare(a.whose, b.whose), cmp.Compare(a.id, b.id))
	})
	return out
}

// entry is the function that a goroutine began with, for those that are all in the standard library. It is none for the
// goroutines that synctest and this package make.
func (g goroutine) entry() (frame, bool) {
	if pkg := packageOf(g.created.function); pkg == "testing/synctest" || pkg == guardPackage {
		return frame{}, false
	}
	for _, f := range slices.Backward(g.frames) {
		if pkg := packageOf(f.function); pkg != "sync" && pkg != guardPackage { // WaitGroup.Go, and Go
			return f, true
		}
	}
	return frame{}, false
}

// is says where a goroutine is and what it does there.
func (r *run) is(w waiter) string {
	switch {
	case w.isRunning():
		return w.call.at(r.where) + ", running"
	case w.state == "sleep":
		return w.call.at(r.where) + ", sleeping"
	}
	return w.call.at(r.where) + ", waiting in " + w.state
}

// list says of each of several what say says, a line each; equal lines are counted.
func (r *run) list(all []waiter, say func(w waiter) string) string {
	var lines []string
	counts := map[string]int{}
	for _, w := range all {
		line := say(w)
		if counts[line]++; counts[line] == 1 {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		if n := counts[line]; n > 1 {
			lines[i] += fmt.Sprintf(" (%s)", failure.Count(n, "goroutine"))
		}
	}
	return capLines(strings.Join(lines, "\n"), waitersShown)
}

// lineOf is the line of the test that a goroutine is at, or was started at.
func (r *run) lineOf(w waiter) failure.Position {
	if r.where.isTest(w.created) {
		return r.testLine(append(slices.Clone(w.frames), w.created))
	}
	return r.testLine(w.frames)
}

// neverReturned reports the call that never returned. The call that the test waits for gives the failure its name, not
// a goroutine of the code, which may wait for work for good reason. The rule is the one that the test checks now.
func (r *run) neverReturned(dump []goroutine, reason string) {
	f := failure.Failure{
		Kind: failure.Hang, At: r.start, Problem: "the test never ended", Wanted: "the test comes to its end", Got: reason,
	}
	all := r.waiters(dump)
	for _, w := range all {
		if w.whose == codesOwn || r.where.isTest(w.call) {
			continue
		}
		f.At, f.Problem = r.lineOf(w), w.call.short(r.where)+" never returned"
		f.Wanted, f.Code = w.call.short(r.where)+" returns", r.where.codeLine(w.call)
		break
	}
	if len(all) > 0 {
		if all[0].whose != codesOwn {
			f.At = r.lineOf(all[0])
		}
		f.Got = strings.TrimSuffix(r.list(all, r.is)+"\n"+reason, "\n")
	}
	r.fail(f)
}

// leftBehind says which goroutines are still there though the test is over.
func (r *run) leftBehind(dump []goroutine) {
	all := r.waiters(dump)
	f := failure.Failure{
		Kind:    failure.Leak,
		At:      r.start,
		Problem: "left behind: goroutines",
		Wanted:  "no goroutine is left when the test is over",
		Why: "A goroutine ends with the thing that started it: " +
			"in a program that runs for weeks, leaked goroutines add up.",
	}
	if len(all) > 0 {
		w := all[0]
		f.Code = r.where.codeLine(w.call)
		f.Problem = fmt.Sprintf("left behind: goroutine waiting in %s, %s", w.call.at(r.where), r.startedAt(w))
	}
	if len(all) > 1 {
		f.Problem += fmt.Sprintf(", and %d more", len(all)-1)
	}
	f.Got = r.list(all, func(w waiter) string { return r.is(w) + ", " + r.startedAt(w) })
	r.fail(f)
}

func (r *run) startedAt(w waiter) string {
	return fmt.Sprintf("started at %s by %s", at(w.created.file, w.created.line), w.created.short(r.where))
}

// bubblePanicked notes what synctest.Test panicked with, on the goroutine that called it.
func (r *run) bubblePanicked(v any) {
	settled := r.settled()
	r.abandoned.Store(true)
	message := fmt.Sprint(v)
	switch {
	case settled:
	case !strings.HasPrefix(message, "deadlock:"): // synctest was used in a way that it refuses
		r.fail(failure.Failure{Kind: failure.Other, At: r.start, Problem: message})
	case r.mainDone.Load():
		r.leftBehind(allGoroutines())
	default:
		r.neverReturned(allGoroutines(), "")
	}
}

// outOfTime runs inside the bubble when its clock has reached the limit: either nothing can go on, so that the clock
// ran there at once, or only things that start again and again do. Without the limit synctest would notice a deadlock
// itself, but only once no other timer is left: with a ticker in the code under test, a bubble that is stuck would race
// through simulated time forever.
func (r *run) outOfTime() {
	id, _ := self()
	r.dump = slices.DeleteFunc(allGoroutines(), func(g goroutine) bool { return g.id == id })
	close(r.stuck)
	<-r.frozen // stops the clock, so that tickers left behind cost nothing
}
