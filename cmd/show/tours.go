package main

// This file plays the guided tours, one for each chapter and one for the lab own-writes. They are data, in tours.json:
// a stop says something, may ask for a prediction, gives orders, and waits until all of its conditions hold. Then the
// gate is shut until the reader goes on, so that the moment stays.

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// tour is a list of stops on a new pipeline.
type tour struct {
	Name  string // the chapter's number, or the lab's name
	Title string
	Stops []stop
}

type stop struct {
	Seam    pipeline.Seam `json:"seam"` // where to look
	Say     string        `json:"say"`
	Ask     string        `json:"ask,omitempty"` // the prediction, if there is one
	Options []string      `json:"options"`       // the possible answers
	Right   int           `json:"right"`
	Answer  string        `json:"answer,omitempty"` // after the prediction
	Do      []order       `json:"do,omitempty"`
	Until   []string      `json:"until,omitempty"` // conditions, see conditions
}

// station is a layer of the pipeline, and what its chapter says about it. Its tour has the number of the chapter.
type station struct {
	Seam                        pipeline.Seam
	Number, Title, Folder, Text string
}

//go:embed tours.json
var data []byte

// stations are in the order in which a change passes them.
var stations, tours = func() ([]station, []tour) {
	var all struct {
		Stations []station
		Tours    []tour
	}
	if err := json.Unmarshal(data, &all); err != nil {
		panic(err)
	}
	return all.Stations, all.Tours
}()

// Tour returns the title of the chapter's tour.
func (s station) Tour() string {
	return tours[slices.IndexFunc(tours, func(t tour) bool { return t.Name == s.Number })].Title
}

// moment is a state, and the words of a condition after its name.
type moment struct {
	*pipeline.State
	informer *pipeline.Informer // of the Deployments
	key      string
	rest     string
}

// conditions are what a stop can wait for, by the first word.
var conditions = map[string]func(m moment) bool{
	"watching": func(m moment) bool { // both Reflectors, after the end of a list that comes as a watch
		n := 0
		for _, i := range m.Informers {
			if i.Reflector.Phase == "watching" && !i.Reflector.Streams {
				n++
			}
		}
		return n == 2
	},
	"reflector": func(m moment) bool { return m.informer.Reflector.Phase == strings.TrimPrefix(m.key, "default/") },
	"relisted":  func(m moment) bool { return m.informer.Reflector.Lists > 1 },
	"deltas":    func(m moment) bool { return fmt.Sprint(len(m.informer.FIFO.Deltas[m.key])) == m.rest },
	"popped":    func(m moment) bool { return len(m.informer.FIFO.Keys) == 0 },
	"stored":    func(m moment) bool { return "default/"+strconv.Itoa(len(m.informer.Store.Objects)) == m.key },
	"cached": func(m moment) bool { // the Indexer has the object with this note
		o, exists := m.informer.Store.Objects[m.key]
		return exists && strings.Contains(o.Note, m.rest)
	},
	"budget": func(m moment) bool { // the API server has the budget with this note, and the workers are idle
		o, exists := m.Server.Objects[recorder.Budget+" "+m.key]
		return exists && strings.Contains(o.Note, m.rest) && len(m.State.Queue.Processing) == 0
	},
	"silent": func(m moment) bool { // a watch of the budgets is open, and has brought nothing
		heard := m.Informers[recorder.Budget].Reflector.Heard
		for _, r := range m.Requests {
			if r.Kind == recorder.Budget && r.Code == http.StatusOK && r.Since > heard {
				return true
			}
		}
		return false
	},
	"idle":      func(m moment) bool { return len(m.State.Queue.Queue)+len(m.State.Queue.Processing) == 0 },
	"waits":     func(m moment) bool { return len(m.State.Queue.Waiting) > 0 },
	"taken":     func(m moment) bool { _, has := m.State.Queue.Processing[m.key]; return has },
	"dirty":     func(m moment) bool { return m.State.Queue.Again[m.key] },
	"forgotten": func(m moment) bool { return len(m.State.Queue.Failures) == 0 },
	"called":    func(m moment) bool { h := m.second(); return h != nil && h.Calls > 0 },
	"caught":    func(m moment) bool { h := m.second(); return h != nil && len(h.Pending) == 0 && h.Current.Key == "" },
	"left":      func(m moment) bool { return m.second() == nil },
}

func (m moment) second() *pipeline.HandlerState { return m.informer.Handlers["handler 2"] }

// over reports whether all conditions of a stop hold.
func (t stop) over(s *pipeline.State) bool {
	informer := s.Informers[recorder.Deployment]
	if informer == nil {
		return false
	}
	for _, text := range t.Until {
		name, rest, _ := strings.Cut(text, " ")
		key, rest, _ := strings.Cut(rest, " ")
		if !conditions[name](moment{s, informer, "default/" + key, rest}) {
			return false
		}
	}
	return true
}

// playing is a tour at one of its stops, as the page receives it.
type playing struct {
	stop
	Name  string `json:"name"`
	Title string `json:"title"`
	At    int    `json:"at"`
	Of    int    `json:"of"`
	Phase string `json:"phase"` // "ask", "wait", "done"
	Chose int    `json:"chose"`
	rest  []stop // after this one
	from  int64  // the step from which on the conditions count
}

// view returns the tour for the page. Until a prediction is made, it has no answer, and Right is -1.
func (t *playing) view() *playing {
	if t == nil {
		return nil
	}
	v := *t
	v.Options, v.Do, v.Until = append([]string{}, t.Options...), nil, nil
	if t.Phase != "done" {
		v.Right, v.Answer = -1, ""
	}
	return &v
}

// doTour starts a tour, goes on with it, or ends it. The caller holds mu.
func (s *session) doTour(o order) error {
	switch t := s.tour; {
	case o.Action == "tour start":
		return s.startTour(o.Name)
	case o.Action == "tour end":
		s.rec.Gate.Open(false)
		s.tour = nil
		return nil
	case t == nil:
		return errors.New("no tour has begun")
	case o.Action == "tour answer" && t.Phase == "ask":
		t.Chose = o.N
		return s.perform()
	case o.Action == "tour next" && t.Phase == "done":
		return s.next()
	}
	return fmt.Errorf("%s: the tour is not there yet", o.Action)
}

func (s *session) startTour(name string) error {
	at := slices.IndexFunc(tours, func(t tour) bool { return t.Name == name })
	if at < 0 {
		return fmt.Errorf("there is no tour %q: it is the number of a chapter, 01 to 07, or own-writes", name)
	}
	if s.machine.api == nil {
		return errors.New("a tour needs the API server in the process: start show without --kubeconfig")
	}
	if err := s.restart(); err != nil {
		return err
	}
	t := tours[at]
	s.tour = &playing{Name: t.Name, Title: t.Title, Of: len(t.Stops), rest: t.Stops}
	return s.next()
}

// next goes to the next stop, or ends the tour.
func (s *session) next() error {
	t := s.tour
	if len(t.rest) == 0 {
		return s.doTour(order{Action: "tour end"})
	}
	t.stop, t.rest = t.rest[0], t.rest[1:]
	t.At, t.Phase, t.Chose = t.At+1, "ask", -1
	if t.Ask == "" {
		return s.perform()
	}
	return nil
}

// perform opens the gate, does what a stop does, and waits.
func (s *session) perform() error {
	s.tour.Phase = "wait"
	s.rec.Gate.Open(false)
	for _, o := range s.tour.Do {
		if err := s.machine.do(o); err != nil {
			return err
		}
	}
	s.tour.from = s.rec.Step()
	return nil
}

// holdMoment shuts the gate if the stop of a tour is over.
func (s *session) holdMoment() {
	if t := s.tour; t != nil && t.Phase == "wait" && s.state.N >= t.from && t.over(s.state) {
		t.Phase, s.changed = "done", true
		s.rec.Gate.Pause()
	}
}
