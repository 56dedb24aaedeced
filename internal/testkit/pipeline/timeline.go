package pipeline

// This file folds a log into a timeline of one key, so that a test that spans all layers can show where a change got
// lost:
//
//	6d 04:01:00.000  server    default/web@812  deploy scaled to 3
//	6d 04:01:00.000  delta     default/web@812  deploy Updated
//	6d 04:01:00.000  store     default/web@812  deploy Update
//	6d 04:01:00.000  handler   default/web@812  deploy OnUpdate, handler 1
//	             ✗ queue     this state never came here
//
// Left out: the wire and the Reflector, and informers that do not use the layers they are given, as client-go's own.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// shortKinds are abbreviated as in kubectl.
var shortKinds = map[string]string{"Deployment": "deploy", "PodDisruptionBudget": "pdb"}

// Row is one line of a timeline. Its text says what happened, and its key is empty if it is about everything.
type Row Step

// String returns the row as the tests print it.
func (r Row) String() string {
	at := fmt.Sprintf("%dd %s", r.At/(24*time.Hour), time.Time{}.Add(r.At).Format("15:04:05.000"))
	return fmt.Sprintf("%14s  %-7s  %-18s %s", at, r.Seam, r.Key+before("@", r.Version),
		strings.TrimSpace(cmp.Or(shortKinds[r.Kind], r.Kind)+" "+r.Text))
}

// taken is the text of a worker's row when it has taken a key from the queue.
const taken = "has it"

// Timeline returns the last n rows about a key, of every kind, and the rows about everything between them.
func (l *Log) Timeline(key string, n int) (rows []Row) {
	failures := 0
	// By kind: whether a worker is writing the object, and what Did says of the next change.
	writing, said := map[string]bool{}, map[string]string{}
	for s := range l.all() {
		if s.Key != key && (s.Key != "" || s.Verb != Did) {
			continue
		}
		r := Row(*s)
		add := func(text string) {
			r.Text = text
			rows = append(rows, r)
		}
		switch s.Seam {
		case Server:
			switch {
			case s.Key == "":
				add(s.Text)
			case s.Verb == Did:
				said[s.Kind] = s.Text
			case !writing[s.Kind]: // otherwise the worker's row has it
				add(cmp.Or(said[s.Kind], map[string]string{Wrote: "stored", Removed: "deleted"}[s.Verb]))
				delete(said, s.Kind)
			}
		case Delta:
			if s.Verb == Pop {
				for _, d := range s.List {
					r.Key, r.Version = d.Key, d.Version
					add(d.Type)
				}
			}
		case Store:
			add(s.Verb)
		case Handler:
			if s.Verb == OnAdd || s.Verb == OnUpdate || s.Verb == OnDelete {
				add(s.Verb + ", " + s.By + before(", ", s.Text))
			}
		case Queue:
			switch s.Verb {
			case Add:
				add(s.Verb)
			case Forget:
				failures = 0
			case AddRateLimited:
				failures++
				add(fmt.Sprintf("AddRateLimited, failure %d", failures))
			case Get:
				r.Seam = Worker
				add(taken)
			}
		case Worker:
			if writing[s.Kind] = s.Verb == Writes; s.Verb == Answered {
				add(s.Text + ": " + cmp.Or(strings.TrimSuffix(s.Error, "."), "done"))
			}
		case Note:
			r.Seam = Handler
			add("✗ " + s.Error)
		}
	}
	settle(rows)
	for len(rows) > 0 && rows[len(rows)-1].Key == "" {
		rows = rows[:len(rows)-1]
	}
	return rows[max(0, len(rows)-n):]
}

// settle sorts rows of the same instant if their goroutines do not wait for each other: what is done to the server,
// which comes first, the handlers, and a queue with its workers. Two runs of the same test then print the same rows.
func settle(rows []Row) {
	rank := func(r Row) int { return slices.Index([]Seam{Server, Delta, Store, Handler, Queue, Worker}, r.Seam) }
	together := func(is func(Row) bool, compare func(a, b Row) int) {
		for from := 0; from < len(rows); {
			to := from
			for to < len(rows) && is(rows[to]) && rows[to].At == rows[from].At {
				to++
			}
			slices.SortStableFunc(rows[from:to], compare)
			from = max(to, from+1)
		}
	}
	together(func(Row) bool { return true }, func(a, b Row) int { return min(rank(a), 1) - min(rank(b), 1) })
	together(func(r Row) bool { return r.Seam == Handler || r.Seam == Queue || r.Text == taken },
		func(a, b Row) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.Text, b.Text)) })
}

// Lost returns the first layer between the queue of deltas and the handlers that a state of an object did not reach. It
// returns "" if the state reached the handlers, if the server did not have it, or if no delta was recorded at all and
// the handlers have it.
func (l *Log) Lost(kind, key, version string, deleted bool) Seam {
	var reached map[Seam]bool // nil before the server has it
	silent := true
	for s := range l.all() {
		silent = silent && !(s.Seam == Delta && s.Verb == Pop)
		if s.Kind != kind || s.Key != key {
			continue
		}
		switch {
		case s.Seam == Server && (s.Verb == Removed && deleted || s.Verb == Wrote && !deleted && s.Version == version):
			reached = map[Seam]bool{}
		case reached == nil:
		case s.Seam == Delta && s.Verb == Pop:
			reached[Delta] = reached[Delta] || slices.ContainsFunc(s.List, func(d Ref) bool {
				return d.Version == version || deleted && d.Type == "Deleted"
			})
		case s.Seam == Store || s.Seam == Handler && s.Verb != Returned:
			reached[s.Seam] = reached[s.Seam] || s.Version == version || deleted && (s.Verb == Delete || s.Verb == OnDelete)
		}
	}
	for _, seam := range []Seam{Delta, Store, Handler} {
		if reached != nil && !reached[seam] && (seam == Handler || !silent) {
			return seam
		}
	}
	return ""
}

// Unseen reports whether no handler has received the last budget that a worker created for a key.
func (l *Log) Unseen(key string) (unseen bool) {
	for s := range l.all() {
		switch {
		case s.Key != key || s.Kind != "PodDisruptionBudget":
		case s.Seam == Handler && s.Verb != Returned:
			unseen = false
		case s.Seam == Worker && s.Verb == Answered && s.Text == "create" && s.Error == "":
			unseen = true
		}
	}
	return unseen
}
