// Package trace records what each layer did with each object, and when, so that a test that spans all layers can show
// where a change got lost:
//
//	6d 04:01:00.000  server    default/web@812  deploy scaled to 3
//	6d 04:01:00.000  delta     default/web@812  deploy Updated
//	6d 04:01:00.000  store     default/web@812  deploy Update
//	6d 04:01:00.000  handler   default/web@812  deploy OnUpdate
//	             ✗ queue     this state never came here
//
// Recorder.Wrap (layers.go) returns layers that do the same as the given ones and record it. The test itself records
// the rows of the server and of the handlers. What it leaves out: the wire, which is below the first thing that a
// Reflector says, and informers that do not use the layers they are given, as client-go's own.
package trace

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// The layers, in the order in which a change passes them.
const (
	Server  = "server"
	Delta   = "delta"
	Store   = "store"
	Handler = "handler"
	Queue   = "queue"
	Worker  = "worker"
)

var order = []string{Server, Delta, Store, Handler, Queue, Worker}

// taken is the text of a worker's row when it has taken a key from the queue.
const taken = "has it"

// shortKinds are abbreviated as in kubectl.
var shortKinds = map[string]string{"Deployment": "deploy", "PodDisruptionBudget": "pdb"}

// Row is one line of a trace.
type Row struct {
	At      time.Duration // since the Recorder was made
	Layer   string
	Kind    string // "Deployment", "PodDisruptionBudget"; empty in a queue, which has keys only
	Key     string // namespace/name; empty if the row is about everything
	Version string
	What    string
}

// String returns the row as the tests print it.
func (r Row) String() string {
	name := r.Key
	if r.Version != "" {
		name += "@" + r.Version
	}
	at := fmt.Sprintf("%dd %s", r.At/(24*time.Hour), time.Time{}.Add(r.At).Format("15:04:05.000"))
	return fmt.Sprintf("%14s  %-7s  %-18s %s", at, r.Layer, name,
		strings.TrimSpace(cmp.Or(shortKinds[r.Kind], r.Kind)+" "+r.What))
}

// Recorder keeps the rows. Any goroutine may call its methods.
type Recorder struct {
	start time.Time
	lock  sync.Mutex
	rows  []Row
}

// New returns a Recorder without rows. Its time starts now.
func New() *Recorder { return &Recorder{start: time.Now()} }

// Note adds a row about obj, which is an object, a tombstone, a key, or nil for everything.
func (rec *Recorder) Note(layer string, obj any, format string, args ...any) {
	rec.NoteChange(layer, fmt.Sprintf(format, args...), func() any { return obj })
}

// NoteChange adds a row, then calls change, and completes the row with the object that it returns. So what follows from
// the change comes behind the row, although the row has what only the change tells, such as the object's version.
func (rec *Recorder) NoteChange(layer, what string, change func() any) {
	r := Row{At: time.Since(rec.start), Layer: layer, What: what}
	rec.lock.Lock()
	at := len(rec.rows)
	rec.rows = append(rec.rows, r)
	rec.lock.Unlock()
	r.describe(change())
	rec.lock.Lock()
	defer rec.lock.Unlock()
	rec.rows[at] = r
}

// describe sets what a row says of obj.
func (r *Row) describe(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		r.Key, obj = tombstone.Key, tombstone.Obj
		r.What += " (tombstone)"
	}
	switch o := obj.(type) {
	case nil:
	case string:
		r.Key = o
	case cache.ObjectName:
		r.Key = o.String()
	default:
		if meta, err := meta.Accessor(obj); err == nil {
			r.Key, r.Version = cache.MetaObjectToName(meta).String(), meta.GetResourceVersion()
			r.Kind = reflect.TypeOf(obj).Elem().Name()
		}
	}
}

// Of returns the last n rows about a key, of every kind, and the rows about everything between them.
func (rec *Recorder) Of(key string, n int) []Row {
	rec.lock.Lock()
	defer rec.lock.Unlock()
	var rows []Row
	for _, r := range rec.rows {
		if r.Key == key || r.Key == "" {
			rows = append(rows, r)
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
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].At == rows[from].At {
			to++
		}
		slices.SortStableFunc(rows[from:to], func(a, b Row) int {
			return cmp.Compare(min(slices.Index(order, a.Layer), 1), min(slices.Index(order, b.Layer), 1))
		})
		from = to
	}
	unordered := func(r Row) bool {
		return r.Layer == Handler || r.Layer == Queue || r.Layer == Worker && r.What == taken
	}
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && unordered(rows[to]) && rows[to].At == rows[from].At {
			to++
		}
		slices.SortStableFunc(rows[from:to], func(a, b Row) int {
			return cmp.Or(slices.Index(order, a.Layer)-slices.Index(order, b.Layer), strings.Compare(a.What, b.What))
		})
		from = max(to, from+1)
	}
}

// Lost returns the first layer between the queue of deltas and the handlers that a state of an object did not reach. It
// returns "" if the state reached the handlers, if the server did not have it, or if no delta was recorded at all and
// the handlers have it. An empty version stands for any.
func (rec *Recorder) Lost(kind, key, version string, deleted bool) string {
	rec.lock.Lock()
	defer rec.lock.Unlock()
	from := slices.IndexFunc(rec.rows, func(r Row) bool {
		return r.Layer == Server && r.Kind == kind && r.Key == key && (r.Version == version || version == "")
	})
	if from < 0 {
		return ""
	}
	silent := !slices.ContainsFunc(rec.rows, func(r Row) bool { return r.Layer == Delta })
	for _, layer := range order[1:4] {
		if silent && layer != Handler {
			continue
		}
		reached := slices.ContainsFunc(rec.rows[from:], func(r Row) bool {
			return r.Layer == layer && r.Kind == kind && r.Key == key &&
				(r.Version == version || deleted && strings.Contains(r.What, "Delete"))
		})
		if !reached {
			return layer
		}
	}
	return ""
}

// Unseen reports whether no handler has received the last budget that a worker created for a key.
func (rec *Recorder) Unseen(key string) bool {
	rec.lock.Lock()
	defer rec.lock.Unlock()
	for _, r := range slices.Backward(rec.rows) {
		switch {
		case r.Key != key:
		case r.Layer == Handler && r.Kind == "PodDisruptionBudget":
			return false
		case r.Layer == Worker && r.What == "create: done":
			return true
		}
	}
	return false
}
