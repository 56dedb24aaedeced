package pipeline

// This file is the state as the page draws it: each table has its first rows only. The page has no other knowledge of
// the pipeline.

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// rows is how many rows of a table a View has at most. The page lists ten, and offers the names of all.
const rows = 50

// Lines returns steps as the page lists them: the text of each is its sentence, and its list is left out.
func Lines(steps []Step) []Step {
	lines := make([]Step, 0, len(steps))
	for _, s := range steps {
		s.Text, s.List = s.Sentence(), nil
		lines = append(lines, s)
	}
	return lines
}

// View returns the state for the page. It shares nothing with s that Apply changes.
func (s *State) View() *State {
	v := *s
	v.Server.Objects, v.Server.Total = first(s.Server.Objects, strings.Compare), len(s.Server.Objects)
	v.Finished = top(s.Finished)
	v.Requests = first(s.Requests, func(a, b int64) int { return cmp.Compare(b, a) })
	v.Informers = map[string]*Informer{}
	for kind, i := range s.Informers {
		v.Informers[kind] = i.view(s)
	}
	v.Queue = s.Queue.view()
	v.Workers, v.Counts = maps.Clone(s.Workers), maps.Clone(s.Counts)
	return &v
}

// first returns the first rows of a table in an order.
func first[K comparable, V any](table map[K]V, compare func(a, b K) int) map[K]V {
	top := map[K]V{}
	for _, key := range smallest(maps.Keys(table), compare) {
		top[key] = table[key]
	}
	return top
}

// smallest returns the first keys in an order. It does not sort the others.
func smallest[K any](all iter.Seq[K], compare func(a, b K) int) (top []K) {
	for key := range all {
		if len(top) == rows && compare(key, top[rows-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, key, compare)
		top = slices.Insert(top, at, key)
		top = top[:min(rows, len(top))]
	}
	return top
}

// top returns a copy of the first elements of a list.
func top[T any](list []T) []T { return append([]T{}, list[:min(rows, len(list))]...) }

func (i *Informer) view(s *State) *Informer {
	v := *i
	v.Gone, v.Behind = nil, nil
	v.NotReceived, v.NotStored = i.behind()
	v.FIFO.Keys, v.FIFO.Deltas, v.FIFO.Total = top(i.FIFO.Keys), map[string][]Ref{}, len(i.FIFO.Keys)
	for _, key := range v.FIFO.Keys {
		v.FIFO.Deltas[key] = slices.Clone(i.FIFO.Deltas[key])
	}
	v.Store.Objects, v.Store.Total = first(i.Store.Objects, strings.Compare), len(i.Store.Objects)
	v.Store.Entries = maps.Clone(i.Store.Entries)
	v.Differs = []string{i.FIFO.Differs, i.Store.Differs}
	v.Handlers = map[string]*HandlerState{}
	for _, name := range slices.Sorted(maps.Keys(i.Handlers)) {
		h := *i.Handlers[name]
		v.Differs = append(v.Differs, before(name+": ", h.differs()))
		h.Pending, h.Total, h.Early, h.Missing = top(h.Pending), len(h.Pending), nil, nil
		v.Handlers[name] = &h
	}
	v.Differs = slices.DeleteFunc(v.Differs, func(text string) bool { return text == "" })
	if i.Closed {
		v.Facts = s.facts(i)
	}
	return &v
}

func (q *WorkQueue) view() WorkQueue {
	v := *q
	v.Totals = map[string]int{"queue": len(q.Queue), "dirty": len(q.Queue) + len(q.Again), "waiting": len(q.Waiting),
		"processing": len(q.Processing), "failures": len(q.Failures)}
	v.Queue, v.Again = top(q.Queue), nil
	v.Dirty = smallest(func(yield func(string) bool) {
		slices.Values(q.Queue)(yield)
		maps.Keys(q.Again)(yield)
	}, strings.Compare)
	v.Processing, v.Waiting = first(q.Processing, byValue(q.Processing)), first(q.Waiting, byValue(q.Waiting))
	v.Failures = first(q.Failures, byValue(q.Failures))
	v.Waits = map[string]time.Duration{}
	for key := range v.Waiting {
		v.Waits[key] = q.Waits[key]
	}
	return v
}

// byValue orders the keys of a table by their values.
func byValue[V cmp.Ordered](table map[string]V) func(a, b string) int {
	return func(a, b string) int { return cmp.Or(cmp.Compare(table[a], table[b]), strings.Compare(a, b)) }
}
