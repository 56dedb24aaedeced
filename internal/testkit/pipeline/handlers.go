package pipeline

// This file is the state of the handlers of an informer: the calls that each one is owed, and the calls that it got.
//
// A handler is owed a call for each change of the Indexer. Its ring of notifications cannot be seen, so wrong code may
// never make a call that is owed. After a while the recorder says so, by a step Looked: the call is then missing.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// InTime is how long a handler that waits may be owed a call.
	InTime = 3 * time.Second
	// refsKept is how many early and missing calls are kept for each handler.
	refsKept = 20
)

// HandlerState is one registration.
type HandlerState struct {
	Pending []Owed        `json:"pending"`
	Early   []Ref         `json:"early,omitempty"`   // calls before the change of the Indexer
	Missing []Ref         `json:"missing,omitempty"` // owed calls that did not come in time, or that were overtaken
	Current Ref           `json:"current"`           // the running call; Key is empty if there is none
	Since   time.Duration `json:"since"`
	Calls   int           `json:"calls"`
	Took    Took          `json:"took"`
	Differs string        `json:"differs,omitempty"`
	Total   int           `json:"total,omitempty"` // of a View: how many calls are pending
}

// Owed is a call that a handler is owed.
type Owed struct {
	Ref
	Since time.Duration `json:"since"`
	Late  bool          `json:"late,omitempty"` // it is for an object that was there before the handler
}

func (h *HandlerState) clone() *HandlerState {
	c := *h
	c.Pending, c.Early, c.Missing = slices.Clone(h.Pending), slices.Clone(h.Early), slices.Clone(h.Missing)
	return &c
}

func (i *Informer) applyHandler(step *Step) {
	if i.Gone[step.By] {
		return
	}
	h := i.Handlers[step.By]
	if h == nil {
		h = &HandlerState{}
		i.Handlers[step.By] = h
	}
	switch step.Verb {
	case Joined:
		for _, key := range slices.Sorted(maps.Keys(i.Store.Objects)) {
			h.Pending = append(h.Pending, Owed{Ref{OnAdd, key, i.Store.Objects[key].Version}, step.At, true})
		}
	case Left:
		delete(i.Handlers, step.By)
		i.Gone[step.By] = true
	case OnAdd, OnUpdate, OnDelete:
		h.call(step, i.Store.Objects[step.Key].Version, i.Closed)
		if i.Closed && step.By == "handler 1" { // a later one may be slow
			i.stored(step, step.Verb != OnDelete)
		}
	case Returned:
		if h.Current.Key != "" {
			h.Took.add(step.At - h.Since)
		}
		h.Current, h.Since = Ref{}, step.At
	case Looked:
		h.Pending = slices.Clone(h.Pending[min(max(0, int(step.Count)), len(h.Pending)):])
		h.miss(step.List)
	}
}

// notify adds a change of the Indexer to what each handler is owed. A resync is left out, because it reaches only the
// handlers that are due.
func (i *Informer) notify(step *Step, oldVersion string, existed bool) {
	n := Ref{map[string]string{Add: OnAdd, Update: OnUpdate, Delete: OnDelete}[step.Verb], step.Key, step.Version}
	if step.Verb == Update && existed && oldVersion == step.Version {
		return
	}
	for _, h := range i.Handlers {
		if at := slices.IndexFunc(h.Early, n.same); at >= 0 {
			h.Early = slices.Delete(h.Early, at, at+1)
		} else {
			h.Pending = append(h.Pending, Owed{Ref: n, Since: step.At})
		}
	}
}

// call removes a call from what is owed. A call that is not owed is a resync if it is an update to what the Indexer
// has.
func (h *HandlerState) call(step *Step, stored string, closed bool) {
	call := Ref{step.Verb, step.Key, step.Version}
	h.Current, h.Since, h.Differs = call, step.At, ""
	h.Calls++
	if closed {
		return
	}
	if at := slices.IndexFunc(h.Missing, call.same); at >= 0 {
		h.Missing, h.Differs = slices.Delete(h.Missing, at, at+1), calls([]Ref{call})+" comes late"
		return
	}
	at := slices.IndexFunc(h.Pending, func(n Owed) bool { return call.same(n.Ref) })
	if at < 0 && step.Verb == OnAdd { // the object has changed while the handler joined
		at = slices.IndexFunc(h.Pending, func(n Owed) bool { return n.Key == call.Key && n.Version == call.Version })
	}
	switch {
	case at < 0 && step.Verb == OnUpdate && step.Version == stored:
	case at < 0:
		h.Differs = fmt.Sprintf("%s for %s, and no change is pending for it", step.Verb, step.Key)
		h.Early = newest(append(h.Early, call))
	default:
		h.deliver(at)
	}
}

// deliver removes what was owed, and all that was owed before it for the same object.
func (h *HandlerState) deliver(at int) {
	var before []Owed
	var overtaken []Ref
	for _, n := range h.Pending[:at] {
		if n.Key != h.Pending[at].Key {
			before = append(before, n)
		} else if !n.Late {
			overtaken = append(overtaken, n.Ref)
		}
	}
	if h.Pending = h.Pending[at+1:]; len(before) > 0 {
		h.Pending = append(before, h.Pending...)
	}
	h.miss(overtaken)
}

func (h *HandlerState) miss(calls []Ref) { h.Missing = newest(append(h.Missing, calls...)) }

func newest(calls []Ref) []Ref { return calls[max(0, len(calls)-refsKept):] }

// same reports whether two calls are the same. The version of a deletion is that of the last known object.
func (r Ref) same(s Ref) bool {
	return r.Type == s.Type && r.Key == s.Key && (r.Version == s.Version || r.Type == OnDelete)
}

// differs says how the calls differ from the contract, "" if they do not.
func (h *HandlerState) differs() string {
	if len(h.Missing) == 0 {
		return h.Differs
	}
	text := "it was not called: " + calls(h.Missing[:1])
	if more := len(h.Missing) - 1; more > 0 {
		text += ", and " + count(more, "other call")
	}
	return text
}

// calls lists calls: "OnDelete for default/web".
func calls(refs []Ref) string {
	var texts []string
	for _, r := range refs {
		texts = append(texts, r.Type+" for "+r.Key+before("@", r.Version))
	}
	return strings.Join(texts, ", ")
}

// Overdue returns a step Looked for each handler that waits and was not called in time, by the clock of the state. So
// the gate must have been open.
func (s *State) Overdue() (steps []Step) {
	for _, kind := range slices.Sorted(maps.Keys(s.Informers)) {
		handlers := s.Informers[kind].Handlers
		for _, name := range slices.Sorted(maps.Keys(handlers)) {
			if step, late := handlers[name].overdue(s.At); late {
				step.Kind, step.By = kind, name
				steps = append(steps, step)
			}
		}
	}
	return steps
}

func (h *HandlerState) overdue(now time.Duration) (step Step, late bool) {
	step = Step{Seam: Handler, Verb: Looked}
	if h.Current.Key != "" || now-h.Since < InTime {
		return step, false
	}
	for _, n := range h.Pending {
		if now-n.Since < InTime {
			break
		}
		step.Count++
		deleted := func(d Owed) bool { return d.Key == n.Key && d.Type == OnDelete }
		if n.Late && slices.ContainsFunc(h.Pending, deleted) { // while the handler joined
			continue
		}
		step.List, step.Key = append(step.List, n.Ref), n.Key
	}
	return step, step.Count > 0
}
