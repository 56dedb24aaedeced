package guard

// This file tells a program that reads the failures where a test is that takes long, before there is a verdict on it.
// A test in a process of its own (Race) writes it into its journal, and its parent passes it on.

import (
	"slices"
	"time"

	"client-go-workshop/internal/testkit/failure"
)

const (
	placeAfter = 2 * time.Second // of a test, after which guard reports where it is,
	placeEvery = time.Second     // and how often at most
)

// tellPlace reports where the test is, if a program asked for failures as data and the place has changed.
func (w *watchdog) tellPlace(r *run, dump []goroutine) {
	if !asAttributes && r.child == nil || dump == nil || w.clock < placeAfter || w.clock-w.told < placeEvery {
		return
	}
	p, ok := r.place(dump)
	if !ok || p == w.place || r.settled() {
		return
	}
	w.place, w.told = p, w.clock
	if r.child != nil {
		r.child.note(func(now *record) { now.Place = &p })
		return
	}
	p.Emit(r.outer.Attr)
}

// place returns where the test is: the call that runs, or else the one that waits and is closest to the test.
func (r *run) place(dump []goroutine) (p failure.Place, ok bool) {
	all := r.waiters(dump)
	i := slices.IndexFunc(all, func(w waiter) bool { return w.isRunning() })
	if i < 0 {
		i = slices.IndexFunc(all, func(w waiter) bool { return !r.where.isTest(w.call) })
	}
	if i < 0 {
		return failure.Place{}, false
	}
	p = failure.Place{Call: all[i].call.short(r.where), At: at(all[i].call.file, all[i].call.line)}
	if !all[i].isRunning() {
		p.State = all[i].state
	}
	return p, true
}

// isRunning reports whether a goroutine runs, or could at once.
func (g goroutine) isRunning() bool {
	return g.state == "running" || g.state == "runnable" || g.state == "preempted"
}

// followJournal reports where the test in a process of its own is, until ended is closed.
func (r *run) followJournal(path string, ended <-chan struct{}) {
	if !asAttributes {
		return
	}
	tick := time.NewTicker(placeEvery / 2)
	defer tick.Stop()
	var last failure.Place
	for more := true; more; {
		select {
		case <-ended:
			more = false
		case <-tick.C:
		}
		if now, err := readJournal(path); err == nil && now.Place != nil && *now.Place != last {
			last = *now.Place
			last.Emit(r.outer.Attr)
		}
	}
}
