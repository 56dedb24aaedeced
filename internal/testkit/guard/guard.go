// Package guard is what every chapter test starts with. It runs the test in a synctest bubble and turns every bad end
// of the code under test into one short failure of that test, so that the other tests of the binary go on:
//
//	what happens                                    what is reported                        file
//	a todo of the stub is reached                   called X: not written yet               todos.go
//	an assertion fails                              did, wanted, got, why, read             testify.go
//	a panic                                         the calls that are the chapter's        panics.go
//	nothing in the bubble can ever go on            X never returned                        stuck.go
//	goroutines outlive the test                     left behind: goroutine waiting in …     stuck.go
//	a deadlock on a lock (a bubble can't see it)    the calls that wait, and those inside    watchdog.go, locks.go
//	an endless loop                                 X is still running                      watchdog.go
//	goroutines meet in the same memory (Race)       the two calls that met                  race.go, crash.go
//	a panic that nothing can recover (Apart)        its message, and the rule               race.go, crash.go
//	a panic that must end the program does not      the program goes on after a panic       race.go, crash.go
//
// How it is built: the bubble runs on a goroutine of its own, and the test's goroutine stays outside, in real time, and
// watches. Whatever goes wrong is only noted (run.go), and printed when the test is over, because the first thing that
// goes wrong is often not the cause: a todo reached by a background goroutine makes an assertion fail elsewhere.
//
// What it leaves out: a panic on a goroutine that the code under test started itself, and what the runtime calls fatal
// (unlocking an unlocked mutex, a stack overflow), end the test binary. A Go program cannot prevent that; only Race and
// Apart, which run a test in a process of its own, can report it.
package guard

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// T is the testing.T of a guarded test, and can be given to testify. Its methods may be called from any goroutine that
// the test or the code under test started. Run, Parallel and Deadline must not be called, as in any synctest bubble.
type T struct {
	*testing.T
	run        *run
	goroutines sync.WaitGroup // those started by Go
}

// Test runs f in a synctest bubble. The rule is what f checks: the failure of an assertion and of a call that never
// returns says it. T.Rule names another one in the middle of a test. Test returns when f, its cleanups, and every
// goroutine they started have ended, or when it is clear that they never will: then it fails the test, says why, and
// leaves them behind where they are.
//
// It must be called on the test's own goroutine, before anything that is to be guarded. Inside t.Run it works as well.
// As after t.FailNow, nothing that follows Test runs if the test has failed or was skipped.
func Test(t *testing.T, rule string, f func(t *T)) {
	collectLess()
	if r := newRun(t, rule); !r.pointless() {
		r.conduct(func() { r.inBubble(f) })
	}
}

// conduct runs the test on a goroutine of its own, watches it, and reports how it ended.
func (r *run) conduct(test func()) {
	defer r.close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test()
	}()
	r.watch(ended)
	r.report()
}

// inBubble runs the test's function in a bubble.
func (r *run) inBubble(f func(t *T)) {
	defer func() {
		if v := recover(); v != nil {
			r.bubblePanicked(v)
		}
	}()
	synctest.Test(r.outer, func(inner *testing.T) { r.body(inner, f) })
}

// body is the goroutine of the test's function; inner is the testing.T that belongs to it.
func (r *run) body(inner *testing.T, f func(t *T)) {
	t := &T{T: inner, run: r}
	r.enter(t)
	// Race has no bubble, and never reaches the limit.
	limit := time.AfterFunc(simulatedLimit, r.outOfTime)
	inner.Cleanup(func() { // registered first, so it runs last
		t.goroutines.Wait()
		limit.Stop()
		r.freezeIfAbandoned()
		r.mainDone.Store(true)
	})
	defer r.bodyDone.Store(true)
	t.guarded(func() { f(t) }, inner.FailNow)
}

// Go runs f on a goroutine of its own, inside the bubble and guarded as the test itself is. It does not block. The test
// waits for f to end, after its cleanups and with its context cancelled; if f never ends, the test fails.
func (t *T) Go(f func()) {
	t.goroutines.Go(func() { t.guarded(f, nil) })
}

// guarded runs f and notes how it ended. If f did not return, ended is called (unless it is nil), on f's goroutine.
func (t *T) guarded(f func(), ended func()) {
	returned := false
	defer func() {
		v := recover()
		t.run.freezeIfAbandoned()
		switch {
		case returned:
			return
		case v != nil:
			t.run.panicked(v)
		case !t.run.leaves() && !t.Skipped() && !t.Failed():
			// Under testing itself this would be a panic that ends the test binary.
			t.run.exited()
		}
		if ended != nil && !t.Skipped() {
			ended()
		}
	}()
	f()
	returned = true
}
