package recorder

// This file holds goroutines: every seam, or some of them.

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"client-go-workshop/internal/testkit/pipeline"
)

// Gate is open at first. While it is shut, each goroutine waits before its next step is recorded. Any goroutine may
// call its methods.
type Gate struct {
	armed atomic.Bool // false is the usual case: wait returns at once

	mu      sync.Mutex
	opened  time.Time
	paused  bool
	breaks  map[pipeline.Seam]bool
	until   func(pipeline.Step) bool
	waiting []*waiter
}

type waiter struct {
	step pipeline.Step
	pass chan struct{}
}

// wait returns when the step may be recorded.
func (g *Gate) wait(step *pipeline.Step) {
	if g.armed.Load() {
		g.hold(*step)
	}
}

func (g *Gate) hold(step pipeline.Step) {
	g.mu.Lock()
	if g.until != nil && g.until(step) {
		g.paused, g.until = true, nil
	}
	if !g.paused && !g.breaks[step.Seam] {
		g.mu.Unlock()
		return
	}
	w := &waiter{step, make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	<-w.pass
}

// Pause shuts the gate for all seams.
func (g *Gate) Pause() { g.change(func() { g.paused, g.until = true, nil }) }

// Open lets all goroutines go. It also removes the breakpoints, if that is wanted.
func (g *Gate) Open(breakpoints bool) {
	g.change(func() {
		g.paused, g.until = false, nil
		if breakpoints {
			clear(g.breaks)
		}
		g.release(everything)
	})
}

// Step lets the goroutine go that has waited longest. It reports whether there is one.
func (g *Gate) Step() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return false
	}
	close(g.waiting[0].pass)
	g.waiting = g.waiting[1:]
	return true
}

// Until lets all goroutines go, and pauses before the next step that matches.
func (g *Gate) Until(match func(pipeline.Step) bool) {
	g.change(func() {
		g.paused, g.until = false, match
		g.release(everything)
	})
}

// Break sets or removes a breakpoint: goroutines wait at this seam.
func (g *Gate) Break(seam pipeline.Seam, on bool) {
	g.change(func() {
		if g.breaks == nil {
			g.breaks = map[pipeline.Seam]bool{}
		}
		if g.breaks[seam] = on; !on {
			delete(g.breaks, seam)
		}
		if !on && !g.paused {
			g.release(func(step pipeline.Step) bool { return step.Seam == seam })
		}
	})
}

// release lets the goroutines go whose steps match. The caller holds mu.
func (g *Gate) release(match func(pipeline.Step) bool) {
	g.waiting = slices.DeleteFunc(g.waiting, func(w *waiter) bool {
		if match(w.step) {
			close(w.pass)
			return true
		}
		return false
	})
}

func everything(pipeline.Step) bool { return true }

// change changes the gate, and notes whether wait has to look.
func (g *Gate) change(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	armed := g.paused || g.until != nil || len(g.breaks) > 0
	if g.armed.Swap(armed) && !armed {
		g.opened = time.Now()
	}
}

// GateState is a gate at one moment.
type GateState struct {
	Paused  bool
	Running bool // towards the end of Until
	Breaks  []pipeline.Seam
	Waiting []pipeline.Step // the oldest first
}

// State returns the state of the gate.
func (g *Gate) State() GateState {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := GateState{Paused: g.paused, Running: g.until != nil}
	for _, seam := range pipeline.Seams {
		if g.breaks[seam] {
			s.Breaks = append(s.Breaks, seam)
		}
	}
	for _, w := range g.waiting {
		s.Waiting = append(s.Waiting, w.step)
	}
	return s
}

// Shut reports whether a goroutine waits, or would wait.
func (g *Gate) Shut() bool { return g.armed.Load() }

// openFor reports whether the gate has been open for so long.
func (g *Gate) openFor(d time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.Shut() && time.Since(g.opened) >= d
}
