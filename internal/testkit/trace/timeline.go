// Package trace writes down what each layer did with each object, with the (simulated) time, so that a test that spans
// all layers can show where a change got lost:
//
//	6d 4h01m00.0s  server    default/web@812  Deployment scaled to 3
//	6d 4h01m00.0s  delta     default/web@812  Updated
//	6d 4h01m00.0s  store     default/web@812  Update
//	6d 4h01m00.0s  handler   default/web@812  OnUpdate
//	             ✗ queue                      nothing about it ever came here
//
// It stands between the layers: Wrap returns layers that do what the given ones do, and tell. The server's and the handlers'
// lines are written by the test. What it leaves out: the wire, which is below the first thing that a Reflector says, and
// informers that do not use the layers they are given, as client-go's own.
package trace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/layers"
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

// Row is one line.
type Row struct {
	At      time.Duration // since the beginning
	Layer   string
	Kind    string // "Deployment", "PodDisruptionBudget"; empty in a queue, which only knows names
	Key     string // namespace/name; empty for what concerns everything
	Version string
	What    string
}

func (r Row) String() string {
	name := r.Key
	if r.Version != "" {
		name += "@" + r.Version
	}
	return fmt.Sprintf("%14s  %-7s  %-18s %s", stamp(r.At), r.Layer, name, strings.TrimSpace(short(r.Kind)+" "+r.What))
}

// short is a kind as kubectl abbreviates it.
func short(kind string) string {
	switch kind {
	case "Deployment":
		return "deploy"
	case "PodDisruptionBudget":
		return "pdb"
	}
	return kind
}

func stamp(d time.Duration) string {
	days := d / (24 * time.Hour)
	d -= days * 24 * time.Hour
	return fmt.Sprintf("%dd %02d:%02d:%06.3f", days, int(d.Hours()), int(d.Minutes())%60, (d % time.Minute).Seconds())
}

// Timeline is what happened. Its methods may be called from any goroutine.
type Timeline struct {
	start time.Time
	lock  sync.Mutex
	rows  []Row
}

// New returns an empty one, whose time begins now.
func New() *Timeline { return &Timeline{start: time.Now()} }

// Note writes a line about an object, or a tombstone, or a name.
func (t *Timeline) Note(layer string, obj any, format string, args ...any) {
	r := Row{At: time.Since(t.start), Layer: layer, What: fmt.Sprintf(format, args...)}
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
		if about, err := meta.Accessor(obj); err == nil {
			r.Key, r.Version = about.GetNamespace()+"/"+about.GetName(), about.GetResourceVersion()
			r.Kind = fmt.Sprintf("%T", obj)
			r.Kind = r.Kind[strings.LastIndex(r.Kind, ".")+1:]
		}
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	t.rows = append(t.rows, r)
}

// Of returns the last n rows that concern a name, of both kinds, and what concerns everything between them.
func (t *Timeline) Of(key string, n int) []Row {
	t.lock.Lock()
	defer t.lock.Unlock()
	var rows []Row
	for _, r := range slices.Backward(t.rows) {
		if r.Key == key || (r.Key == "" && len(rows) > 0) {
			rows = append(rows, r)
		}
		if len(rows) == n {
			break
		}
	}
	slices.Reverse(rows)
	settle(rows)
	return rows
}

// settle brings rows of the same instant into one order, if they come from goroutines that do not wait for each other: the
// handlers, and a queue with its workers. So a story that is told twice reads the same.
func settle(rows []Row) {
	loose := func(r Row) bool {
		return r.Layer == Handler || r.Layer == Queue || r.Layer == Worker && r.What == hasIt
	}
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && loose(rows[to]) && rows[to].At == rows[from].At {
			to++
		}
		slices.SortStableFunc(rows[from:to], func(a, b Row) int {
			return cmp.Or(slices.Index(order, a.Layer)-slices.Index(order, b.Layer), strings.Compare(a.What, b.What))
		})
		from = max(to, from+1)
	}
}

// hasIt is what a worker's row says when it has taken a name.
const hasIt = "has it"

// Lost says which layer was the first that a state of an object never came to: the server has it, each layer up to this one
// has it too. It returns "" if the state went all the way to the handlers, or if the layers say nothing at all.
func (t *Timeline) Lost(kind, key, version string, deleted bool) string {
	t.lock.Lock()
	defer t.lock.Unlock()
	from := slices.IndexFunc(t.rows, func(r Row) bool {
		return r.Layer == Server && r.Kind == kind && r.Key == key && (r.Version == version || version == "")
	})
	if from < 0 {
		return ""
	}
	silent := !slices.ContainsFunc(t.rows, func(r Row) bool { return r.Layer == Delta })
	for _, layer := range order[1:4] {
		if silent && layer != Handler {
			continue
		}
		came := slices.ContainsFunc(t.rows[from:], func(r Row) bool {
			if r.Layer != layer || r.Kind != kind || r.Key != key {
				return false
			}
			return r.Version == version || deleted && strings.Contains(r.What, "Delete")
		})
		if !came {
			return layer
		}
	}
	return ""
}

// NeverHeardOf says whether the last budget that a worker has created for a name came to no handler.
func (t *Timeline) NeverHeardOf(key string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	for _, r := range slices.Backward(t.rows) {
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

// Wrap returns layers that do what these do, and write it down.
func (t *Timeline) Wrap(l layers.Layers) layers.Layers {
	w := l
	w.NewIndexer = func(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
		return &indexer{l.NewIndexer(keyFunc, indexers), t}
	}
	w.NewDeltaFIFO = func(options cache.DeltaFIFOOptions) cache.Queue { return &fifo{l.NewDeltaFIFO(options), t} }
	w.NewWorkQueue = func(limiter workqueue.TypedRateLimiter[cache.ObjectName], config workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]) workqueue.TypedRateLimitingInterface[cache.ObjectName] {
		return &queue{l.NewWorkQueue(limiter, config), t}
	}
	w.NewClient = func(config *rest.Config) (layers.Client, error) {
		c, err := l.NewClient(config)
		return &client{c, t}, err
	}
	return w
}

type indexer struct {
	cache.Indexer
	t *Timeline
}

func (i *indexer) Add(obj any) error    { i.t.Note(Store, obj, "Add"); return i.Indexer.Add(obj) }
func (i *indexer) Update(obj any) error { i.t.Note(Store, obj, "Update"); return i.Indexer.Update(obj) }
func (i *indexer) Delete(obj any) error { i.t.Note(Store, obj, "Delete"); return i.Indexer.Delete(obj) }

type fifo struct {
	cache.Queue
	t *Timeline
}

func (f *fifo) Pop(process cache.PopProcessFunc) (any, error) {
	return f.Queue.Pop(func(obj any, inInitialList bool) error {
		if deltas, ok := obj.(cache.Deltas); ok {
			for _, d := range deltas {
				f.t.Note(Delta, d.Object, "%s", d.Type)
			}
		}
		return process(obj, inInitialList)
	})
}

type queue struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	t *Timeline
}

func (q *queue) Add(key cache.ObjectName) {
	q.t.Note(Queue, key, "Add")
	q.TypedRateLimitingInterface.Add(key)
}

func (q *queue) AddRateLimited(key cache.ObjectName) {
	q.t.Note(Queue, key, "AddRateLimited, failure %d", q.NumRequeues(key)+1)
	q.TypedRateLimitingInterface.AddRateLimited(key)
}

func (q *queue) Get() (cache.ObjectName, bool) {
	key, shutdown := q.TypedRateLimitingInterface.Get()
	if !shutdown {
		q.t.Note(Worker, key, hasIt)
	}
	return key, shutdown
}

type client struct {
	layers.Client
	t *Timeline
}

func (c *client) BudgetWriter(namespace string) layers.BudgetClient {
	return &writer{c.Client.BudgetWriter(namespace), namespace, c.t}
}

type writer struct {
	layers.BudgetClient
	namespace string
	t         *Timeline
}

func (w *writer) note(name, verb string, err error) {
	answer := "done"
	if err != nil {
		answer = err.Error()
	}
	w.t.Note(Worker, w.namespace+"/"+name, "%s: %s", verb, answer)
}

func (w *writer) Create(ctx context.Context, budget *policyv1.PodDisruptionBudget, options metav1.CreateOptions) (*policyv1.PodDisruptionBudget, error) {
	result, err := w.BudgetClient.Create(ctx, budget, options)
	w.note(budget.Name, "create", err)
	return result, err
}

func (w *writer) Update(ctx context.Context, budget *policyv1.PodDisruptionBudget, options metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	result, err := w.BudgetClient.Update(ctx, budget, options)
	w.note(budget.Name, "update", err)
	return result, err
}

func (w *writer) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	err := w.BudgetClient.Delete(ctx, name, options)
	w.note(name, "delete", err)
	return err
}
