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
	log     *pipeline.Log
	rec     *recorder.Recorder // nil for a recording
	machine *machine
	tour    *playing
	changed bool // something other than the log

	// Of a recording. A second one is shown beside the first.
	recorded []pipeline.Recording
	wrong    pipeline.Wrong
	differs  pipeline.Difference

	state *pipeline.State // followed by tick
	// followed is the last step that tick has seen, and news when it saw it.
	followed int64
	news     time.Time
}

// message is what a page receives. A page draws it and knows nothing else.
type message struct {
	Title   string          `json:"title"`
	View    pipeline.View   `json:"view"`
	Lines   []pipeline.Line `json:"lines"`
	Skipped int64           `json:"skipped"` // steps before Lines that are not in it
	First   int64           `json:"first"`
	Last    int64           `json:"last"`
	Live    bool            `json:"live"` // a machine, not a recording
	Gate    bool            `json:"gate"` // the gate and the actions can be used
	Paused  bool            `json:"paused"`
	Running bool            `json:"running"`
	Breaks  []pipeline.Seam `json:"breaks"`
	Waiting []waiting       `json:"waiting"`
	Held    []string        `json:"held"`
	Tour    *tourView       `json:"tour,omitempty"`
	Causes  []pipeline.Line `json:"causes"` // of the step of View, which is the last of them
	Runs    []side          `json:"runs"`   // the two runs of a comparison, or none
	Open    int64           `json:"open,omitempty"`
	Key     string          `json:"key,omitempty"` // the object that is chosen at first
	Wrong   string          `json:"wrong,omitempty"`
	Differs *difference     `json:"differs,omitempty"`
}

// side is one of two runs that are shown beside each other. View is nil for the first, whose view is the message's.
type side struct {
	Name string         `json:"name"`
	Last int64          `json:"last"`
	View *pipeline.View `json:"view,omitempty"`
}

// difference is the first lasting difference of two runs.
type difference struct {
	pipeline.Difference
	Text string `json:"text"`
}

// waiting is a goroutine at the gate.
type waiting struct {
	pipeline.Line
	Holds string `json:"holds,omitempty"`
}

// tourView is a stop of a tour for the page. Until its prediction is made, it has no answer, and Right is -1.
type tourView struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	At    int    `json:"at"`
	Of    int    `json:"of"`
	stop
	Phase string `json:"phase"`
	Chose int    `json:"chose"`
}

// linesKept is how many lines a message has at most.
const linesKept = 20

// restart replaces the machine by a new one.
func (s *session) restart() error {
	if s.machine != nil {
		s.machine.stop()
	}
	m, err := s.start()
	if err != nil {
		return err
	}
	s.machine, s.rec, s.log, s.state, s.changed = m, m.rec, m.rec.Log, nil, true
	return nil
}

// do carries out an order of a page.
func (s *session) do(o order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
	kind, _, _ := strings.Cut(o.Action, " ")
	switch {
	case s.machine == nil:
		return errors.New("a recording and another program's informer can only be looked at")
	case o.Action == "restart all":
		s.tour = nil
		return s.restart()
	case kind == "tour":
		return s.doTour(o)
	}
	return s.machine.do(o)
}

// tick follows the log, and returns a message if there is news since step n, or nil.
func (s *session) tick(n int64, always bool) *message {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.state
	if s.state = s.log.Follow(s.state); s.state != before || s.state.N != s.followed {
		s.news, s.followed = time.Now(), s.state.N
	}
	if s.rec != nil && (s.tour == nil || s.tour.phase == "wait") { // a stop holds its moment
		s.state.Advance(s.log.Now())
	}
	s.holdMoment()
	if s.state.N == n && !s.changed && !always {
		return nil
	}
	s.changed = false
	m := s.message(s.state)
	m.Lines = pipeline.Lines(s.log.Steps(s.state.N, int(min(linesKept, max(0, s.state.N-n)))))
	m.Skipped = max(0, s.state.N-n-linesKept)
	return m
}

// at returns the message for an earlier step.
func (s *session) at(n int64) *message {
	s.mu.Lock()
	log := s.log
	s.mu.Unlock()
	state := log.At(n) // without mu: it takes a while, and the run goes on
	lines, causes := pipeline.Lines(log.Steps(state.N, linesKept)), pipeline.Lines(log.Causes(state.N))
	s.mu.Lock()
	m := s.message(state)
	s.mu.Unlock()
	m.Lines, m.Causes = lines, causes
	for i, view := range m.View.Informers {
		if view.Phase == "waiting" {
			since := state.Informers[view.Kind].Reflector.Since
			m.View.Informers[i].Of = log.WaitOf(view.Kind, n, since).Milliseconds()
		}
	}
	m.Waiting = []waiting{}
	return m
}

// way returns the last steps of a key in each run.
func (s *session) way(key string, n int64) [][]pipeline.Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	ways := [][]pipeline.Line{pipeline.Lines(s.log.Way(key, n, 30))}
	if len(s.recorded) > 1 {
		other, at := s.recorded[1].Log, time.Duration(0)
		for _, step := range s.log.Steps(n, 1) {
			at = step.At
		}
		ways = append(ways, pipeline.Lines(other.Way(key, other.Until(at), 30)))
	}
	return ways
}

// axis returns a part of the run, in milliseconds, as a time axis.
func (s *session) axis(from, to, columns int64) pipeline.Axis {
	s.mu.Lock()
	log := s.log
	s.mu.Unlock()
	return log.Axis(time.Duration(from)*time.Millisecond, time.Duration(to)*time.Millisecond, min(int(columns), 1000))
}

// compare fills in what a recording has beside its log.
func (s *session) compare(m *message, state *pipeline.State) {
	m.Open, m.Key, m.Wrong = cmp.Or(s.differs.Step, s.wrong.Step), s.wrong.Key, s.wrong.Text
	if len(s.recorded) < 2 {
		return
	}
	other := s.recorded[1].Log
	n := other.Until(state.At)
	if state.N == m.Last {
		_, n = other.Range()
	}
	view := other.At(n).View()
	_, last := other.Range()
	m.Runs = []side{{name(s.recorded[0].Title), m.Last, nil}, {name(s.recorded[1].Title), last, &view}}
	if d := s.differs; d.Seam != "" {
		what := strings.TrimSpace(d.Kind + " " + d.Key)
		m.Differs = &difference{d, fmt.Sprintf("The runs differ from step %d on, at %s: for %s, %s has %s, and %s has %s.",
			d.Step, cmp.Or(d.By, seamNames[d.Seam]), what, m.Runs[0].Name, d.Here, m.Runs[1].Name, d.Elsewhere)}
	}
}

// name returns the part of a title that says whose run it is.
func name(title string) string { return strings.TrimSpace(title[strings.LastIndex(title, ": ")+1:]) }

var seamNames = map[pipeline.Seam]string{pipeline.Server: "the API server", pipeline.Delta: "the queue of deltas",
	pipeline.Store: "the Indexer", pipeline.Queue: "the workqueue"}

// message returns a message without lines. The caller holds mu.
func (s *session) message(state *pipeline.State) *message {
	m := &message{Title: s.title, View: state.View(), Breaks: []pipeline.Seam{}, Waiting: []waiting{}, Held: []string{},
		Causes: []pipeline.Line{}, Runs: []side{}}
	m.First, m.Last = s.log.Range()
	m.Live = s.rec != nil
	s.compare(m, state)
	if s.machine != nil && s.machine.api != nil {
		m.Gate = true
		gate := s.rec.Gate.State()
		m.Paused, m.Running = gate.Paused, gate.Running
		m.Breaks = append(m.Breaks, gate.Breaks...)
		for _, step := range gate.Waiting {
			m.Waiting = append(m.Waiting, waiting{step.Line(), holds(step)})
		}
		if s.machine.workers.on {
			m.Held = append(m.Held, "The workers are held.")
		}
		if s.machine.consumer.on {
			m.Held = append(m.Held, "The consumer of the deltas is held.")
		}
	}
	if t := s.tour; t != nil {
		stop := t.stop()
		stop.Options, stop.Do, stop.Until = append([]string{}, stop.Options...), nil, nil
		if t.phase != "done" {
			stop.Right, stop.Answer = -1, ""
		}
		m.Tour = &tourView{t.tour.Name, t.tour.Title, t.at + 1, len(t.tour.Stops), stop, t.phase, t.chose}
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
