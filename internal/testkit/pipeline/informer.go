package pipeline

// This file is the state of one informer: its Reflector, its queue of deltas, its Indexer and its handlers.
//
// The queue and the rings of pending notifications cannot be read from outside. So the state has what went in and has
// not come out, by the rules of the contracts. If something else comes out, the state follows it and notes the
// difference: wrong code is shown as it is.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Informer is the part of the state that belongs to one kind.
type Informer struct {
	Kind      string                   `json:"kind"`
	Reflector ReflectorState           `json:"reflector"`
	FIFO      FIFO                     `json:"fifo"`
	Store     IndexerState             `json:"store"`
	Handlers  map[string]*HandlerState `json:"handlers"`
	Gone      map[string]bool          `json:"gone,omitempty"` // handlers that have left; a call of theirs may still run
	LastEvent Step                     `json:"lastEvent"`
	Behind    map[string][]Ref         `json:"behind,omitempty"` // changes of each key that the Indexer has not had
	Closed    bool                     `json:"closed,omitempty"` // they cannot be seen; Store is what handlers received
	// Of a View: how many versions the Reflector and the Indexer have not had, how the layers differ from the contract,
	// and sentences about client-go's own informer, by station.
	NotReceived int               `json:"notReceived,omitempty"`
	NotStored   int               `json:"notStored,omitempty"`
	Differs     []string          `json:"differs,omitempty"`
	Facts       map[Seam][]string `json:"facts,omitempty"`
}

// ReflectorState says what a Reflector does: "listing", "watching", "waiting", or "" before its start.
type ReflectorState struct {
	Phase   string        `json:"phase"`
	Since   time.Duration `json:"since"`
	Wait    time.Duration `json:"wait,omitempty"`  // of a View of a log that has the end of the wait: how long it takes
	From    string        `json:"from"`            // the version that the list or watch asked for
	Version string        `json:"version"`         // of the last list, event or bookmark
	Error   string        `json:"error,omitempty"` // the last one
	Lists   int           `json:"lists"`
	Why     string        `json:"why,omitempty"` // why it listed again
	Relist  time.Duration `json:"relist"`        // when it did
	Heard   time.Duration `json:"heard"`         // when the last list, event or bookmark came
	Streams bool          `json:"streams"`       // a list comes as a watch, and its end has not come yet
}

// FIFO has the deltas that went into the queue and have not come out.
type FIFO struct {
	Keys    []string         `json:"keys"` // in the order of each key's first delta
	Deltas  map[string][]Ref `json:"deltas"`
	Popping string           `json:"popping,omitempty"` // the key that is processed, while Pop holds the queue's lock
	Popped  []Ref            `json:"popped,omitempty"`
	Since   time.Duration    `json:"since"`             // of Popping
	Blocked string           `json:"blocked,omitempty"` // a call that waits for the lock: "Add default/web"
	Depth   int64            `json:"depth"`             // of client-go's own queue, whose keys cannot be seen
	Took    Took             `json:"took"`              // to process one of its deltas
	Differs string           `json:"differs,omitempty"` // how the last Pop differed from the contract
	Total   int              `json:"total,omitempty"`   // of a View: how many keys there are
}

// IndexerState has the objects and index tables of the real Indexer, as read after each change.
type IndexerState struct {
	Objects map[string]Object `json:"objects"`
	Entries map[string][]Ref  `json:"entries,omitempty"` // the places of each key in the index tables
	Unread  bool              `json:"unread,omitempty"`  // too many objects to read the tables after each change
	Differs string            `json:"differs,omitempty"` // how the last look at the real Indexer differed
	Total   int               `json:"total,omitempty"`   // of a View: how many objects there are
}

func (i *Informer) clone() *Informer {
	c := *i
	c.Behind, c.Gone = copyMap(i.Behind), copyMap(i.Gone)
	c.FIFO.Keys = slices.Clone(i.FIFO.Keys)
	c.FIFO.Deltas = make(map[string][]Ref, len(i.FIFO.Deltas))
	for key, deltas := range i.FIFO.Deltas {
		c.FIFO.Deltas[key] = slices.Clone(deltas)
	}
	c.Store.Objects = copyMap(i.Store.Objects)
	c.Store.Entries = copyMap(i.Store.Entries)
	c.Handlers = make(map[string]*HandlerState, len(i.Handlers))
	for name, h := range i.Handlers {
		if h != nil {
			c.Handlers[name] = h.clone()
		}
	}
	return &c
}

func (i *Informer) apply(step *Step) {
	switch step.Seam {
	case Event:
		i.LastEvent, i.Reflector.Heard = *step, step.At
		if step.Error != "" {
			i.Reflector.Error = step.Error
		}
		i.Reflector.event(step, i.Closed)
	case Reflector:
		i.Reflector.apply(step)
		known := step.Version != "" && step.Error == ""
		if i.Closed && known && (step.Verb == Listed || step.Verb == Watch && step.Text == "") {
			i.Reflector.Version = step.Version
		}
	case Delta:
		i.applyDelta(step)
	case Store:
		i.applyStore(step)
	case Handler:
		i.applyHandler(step)
	}
}

// event follows the version. A bookmark is the Reflector's alone. Any other event counts when the queue has it, or, if
// the queue cannot be seen, when it comes; but the events of a list do not.
func (r *ReflectorState) event(step *Step, closed bool) {
	if step.Verb == "BOOKMARK" && step.Count == 1 {
		r.Streams = false
	}
	if !r.Streams && step.Verb != "ERROR" && (closed || step.Verb == "BOOKMARK") {
		r.Version = step.Version
	}
}

func (r *ReflectorState) apply(step *Step) {
	phase := r.Phase
	switch {
	case step.Error != "", step.Verb == Unwatch, step.Verb == Returned:
		r.Phase, r.Error = "waiting", cmp.Or(step.Error, r.Error)
	case step.Verb == List:
		r.Phase, r.From = "listing", step.Version
	case step.Verb == Watch:
		r.Phase, r.From, r.Streams = "watching", step.Version, step.Text != ""
	case step.Verb == Listed:
		r.Heard, r.Error = step.At, ""
	case step.Verb == Watching:
		r.Error = ""
	}
	if step.lists() {
		if r.Lists++; r.Lists > 1 {
			r.Why, r.Relist = cmp.Or(r.Error, "the watch ended"), step.At
		}
	}
	if r.Phase != phase {
		r.Since = step.At
	}
}

// lists reports whether a Reflector asks for all objects, by a list or by a watch.
func (s *Step) lists() bool {
	return s.Seam == Reflector && (s.Verb == List || s.Verb == Watch && s.Text != "")
}

func (i *Informer) applyDelta(step *Step) {
	f := &i.FIFO
	switch step.Verb {
	case "Added", "Updated", "Deleted":
		if step.Count == 1 { // another call holds the lock
			f.Blocked = step.Verb + " " + step.Key
		} else {
			i.Reflector.Version = step.Version
		}
		i.push(Ref{step.Verb, step.Key, step.Version})
	case Entered:
		f.Blocked = ""
		i.Reflector.Version = step.Version
	case Failed:
		if pending := f.Deltas[step.Key]; len(pending) > 0 {
			f.set(step.Key, pending[:len(pending)-1])
		}
	case Replace:
		i.Reflector.Version = step.Version
		i.replace(step.List)
	case Resync:
		for _, key := range slices.Sorted(maps.Keys(i.Store.Objects)) {
			if len(f.Deltas[key]) == 0 {
				i.push(Ref{"Sync", key, i.Store.Objects[key].Version})
			}
		}
	case Pop:
		f.pop(step)
	case Processed:
		f.Popping, f.Popped = "", nil
		if step.Wait > 0 {
			f.Took.add(step.Wait)
		}
	case Looked:
		f.lose()
	case Depth:
		f.Depth = step.Count
	}
}

// push appends a delta, by the contract of DeltaFIFO: two deletions in a row become one, and the deletion of an object
// that is neither pending nor known is left out.
func (i *Informer) push(d Ref) {
	f := &i.FIFO
	pending := f.Deltas[d.Key]
	_, known := i.Store.Objects[d.Key]
	switch {
	case d.Type == "Deleted" && len(pending) == 0 && !known:
		return
	case d.Type == "Deleted" && len(pending) > 0 && pending[len(pending)-1].Type == "Deleted":
		return
	case len(pending) == 0:
		f.Keys = append(f.Keys, d.Key)
	}
	f.Deltas[d.Key] = append(pending, d)
}

func (i *Informer) replace(list []Ref) {
	listed := make(map[string]bool, len(list))
	for _, obj := range list {
		listed[obj.Key] = true
		i.push(obj)
	}
	for _, key := range slices.Concat(i.FIFO.Keys, slices.Sorted(maps.Keys(i.Store.Objects))) {
		if !listed[key] {
			i.push(Ref{"Deleted", key, ""}) // once, also if the key is in both
		}
	}
}

// lose empties the queue, because Pop waits although keys went in.
func (f *FIFO) lose() {
	if len(f.Keys) > 0 {
		key := f.Keys[0]
		f.Differs = fmt.Sprintf("Pop waits, and %s went in and never came out: %s", key, types(f.Deltas[key]))
	}
	f.Keys = nil
	clear(f.Deltas)
}

// set replaces the deltas of a key. A key without deltas leaves the queue.
func (f *FIFO) set(key string, deltas []Ref) {
	if len(deltas) > 0 {
		f.Deltas[key] = deltas
		return
	}
	delete(f.Deltas, key)
	if at := slices.Index(f.Keys, key); at >= 0 {
		f.Keys = remove(f.Keys, at)
	}
}

// pop removes what Pop has handed out. A delta that was recorded while Pop was under way stays.
func (f *FIFO) pop(step *Step) {
	f.Popping, f.Popped, f.Since, f.Differs = step.Key, step.List, step.At, ""
	pending := f.Deltas[step.Key]
	n := len(step.List)
	if n > len(pending) || !slices.EqualFunc(pending[:n], step.List, sameDelta) {
		f.Differs = fmt.Sprintf("%s: went in %s; came out %s", step.Key, types(pending), types(step.List))
		n = len(pending)
	}
	f.set(step.Key, nil)
	if rest := pending[n:]; len(rest) > 0 {
		f.Keys = append(f.Keys, step.Key)
		f.Deltas[step.Key] = slices.Clone(rest)
	}
}

// sameDelta compares a delta with one that came out. The version of a tombstone is that of the last known object.
func sameDelta(in, out Ref) bool {
	return in.Type == out.Type &&
		(in.Version == out.Version || in.Version == "" || out.Version == "" || in.Type == "Deleted")
}

func types(deltas []Ref) string {
	if len(deltas) == 0 {
		return "nothing"
	}
	var names []string
	for _, d := range deltas {
		names = append(names, strings.TrimSuffix(d.Type+"@"+d.Version, "@"))
	}
	return strings.Join(names, ", ")
}

func (i *Informer) applyStore(step *Step) {
	old, existed := i.Store.Objects[step.Key]
	switch step.Verb {
	case Add, Update, Delete:
		i.stored(step, step.Count == 1) // the object is there after the call
		if delete(i.Store.Entries, step.Key); step.Code == NotRead {
			i.Store.Unread = true
			clear(i.Store.Entries)
		} else if len(step.List) > 0 {
			i.Store.Entries[step.Key] = step.List
		}
		if i.FIFO.Popping == step.Key {
			i.notify(step, old.Version, existed)
		}
	case Closed:
		i.Closed = true
	case Looked, AddIndexers:
		i.Store.Differs = step.Error
	}
}

// stored notes whether the Indexer has an object after a change of it.
func (i *Informer) stored(step *Step, there bool) {
	i.caughtUp(step.Key, step.Version, !there)
	if there {
		i.Store.Objects[step.Key] = Object{i.Kind, step.Key, step.Version, step.Text}
	} else {
		delete(i.Store.Objects, step.Key)
	}
}

// remove removes one element. The first one, which is the usual case, costs nothing.
func remove[T any](s []T, at int) []T {
	if at == 0 {
		return s[1:]
	}
	return slices.Delete(s, at, at+1)
}
