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
	Text      string        `json:"text,omitempty"` // says it, with the names of the runs
}

// place is one object at one station, or a call for it.
type place struct {
	seam                Seam
	kind, key, by, verb string
}

// run is one of two runs, as far as it has been followed.
type run struct {
	*State
	rest []Step
	now  []Step           // the steps that were applied last, all of one moment
	got  map[place]string // the version that a handler received last
}

func newRun(l *Log) *run {
	first, last := l.Range()
	return &run{l.At(first), l.since(first, last), nil, map[place]string{}}
}

// Compare returns the first lasting difference of two runs that began at the same time. Of several that begin at the
// same time it prefers one of the key, and then the one that a change reaches first on its way from the API server.
func Compare(a, b *Log, key string) Difference {
	here, there := newRun(a), newRun(b)
	open := map[place]Difference{}
	for len(here.rest)+len(there.rest) > 0 {
		at := next(here.rest, there.rest)
		touched := map[place]bool{}
		here.until(at, touched)
		there.until(at, touched)
		for p := range touched {
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
func difference(here, there *run, p place, at time.Duration) Difference {
	d := Difference{p.seam, p.kind, p.key, p.by, at, here.step(p), here.value(p), there.value(p), ""}
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
func firstCall(here, there *run, p place) place {
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
func (r *run) calls(key string) (calls []place) {
	for _, s := range r.now {
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
func (r *run) count(call place) (n int) {
	for _, s := range r.now {
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

// until applies the steps up to a time, and notes the places that may have changed.
func (r *run) until(at time.Duration, touched map[place]bool) {
	r.now = nil
	for ; len(r.rest) > 0 && r.rest[0].At <= at; r.rest = r.rest[1:] {
		s := r.rest[0]
		r.Apply(&s)
		r.now = append(r.now, s)
		switch s.Verb {
		case OnAdd, OnUpdate:
			r.got[place{seam: Handler, kind: s.Kind, key: s.Key, by: s.By}] = s.Version
		case OnDelete:
			delete(r.got, place{seam: Handler, kind: s.Kind, key: s.Key, by: s.By})
		}
		for _, ref := range slices.Concat(s.List, []Ref{{Key: s.Key}}) {
			touched[place{seam: Queue, key: ref.Key}] = true
			touched[place{seam: Server, kind: s.Kind, key: ref.Key}] = true
			for kind, i := range r.Informers {
				for _, seam := range []Seam{Server, Delta, Store} {
					touched[place{seam: seam, kind: kind, key: ref.Key}] = true
				}
				for name := range i.Handlers {
					touched[place{seam: Handler, kind: kind, key: ref.Key, by: name}] = true
				}
			}
		}
	}
}

// step returns the last step of this moment that concerns a place, or the station before it: there it went wrong. If
// there is none, it went wrong because nothing happened, and step returns the last one of all.
func (r *run) step(p place) int64 {
	concerns := map[Seam][]Seam{Store: {Delta, Store}, Handler: {Store, Handler}, Queue: {Handler, Queue},
		Server: {Queue, Worker, Server}, Delta: {Event, Delta}}[p.seam]
	for _, s := range slices.Backward(r.now) {
		if s.Key == p.key && slices.Contains(concerns, s.Seam) && (p.kind == "" || s.Kind == "" || s.Kind == p.kind) &&
			(p.by == "" || s.By == p.by || s.Seam == Store) {
			return s.N
		}
	}
	return r.N
}

// value says what a place has, in words that two runs share. Versions are not: each run counts its own.
func (r *run) value(p place) string {
	p.verb = ""
	i := r.Informers[p.kind]
	if i == nil {
		i = &Informer{}
	}
	server := r.Server.Objects[p.kind+" "+p.key]
	has := r.got[p]
	switch p.seam {
	case Queue:
		return r.Queue.has(p.key)
	case Delta:
		if len(i.FIFO.Deltas[p.key]) > 0 {
			return "not popped"
		}
		return "idle"
	case Server:
		if server.Key == "" {
			return "nothing"
		}
		return cmp.Or(server.Note, "the object")
	case Store:
		has = i.Store.Objects[p.key].Version
	}
	switch has {
	case "":
		return "nothing"
	case server.Version:
		return "the newest version"
	}
	if server.Version == "" {
		return "an object that the API server has deleted"
	}
	return "an old version"
}

// has says where a key is.
func (q *WorkQueue) has(key string) string {
	if _, busy := q.Processing[key]; busy {
		return "with a worker"
	} else if q.queued[key] {
		return "in the workqueue"
	} else if _, waits := q.Waiting[key]; waits {
		return "waits for its next try"
	}
	return "idle"
}
