package pipeline

// This file compares two runs of the same story: the learner's code and the solution. Their steps come in another order
// and at other times, because back-offs have chance in them. So it compares what each station has for each object
// whenever time passes, and it looks for the difference that came first and stayed until the end. At that moment it
// names the first call that one of the runs lacks. The later differences follow from it.

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Difference is where two runs differ until their end. Its zero value means that they do not.
type Difference struct {
	Seam      Seam          `json:"seam"`
	Kind      string        `json:"kind,omitempty"`
	Key       string        `json:"key,omitempty"`
	By        string        `json:"by,omitempty"` // the handler
	At        time.Duration `json:"-"`
	Step      int64         `json:"step"` // of the first run, at which the difference begins
	Here      string        `json:"here"`
	Elsewhere string        `json:"elsewhere"`
}

// place is one object at one station, or a call for it.
type place struct {
	seam                Seam
	kind, key, by, verb string
}

// facts is what each station of a run has.
type facts struct {
	log   []Step
	now   []Step             // the steps that were applied last, all of one moment
	n     int64              // the last step that was applied
	has   map[place]string   // a version, or for the workqueue a word
	notes map[place]string   // of the objects on the server
	keys  map[string][]place // the places of a key
}

func newFacts(l *Log) *facts {
	_, last := l.Range()
	return &facts{log: l.since(0, last), has: map[place]string{}, notes: map[place]string{}, keys: map[string][]place{}}
}

// Compare returns the first lasting difference of two runs that began at the same time. Of several that begin at the
// same time it prefers one of the key, and then the one that a change reaches first on its way from the API server.
func Compare(a, b *Log, key string) Difference {
	here, there := newFacts(a), newFacts(b)
	open := map[place]Difference{}
	for len(here.log)+len(there.log) > 0 {
		at := next(here.log, there.log)
		touched := append(here.until(at), there.until(at)...)
		for _, p := range touched {
			x, y := here.value(p), there.value(p)
			if x == y {
				delete(open, p)
			} else if _, known := open[p]; !known {
				open[p] = difference(here, there, firstCall(here, there, p), at)
			}
		}
	}
	first := Difference{}
	for _, d := range open {
		if first.Seam == "" || d.before(first, key) {
			first = d
		}
	}
	return first
}

// difference is what two runs have at a place.
func difference(here, there *facts, p place, at time.Duration) Difference {
	d := Difference{p.seam, p.kind, p.key, p.by, at, here.step(p), here.value(p), there.value(p)}
	if p.verb != "" && (p.seam == Handler || d.Here == d.Elsewhere) {
		calls := [2]string{"no call of " + p.verb, "a call of " + p.verb}
		d.Here, d.Elsewhere = calls[min(1, here.count(p))], calls[min(1, there.count(p))]
		if here.count(p) > 0 && there.count(p) > 0 {
			d.Here, d.Elsewhere = count(here.count(p), "call")+" of "+p.verb, count(there.count(p), "call")+" of "+p.verb
		}
	}
	return d
}

// firstCall returns where the runs differed first at this moment, if p differs: at the first call that only one of them
// has. The other differences of the key follow from it. If the runs do not share a change at this moment, it returns p.
func firstCall(here, there *facts, p place) place {
	a, b := here.calls(p.key), there.calls(p.key)
	if len(a) == 0 || len(b) == 0 || there.count(a[0]) == 0 || here.count(b[0]) == 0 {
		return p
	}
	for _, call := range append(b, a...) { // what is missing here comes before what is too much
		if here.count(call) != there.count(call) {
			return call
		}
	}
	return p
}

// effects are the calls that are made for each change, at each station. Pop is left out, because it takes as many
// changes as there are.
var effects = map[Seam][]string{Delta: {"Added", "Updated", "Deleted"}, Store: {Add, Update, Delete},
	Handler: {OnAdd, OnUpdate, OnDelete}, Queue: {Add}}

// calls returns the calls of this moment for a key.
func (f *facts) calls(key string) (calls []place) {
	for _, s := range f.now {
		if s.Key == key && slices.Contains(effects[s.Seam], s.Verb) {
			calls = append(calls, callOf(s))
		}
	}
	return calls
}

func callOf(s Step) place {
	p := place{s.Seam, s.Kind, s.Key, "", s.Verb}
	if s.Seam == Handler {
		p.by = s.By
	}
	return p
}

// count returns how often a call was made at this moment.
func (f *facts) count(call place) (n int) {
	for _, s := range f.now {
		if callOf(s) == call {
			n++
		}
	}
	return n
}

// before orders differences.
func (d Difference) before(e Difference, key string) bool {
	rank := func(d Difference) int { // the server is last: the users' changes are the same in both runs
		return slices.Index([]Seam{Delta, Store, Handler, Queue, Server}, d.Seam)
	}
	other := func(d Difference) int { return cmp.Compare(d.Key, key) * cmp.Compare(d.Key, key) }
	return cmp.Or(cmp.Compare(d.At, e.At), other(d)-other(e), rank(d)-rank(e), strings.Compare(d.Key, e.Key),
		strings.Compare(d.Kind, e.Kind), strings.Compare(d.By, e.By)) < 0
}

// next returns the time of the first step in two lists.
func next(a, b []Step) time.Duration {
	if len(a) == 0 || len(b) > 0 && b[0].At < a[0].At {
		a = b
	}
	return a[0].At
}

// until applies the steps up to a time, and returns the places that may have changed.
func (f *facts) until(at time.Duration) (touched []place) {
	f.now = nil
	for ; len(f.log) > 0 && f.log[0].At <= at; f.log = f.log[1:] {
		f.n, f.now = f.log[0].N, append(f.now, f.log[0])
		f.apply(f.log[0])
		keys := []string{f.log[0].Key}
		for _, ref := range f.log[0].List {
			keys = append(keys, ref.Key)
		}
		for _, key := range keys {
			touched = append(touched, f.keys[key]...)
		}
	}
	return touched
}

// step returns the last step of this moment that concerns a place, or the station before it: there it went wrong. If
// there is none, it went wrong because nothing happened, and step returns the last one of all.
func (f *facts) step(p place) int64 {
	concerns := map[Seam][]Seam{Store: {Delta, Store}, Handler: {Store, Handler}, Queue: {Handler, Queue},
		Server: {Queue, Worker, Server}, Delta: {Event, Delta}}[p.seam]
	for _, s := range slices.Backward(f.now) {
		if s.Key == p.key && slices.Contains(concerns, s.Seam) && (p.kind == "" || s.Kind == "" || s.Kind == p.kind) &&
			(p.by == "" || s.By == p.by || s.Seam == Store) {
			return s.N
		}
	}
	return f.n
}

func (f *facts) set(p place, value string) {
	if _, known := f.has[p]; !known {
		f.keys[p.key] = append(f.keys[p.key], p)
	}
	f.has[p] = value
}

func (f *facts) apply(s Step) {
	p := place{seam: s.Seam, kind: s.Kind, key: s.Key}
	switch s.Seam {
	case Server:
		if s.Verb == Removed {
			s.Version = ""
		}
		if s.Verb != Did {
			f.set(p, s.Version)
			f.notes[p] = s.Text
		}
	case Delta:
		f.applyDelta(s)
	case Store:
		if s.Verb == Add || s.Verb == Update || s.Verb == Delete {
			if s.Count == 0 {
				s.Version = ""
			}
			f.set(p, s.Version)
		}
	case Handler:
		p.by = s.By
		switch s.Verb {
		case OnAdd, OnUpdate:
			f.set(p, s.Version)
		case OnDelete:
			f.set(p, "")
		}
	case Queue:
		p.kind = ""
		state := map[string]string{Add: "in the workqueue", Get: "with a worker", AddRateLimited: "waits for its next try"}
		switch words, known := state[s.Verb]; {
		case known && !(s.Verb == Add && f.has[p] == state[Get]):
			f.set(p, words)
		case s.Verb == Done && f.has[p] == state[Get]:
			f.set(p, "")
		}
	}
}

// applyDelta notes which keys wait in the queue of deltas.
func (f *facts) applyDelta(s Step) {
	p := place{seam: Delta, kind: s.Kind, key: s.Key}
	switch s.Verb {
	case "Added", "Updated", "Deleted":
		f.set(p, "not popped")
	case Pop:
		f.set(p, "")
	case Replace:
		for _, ref := range s.List {
			f.set(place{seam: Delta, kind: s.Kind, key: ref.Key}, "not popped")
		}
	}
}

// value says what a place has, in words that two runs share. Versions are not: each run counts its own.
func (f *facts) value(p place) string {
	p.verb = ""
	has := f.has[p]
	server := place{seam: Server, kind: p.kind, key: p.key}
	switch {
	case p.seam == Queue || p.seam == Delta:
		return cmp.Or(has, "idle")
	case has == "":
		return "nothing"
	case p.seam == Server:
		return cmp.Or(f.notes[p], "the object")
	case f.has[server] == "":
		return "an object that the API server has deleted"
	case f.has[server] != has:
		return "an old version"
	}
	return "the newest version"
}
