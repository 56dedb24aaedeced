package recorder

// This file holds goroutines: at every seam, at some of them, or in the workers or the consumers of deltas.

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
	mu      sync.Mutex
	opened  time.Time
	paused  bool
	breaks  []pipeline.Seam
	until   func(pipeline.Step) bool
	waiting []waiter
}

type waiter struct {
	step pipeline.Step
	pass chan struct{}
}

// wait returns when the step may be recorded.
func (g *Gate) wait(step *pipeline.Step) {
	g.mu.Lock()
	if g.until != nil && g.until(*step) {
		g.paused, g.until = true, nil
	}
	if !g.paused && !slices.Contains(g.breaks, step.Seam) {
		g.mu.Unlock()
		return
	}
	w := waiter{*step, make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	<-w.pass
}

// Pause shuts the gate for all seams.
func (g *Gate) Pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused, g.until = true, nil
}

// Open lets all goroutines go. It also removes the breakpoints, if that is wanted.
func (g *Gate) Open(breakpoints bool) {
	g.mu.Lock()
	if breakpoints {
		g.breaks = nil
	}
	g.mu.Unlock()
	g.Until(nil)
}

// Until lets all goroutines go, and pauses before the next step that matches. Nil matches no step.
func (g *Gate) Until(match func(pipeline.Step) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused, g.until = false, match
	g.release(func(waiter) bool { return true })
}

// Step lets the goroutine go that has waited longest.
func (g *Gate) Step() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		close(g.waiting[0].pass)
		g.waiting = g.waiting[1:]
	}
}

// Break sets or removes a breakpoint: goroutines wait at this seam.
func (g *Gate) Break(seam pipeline.Seam, on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaks = slices.DeleteFunc(g.breaks, func(s pipeline.Seam) bool { return s == seam })
	if on {
		g.breaks = append(g.breaks, seam)
	} else {
		g.release(func(w waiter) bool { return w.step.Seam == seam && !g.paused })
	}
}

// release lets some of the goroutines go. The caller holds mu.
func (g *Gate) release(some func(waiter) bool) {
	g.opened = time.Now()
	g.waiting = slices.DeleteFunc(g.waiting, func(w waiter) bool {
		if some(w) {
			close(w.pass)
			return true
		}
		return false
	})
}

// GateState is a gate at one moment.
type GateState struct {
	Paused  bool            `json:"paused"`
	Running bool            `json:"running"` // towards the end of Until
	Breaks  []pipeline.Seam `json:"breaks"`
	Waiting []pipeline.Step `json:"waiting"` // the oldest first
}

// State returns the state of the gate.
func (g *Gate) State() GateState {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := GateState{Paused: g.paused, Running: g.until != nil, Breaks: append([]pipeline.Seam{}, g.breaks...)}
	for _, w := range g.waiting {
		s.Waiting = append(s.Waiting, w.step)
	}
	return s
}

// openFor reports whether the gate has been open for so long.
func (g *Gate) openFor(d time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.paused && g.until == nil && len(g.breaks) == 0 && time.Since(g.opened) >= d
}

// Hold holds goroutines before their next step, whatever the gate does. It is open at first.
type Hold struct {
	shut    atomic.Bool
	passing sync.RWMutex
}

// Set shuts or opens it. Two calls must not run at the same time.
func (h *Hold) Set(shut bool) {
	switch was := h.shut.Swap(shut); {
	case shut && !was:
		h.passing.Lock()
	case !shut && was:
		h.passing.Unlock()
	}
}

// On reports whether it is shut.
func (h *Hold) On() bool { return h.shut.Load() }

// wait returns when it is open.
func (h *Hold) wait() {
	if h.On() {
		h.passing.RLock()
		defer h.passing.RUnlock()
	}
}
