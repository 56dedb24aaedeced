package main

// This file is what one program shows: a machine or a recording, and a tour. It makes the messages for the pages.

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// session is shared by all pages. Any goroutine may call its methods.
type session struct {
	title string
	// start makes a new machine; nil if there is none.
	start func() (*machine, error)

	mu      sync.Mutex
	runs    []pipeline.Recording // that are shown: one, or a second one beside the first
	rec     *recorder.Recorder   // of the first run; nil for a recording
	machine *machine
	tour    *playing
	changed bool                // something other than the log
	differs pipeline.Difference // of two runs

	state *pipeline.State // followed by tick
	// followed is the last step that tick has seen, and news when it saw it.
	followed int64
	news     time.Time
}

// message is what a page receives. A page draws it and knows nothing else.
type message struct {
	Title   string          `json:"title"`
	View    *pipeline.State `json:"view"`
	Lines   []pipeline.Step `json:"lines"`
	Skipped int64           `json:"skipped"` // steps before Lines that are not in it
	First   int64           `json:"first"`
	Last    int64           `json:"last"`
	Live    bool            `json:"live"` // a machine, not a recording
	Gate    bool            `json:"gate"` // the gate and the actions can be used
	recorder.GateState
	Waiting []waiting            `json:"waiting"`
	Held    []string             `json:"held"`
	Tour    *playing             `json:"tour,omitempty"`
	Causes  []pipeline.Step      `json:"causes"` // of the step of View, which is the last of them
	Runs    []side               `json:"runs"`   // the two runs of a comparison, or none
	Open    int64                `json:"open,omitempty"`
	Key     string               `json:"key,omitempty"` // the object that is chosen at first
	Wrong   string               `json:"wrong,omitempty"`
	Differs *pipeline.Difference `json:"differs,omitempty"`
}

// side is one of two runs that are shown beside each other. View is nil for the first, whose view is the message's.
type side struct {
	Name string          `json:"name"`
	View *pipeline.State `json:"view,omitempty"`
}

// waiting is a goroutine at the gate.
type waiting struct {
	pipeline.Step
	Holds string `json:"holds,omitempty"`
}

// linesKept is how many lines a message has at most.
const linesKept = 20

// show shows a run that is recorded.
func (s *session) show(rec *recorder.Recorder) {
	s.rec, s.state, s.changed = rec, nil, true
	s.runs = []pipeline.Recording{{Log: rec.Log, Title: s.title}}
}

// restart replaces the machine by a new one.
func (s *session) restart() error {
	if s.machine != nil {
		s.machine.stop()
	}
	m, err := s.start()
	if err == nil {
		s.machine = m
		s.show(m.rec)
	}
	return err
}

// shown returns the runs that are shown.
func (s *session) shown() []pipeline.Recording {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs
}

// do carries out an order of a page.
func (s *session) do(o order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
	switch {
	case s.machine == nil:
		return errors.New("a recording and another program's informer can only be looked at")
	case o.Action == "restart all":
		s.tour = nil
		return s.restart()
	case strings.HasPrefix(o.Action, "tour "):
		return s.doTour(o)
	}
	return s.machine.do(o)
}

// tick follows the log, and returns a message if there is news since step n, or nil.
func (s *session) tick(n int64, always bool) *message {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, log := s.state, s.runs[0].Log
	if s.state = log.Follow(s.state); s.state != before || s.state.N != s.followed {
		s.news, s.followed = time.Now(), s.state.N
	}
	if s.rec != nil && (s.tour == nil || s.tour.Phase == "wait") { // a stop holds its moment
		s.state.Advance(log.Now())
	}
	s.holdMoment()
	if s.state.N == n && !s.changed && !always {
		return nil
	}
	s.changed = false
	m := s.message(s.state)
	m.Lines = pipeline.Lines(log.Steps(s.state.N, int(min(linesKept, max(0, s.state.N-n)))))
	m.Skipped = max(0, s.state.N-n-linesKept)
	return m
}

// at returns the message for an earlier step.
func (s *session) at(n int64) *message {
	log := s.shown()[0].Log
	state := log.At(n) // without mu: it takes a while, and the run goes on
	lines, causes := pipeline.Lines(log.Steps(state.N, linesKept)), pipeline.Lines(log.Causes(state.N))
	s.mu.Lock()
	m := s.message(state)
	s.mu.Unlock()
	m.Lines, m.Causes, m.Waiting = lines, causes, []waiting{}
	for kind, i := range m.View.Informers {
		if i.Reflector.Phase == "waiting" {
			i.Reflector.Wait = log.WaitOf(kind, n, i.Reflector.Since)
		}
	}
	return m
}

// way returns the last steps of a key in each run.
func (s *session) way(key string, n int64) (ways [][]pipeline.Step) {
	at := time.Duration(0)
	for i, run := range s.shown() {
		if i > 0 {
			n = run.Log.Until(at)
		}
		ways = append(ways, pipeline.Lines(run.Log.Way(key, n, 30)))
		for _, step := range run.Log.Steps(n, 1) {
			at = step.At
		}
	}
	return ways
}

// axis returns a part of the run, in milliseconds, as a time axis.
func (s *session) axis(from, to, columns int64) pipeline.Axis {
	return s.shown()[0].Log.Axis(time.Duration(from)*time.Millisecond, time.Duration(to)*time.Millisecond,
		min(int(columns), 1000))
}

// compare fills in the second run, and how the runs differ.
func (s *session) compare(m *message, state *pipeline.State) {
	other := s.runs[1].Log
	_, n := other.Range()
	if state.N != m.Last {
		n = other.Until(state.At)
	}
	m.Runs = []side{{name(s.runs[0].Title), nil}, {name(s.runs[1].Title), other.At(n).View()}}
	if d := s.differs; d.Seam != "" {
		m.Differs = &d
		d.Text = fmt.Sprintf("The runs differ from step %d on, at %s: for %s, %s has %s, and %s has %s.", d.Step,
			cmp.Or(d.By, seamNames[d.Seam]), strings.TrimSpace(d.Kind+" "+d.Key), m.Runs[0].Name, d.Here,
			m.Runs[1].Name, d.Elsewhere)
	}
}

// name returns the part of a title that says whose run it is.
func name(title string) string { return strings.TrimSpace(title[strings.LastIndex(title, ": ")+1:]) }

var seamNames = map[pipeline.Seam]string{pipeline.Server: "the API server", pipeline.Delta: "the queue of deltas",
	pipeline.Store: "the Indexer", pipeline.Queue: "the workqueue"}

// message returns a message without lines. The caller holds mu.
func (s *session) message(state *pipeline.State) *message {
	wrong := s.runs[0].Wrong
	m := &message{Title: s.title, View: state.View(), Live: s.rec != nil, Tour: s.tour.view(),
		Waiting: []waiting{}, Held: []string{}, Causes: []pipeline.Step{}, Runs: []side{},
		GateState: recorder.GateState{Breaks: []pipeline.Seam{}},
		Open:      cmp.Or(s.differs.Step, wrong.Step), Key: wrong.Key, Wrong: wrong.Text}
	m.First, m.Last = s.runs[0].Log.Range()
	if len(s.runs) > 1 {
		s.compare(m, state)
	}
	if s.machine != nil && s.machine.api != nil {
		m.Gate, m.GateState = true, s.rec.Gate.State()
		for _, step := range pipeline.Lines(m.GateState.Waiting) {
			m.Waiting = append(m.Waiting, waiting{step, holds(step)})
		}
		if s.rec.Workers.On() {
			m.Held = append(m.Held, "The workers are held.")
		}
		if s.rec.Consumer.On() {
			m.Held = append(m.Held, "The consumer of the deltas is held.")
		}
	}
	return m
}

// holds names the lock that a goroutine holds while it waits at the gate.
func holds(step pipeline.Step) string {
	if step.Seam == pipeline.Store || step.Seam == pipeline.Delta && step.Verb == pipeline.Pop {
		return "the lock of the queue of " + step.Kind + "s"
	}
	return ""
}

// lookFor is how long after the last step the real structures are looked at.
const lookFor = 2 * pipeline.InTime

// look compares the real structures with the state, if nothing has happened since the last tick.
func (s *session) look() {
	s.mu.Lock()
	state, rec := s.state, s.rec
	if rec == nil || state == nil || time.Since(s.news) > lookFor {
		s.mu.Unlock()
		return
	}
	state = state.Clone()
	s.mu.Unlock()
	rec.Look(state)
}

// abandoned opens the gate, because no page is left that could.
func (s *session) abandoned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine != nil {
		s.machine.free()
	}
	s.changed = true
}

// stop ends the machine.
func (s *session) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine != nil {
		s.machine.stop()
	}
}
