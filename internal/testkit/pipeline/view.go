package pipeline

// This file is the state as the page draws it: lists in a fixed order, with at most so many rows each. The page has no
// other knowledge of the pipeline.

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// rows is how many rows a panel has at most.
const rows = 10

// View is a State for the page. All times are milliseconds.
type View struct {
	N         int64          `json:"n"`
	At        int64          `json:"at"`
	Server    ServerView     `json:"server"`
	Requests  []RequestState `json:"requests"`
	Finished  []RequestState `json:"finished"` // newest first
	Informers []InformerView `json:"informers"`
	Queue     QueueView      `json:"queue"`
	Workers   []WorkerState  `json:"workers"`
	Unwritten string         `json:"unwritten,omitempty"`
	Counts    map[Seam]int64 `json:"counts"`
	Keys      []string       `json:"keys"`
}

// Rows is the first rows of a list, and how many there are.
type Rows[T any] struct {
	Rows  []T `json:"rows"`
	Total int `json:"total"`
}

func first[T any](all []T) Rows[T] {
	return Rows[T]{append([]T{}, all[:min(rows, len(all))]...), len(all)}
}

// ServerView is the API server.
type ServerView struct {
	Version string       `json:"version"`
	Down    bool         `json:"down"`
	Last    string       `json:"last,omitempty"`
	Objects Rows[Object] `json:"objects"`
}

// InformerView is one informer, from the watch to the handlers.
type InformerView struct {
	ReflectorState
	Kind     string           `json:"kind"`
	Of       int64            `json:"of,omitempty"` // of a wait, all of it; known in a recording
	Behind   int              `json:"behind"`       // versions that the Reflector has not had
	Stored   int              `json:"storeBehind"`  // versions that the Indexer has not had
	Event    *Line            `json:"event,omitempty"`
	Deltas   Rows[DeltasView] `json:"deltas"`
	Popping  string           `json:"popping,omitempty"`
	Popped   []Ref            `json:"popped,omitempty"`
	PopFor   int64            `json:"popFor,omitempty"`
	Blocked  string           `json:"blocked,omitempty"`
	Objects  Rows[Object]     `json:"objects"`
	Indexes  []IndexView      `json:"indexes"`
	Closed   bool             `json:"closed,omitempty"`
	Unread   bool             `json:"unread,omitempty"` // the index tables
	Handlers []HandlerView    `json:"handlers"`
	Differs  []string         `json:"differs"`
	// Facts are sentences about client-go's own informer, by station.
	Facts map[Seam][]string `json:"facts,omitempty"`
}

// DeltasView is a key in the queue of deltas.
type DeltasView struct {
	Key    string `json:"key"`
	Deltas []Ref  `json:"deltas"`
}

// IndexView is an index as a table.
type IndexView struct {
	Name   string          `json:"name"`
	Values Rows[ValueView] `json:"values"`
}

// ValueView is a row of an index.
type ValueView struct {
	Value string       `json:"value"`
	Keys  Rows[string] `json:"keys"`
}

// HandlerView is one handler with its ring.
type HandlerView struct {
	Name    string     `json:"name"`
	Pending Rows[Owed] `json:"pending"`
	Current *Ref       `json:"current,omitempty"`
	For     int64      `json:"for"`
	Calls   int        `json:"calls"`
}

// QueueView is the workqueue.
type QueueView struct {
	Queue      Rows[string]  `json:"queue"`
	Dirty      Rows[string]  `json:"dirty"`
	Processing Rows[KeyTime] `json:"processing"`
	Waiting    Rows[KeyTime] `json:"waiting"`
	Failures   Rows[KeyTime] `json:"failures"`
	Down       bool          `json:"down"`
	Differs    string        `json:"differs,omitempty"`
}

// KeyTime is a key with a time or a number.
type KeyTime struct {
	Key string `json:"key"`
	Ms  int64  `json:"ms"`
	Of  int64  `json:"of,omitempty"` // of a wait, all of it
}

// Line is a step as the page lists it: with its sentence, and without its list.
type Line struct {
	Step
	At   int64  `json:"at"`
	Text string `json:"text"`
}

// Line returns the step as the page lists it.
func (s Step) Line() Line {
	line := Line{s, s.At.Milliseconds(), s.Sentence()}
	line.List = nil
	return line
}

// Lines returns steps as the page lists them.
func Lines(steps []Step) []Line {
	lines := make([]Line, 0, len(steps))
	for _, s := range steps {
		lines = append(lines, s.Line())
	}
	return lines
}

// View returns the state as the page draws it.
func (s *State) View() View {
	v := View{
		N: s.N, At: s.At.Milliseconds(), Counts: maps.Clone(s.Counts), Unwritten: s.Unwritten,
		Server:   ServerView{s.Server.Version, s.Server.Down, s.Server.Last, firstObjects(s.Server.Objects)},
		Queue:    s.queueView(),
		Requests: []RequestState{}, Finished: []RequestState{}, Informers: []InformerView{}, Workers: []WorkerState{},
		Keys: s.keys(),
	}
	for _, id := range slices.Sorted(maps.Keys(s.Requests)) {
		r := s.Requests[id]
		r.For = s.since(r.Since)
		v.Requests = append(v.Requests, r)
	}
	for _, r := range slices.Backward(s.Finished) {
		r.For = s.since(r.Since)
		v.Finished = append(v.Finished, r)
	}
	v.Requests = v.Requests[max(0, len(v.Requests)-rows):]
	for _, kind := range slices.Sorted(maps.Keys(s.Informers)) {
		if kind != "" {
			v.Informers = append(v.Informers, s.informerView(s.Informers[kind]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Workers)) {
		w := s.Workers[name]
		w.Doing, w.For = cmp.Or(w.Doing, "waits for a key"), s.since(w.Since)
		v.Workers = append(v.Workers, w)
	}
	return v
}

func (s *State) since(at time.Duration) int64 { return max(0, (s.At - at).Milliseconds()) }

// names is how many names of objects a View has at most.
const names = 50

// keys returns the first names of objects that the server or an Indexer has.
func (s *State) keys() []string {
	keys := []string{}
	for _, name := range smallest(maps.Keys(s.Server.Objects), names) {
		keys = append(keys, s.Server.Objects[name].Key)
	}
	for _, i := range s.Informers {
		keys = append(keys, smallest(maps.Keys(i.Store.Objects), names)...)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return keys[:min(names, len(keys))]
}

// firstObjects returns the first objects in the order of their names.
func firstObjects(all map[string]Object) Rows[Object] {
	list := Rows[Object]{Rows: []Object{}, Total: len(all)}
	for _, name := range smallest(maps.Keys(all), rows) {
		list.Rows = append(list.Rows, all[name])
	}
	return list
}

// smallest returns the first names in order, at most so many. It does not sort the others.
func smallest(all iter.Seq[string], most int) (first []string) {
	for name := range all {
		if len(first) == most && name >= first[most-1] {
			continue
		}
		at, _ := slices.BinarySearch(first, name)
		first = slices.Insert(first, at, name)
		first = first[:min(most, len(first))]
	}
	return first
}

func (s *State) informerView(i *Informer) InformerView {
	v := InformerView{
		ReflectorState: i.Reflector, Kind: i.Kind, Popping: i.FIFO.Popping, Popped: i.FIFO.Popped,
		Blocked: i.FIFO.Blocked, Unread: i.Store.Unread, Closed: i.Closed,
		Objects: firstObjects(i.Store.Objects), Indexes: []IndexView{}, Handlers: []HandlerView{},
		Deltas:  Rows[DeltasView]{Rows: []DeltasView{}, Total: len(i.FIFO.Keys)},
		Differs: slices.DeleteFunc([]string{i.FIFO.Differs, i.Store.Differs}, func(d string) bool { return d == "" }),
	}
	v.For = s.since(i.Reflector.Since)
	v.Behind, v.Stored = i.behind()
	if v.Popping != "" {
		v.PopFor = s.since(i.FIFO.Since)
	}
	if i.LastEvent.N > 0 {
		line := i.LastEvent.Line()
		v.Event = &line
	}
	for _, key := range i.FIFO.Keys[:min(rows, len(i.FIFO.Keys))] {
		v.Deltas.Rows = append(v.Deltas.Rows, DeltasView{key, slices.Clone(i.FIFO.Deltas[key])})
	}
	for _, name := range slices.Sorted(slices.Values(i.Store.Indexes)) {
		table := i.Store.Table(name)
		index := IndexView{Name: name, Values: Rows[ValueView]{Rows: []ValueView{}, Total: len(table)}}
		for _, value := range smallest(maps.Keys(table), rows) {
			index.Values.Rows = append(index.Values.Rows, ValueView{value, first(table[value])})
		}
		v.Indexes = append(v.Indexes, index)
	}
	for _, name := range slices.Sorted(maps.Keys(i.Handlers)) {
		h := i.Handlers[name]
		handler := HandlerView{Name: name, Pending: first(h.Pending), Calls: h.Calls}
		if h.Current.Key != "" {
			current := h.Current
			handler.Current, handler.For = &current, s.since(h.Since)
		}
		if differs := h.differs(); differs != "" {
			v.Differs = append(v.Differs, name+": "+differs)
		}
		v.Handlers = append(v.Handlers, handler)
	}
	if i.Closed {
		v.Facts = s.facts(i)
	}
	return v
}

func (s *State) queueView() QueueView {
	q := &s.Queue
	times := func(of map[string]time.Duration, ms func(time.Duration) int64) Rows[KeyTime] {
		all := []KeyTime{}
		for key, at := range of {
			all = append(all, KeyTime{Key: key, Ms: ms(at)})
		}
		slices.SortFunc(all, func(a, b KeyTime) int { return cmp.Or(int(a.Ms-b.Ms), strings.Compare(a.Key, b.Key)) })
		return first(all)
	}
	failures := map[string]time.Duration{}
	for key, n := range q.Failures {
		failures[key] = time.Duration(n)
	}
	dirty := smallest(func(yield func(string) bool) {
		slices.Values(q.Queue)(yield)
		maps.Keys(q.Again)(yield)
	}, rows)
	v := QueueView{
		Queue: first(q.Queue), Dirty: Rows[string]{append([]string{}, dirty...), len(q.Queue) + len(q.Again)},
		Down: q.Down, Differs: q.Differs,
		Processing: times(q.Processing, s.since),
		Waiting:    times(q.Waiting, func(due time.Duration) int64 { return (due - s.At).Milliseconds() }),
		Failures:   times(failures, func(n time.Duration) int64 { return int64(n) }),
	}
	for i, k := range v.Waiting.Rows {
		v.Waiting.Rows[i].Of = q.Waits[k.Key].Milliseconds()
	}
	return v
}
