package pipeline

// This file is the state after some steps. State.Apply is the only function that changes it.

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// State is a pipeline at one moment. The zero value is not usable; NewState makes one. A View has some fields more,
// which a recording does not have.
type State struct {
	N         int64                  `json:"n"` // the last step
	At        time.Duration          `json:"at"`
	Server    ServerState            `json:"server"`
	Requests  map[int64]RequestState `json:"requests"`
	Finished  []RequestState         `json:"finished"` // the last ones, oldest first
	Informers map[string]*Informer   `json:"informers"`
	Queue     WorkQueue              `json:"queue"`
	Workers   map[string]WorkerState `json:"workers"`
	Unwritten string                 `json:"unwritten,omitempty"` // the first such function that was reached
	Counts    map[Seam]int64         `json:"counts"`
}

// ServerState is what is known about the API server.
type ServerState struct {
	Version string            `json:"version"`
	Objects map[string]Object `json:"objects"` // by kind and key: "Deployment default/web"
	Down    bool              `json:"down"`
	Last    string            `json:"last,omitempty"`  // the last thing that was done to it
	Total   int               `json:"total,omitempty"` // of a View: how many objects there are
}

// Object is one version of an object.
type Object struct {
	Kind    string `json:"kind"`
	Key     string `json:"key"`
	Version string `json:"version"`
	Note    string `json:"note,omitempty"`
}

// RequestState is a request. Code is 0 before its answer, and after an error without one.
type RequestState struct {
	Kind  string        `json:"kind"`
	Text  string        `json:"text"`
	Error string        `json:"error,omitempty"`
	Since time.Duration `json:"since"` // when it was sent, or when it ended
	Code  int           `json:"code,omitempty"`
	// Of a watch: the bytes and frames that have arrived, and the bytes of a frame that has not ended.
	Streams bool `json:"streams"`
	Bytes   int  `json:"bytes"`
	Partial int  `json:"partial"`
	Frames  int  `json:"frames"`
}

// WorkerState is a goroutine of the controller. Key is empty while it waits in Get.
type WorkerState struct {
	Name  string        `json:"name"`
	Key   string        `json:"key,omitempty"`
	Doing string        `json:"doing"`
	Since time.Duration `json:"since"`
}

// finishedKept is how many requests that have ended a State has at most.
const finishedKept = 5

// NewState returns the state before the first step.
func NewState() *State { return (&State{}).Clone() }

// Clone returns a copy that shares nothing that Apply changes. No map of it is nil, even if it comes from a file.
func (s *State) Clone() *State {
	c := *s
	c.Server.Objects = copyMap(s.Server.Objects)
	c.Requests, c.Counts, c.Workers = copyMap(s.Requests), copyMap(s.Counts), copyMap(s.Workers)
	c.Finished, c.Queue = slices.Clone(s.Finished), s.Queue.clone()
	c.Informers = map[string]*Informer{}
	for kind, i := range s.Informers {
		if i != nil {
			c.Informers[kind] = i.clone()
		}
	}
	return &c
}

// copyMap returns a copy of a map, which is never nil.
func copyMap[K comparable, V any](m map[K]V) map[K]V {
	c := make(map[K]V, len(m))
	maps.Copy(c, m)
	return c
}

// Apply changes the state by one step. It must receive each step of a log once, in order.
func (s *State) Apply(step *Step) {
	s.N, s.At = step.N, step.At
	s.Counts[step.Seam]++
	s.Queue.advance(step.At)
	switch step.Seam {
	case Server:
		s.applyServer(step)
	case Request, Stream:
		s.applyRequest(step)
	case Event, Reflector, Delta, Store, Handler:
		if step.Kind != "" {
			s.informer(step.Kind).apply(step)
		}
	case Queue:
		s.Queue.apply(step)
		s.applyWorker(step)
	case Worker:
		s.applyWorker(step)
	case Note:
		if step.Verb == Unwritten {
			s.Unwritten = cmp.Or(s.Unwritten, step.Text)
		}
	}
}

// Advance moves the clock of the state without a step: waiting keys become due.
func (s *State) Advance(at time.Duration) {
	s.At = max(s.At, at)
	s.Queue.advance(s.At)
}

// informer returns the informer of a kind, and makes it at the kind's first step.
func (s *State) informer(kind string) *Informer {
	i := s.Informers[kind]
	if i == nil {
		i = (&Informer{Kind: kind}).clone()
		s.Informers[kind] = i
	}
	return i
}

func (s *State) applyServer(step *Step) {
	if step.Verb == Did {
		s.Server.Last = step.Text
		if step.Text == "down" || step.Text == "up" {
			s.Server.Down = step.Text == "down"
		}
		return
	}
	if newer(step.Version, s.Server.Version) {
		s.Server.Version = step.Version
	}
	if step.Key == "" {
		return
	}
	if i := s.Informers[step.Kind]; i != nil {
		i.Behind[step.Key] = append(slices.Clone(i.Behind[step.Key]), Ref{step.Verb, step.Key, step.Version})
	}
	at := step.Kind + " " + step.Key
	if step.Verb == Removed {
		delete(s.Server.Objects, at)
	} else if !newer(s.Server.Objects[at].Version, step.Version) {
		s.Server.Objects[at] = Object{step.Kind, step.Key, step.Version, step.Text}
	}
}

// newer reports whether version a is larger than b.
func newer(a, b string) bool {
	x, _ := strconv.ParseInt(a, 10, 64)
	y, _ := strconv.ParseInt(b, 10, 64)
	return x > y
}

func (s *State) applyRequest(step *Step) {
	r := s.Requests[step.Count]
	switch step.Verb {
	case Sent:
		r = RequestState{Kind: step.Kind, Text: step.Text, Since: step.At}
	case Answered:
		r.Code = step.Code
		r.Streams = step.Error == "" && step.Frames < 0 // a watch
	case Read:
		if i := s.Informers[step.Kind]; i != nil && i.Closed && step.Frames > 0 {
			i.Reflector.Heard = step.At
		}
		r.Bytes += step.Bytes
		r.Frames += step.Frames
		r.Partial = step.Code
	case Ended:
		r.Streams = false
	}
	if step.Verb != Sent && step.Verb != Read && !r.Streams {
		delete(s.Requests, step.Count)
		r.Since, r.Error = step.At, step.Error
		if len(s.Finished) == finishedKept {
			s.Finished = slices.Delete(s.Finished, 0, 1) // in place: nothing is allocated
		}
		s.Finished = append(s.Finished, r)
		return
	}
	s.Requests[step.Count] = r
}

// applyWorker follows a worker through its calls of the queue and its requests.
func (s *State) applyWorker(step *Step) {
	if step.By == "" { // an Event, or a call of the queue that no worker made
		return
	}
	w := s.Workers[step.By]
	switch step.Verb {
	case Waits, Done:
		w = WorkerState{Since: step.At}
	case Get:
		w = WorkerState{Key: step.Key, Since: step.At, Doing: "reconcile"}
	case AddRateLimited:
		w.Doing = "failed: again in " + step.Wait.Round(time.Millisecond).String()
	case Writes:
		w.Doing = step.Text + " " + step.kindInText()
	case Answered:
		w.Doing = step.Text + " " + step.kindInText() + ": " + cmp.Or(step.Error, "done")
	}
	w.Name = step.By
	s.Workers[step.By] = w
}
