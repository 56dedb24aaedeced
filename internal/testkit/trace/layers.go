package trace

// This file wraps the layers, so that each records what it does.

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
)

// Wrap returns layers that do the same as l and record it.
func (rec *Recorder) Wrap(l layers.Layers) layers.Layers {
	w := l
	w.NewIndexer = func(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
		return &indexer{l.NewIndexer(keyFunc, indexers), rec}
	}
	w.NewDeltaFIFO = func(options cache.DeltaFIFOOptions) cache.Queue { return &fifo{l.NewDeltaFIFO(options), rec} }
	w.NewWorkQueue = func(limiter layers.RateLimiter, config layers.WorkQueueConfig) layers.WorkQueue {
		return &queue{l.NewWorkQueue(limiter, config), rec}
	}
	w.NewClient = func(config *rest.Config) (layers.Client, error) {
		c, err := l.NewClient(config)
		return &client{c, rec}, err
	}
	return w
}

type indexer struct {
	cache.Indexer
	rec *Recorder
}

func (i *indexer) Add(obj any) error { i.rec.Note(Store, obj, "Add"); return i.Indexer.Add(obj) }
func (i *indexer) Update(obj any) error {
	i.rec.Note(Store, obj, "Update")
	return i.Indexer.Update(obj)
}
func (i *indexer) Delete(obj any) error {
	i.rec.Note(Store, obj, "Delete")
	return i.Indexer.Delete(obj)
}

type fifo struct {
	cache.Queue
	rec *Recorder
}

func (f *fifo) Pop(process cache.PopProcessFunc) (any, error) {
	return f.Queue.Pop(func(obj any, inInitialList bool) error {
		deltas, _ := obj.(cache.Deltas) // a wrong queue may hand out something else
		for _, d := range deltas {
			f.rec.Note(Delta, d.Object, "%s", d.Type)
		}
		return process(obj, inInitialList)
	})
}

type queue struct {
	layers.WorkQueue
	rec *Recorder
}

func (q *queue) Add(key cache.ObjectName) {
	q.rec.Note(Queue, key, "Add")
	q.WorkQueue.Add(key)
}

func (q *queue) AddRateLimited(key cache.ObjectName) {
	q.rec.Note(Queue, key, "AddRateLimited, failure %d", q.NumRequeues(key)+1)
	q.WorkQueue.AddRateLimited(key)
}

func (q *queue) Get() (cache.ObjectName, bool) {
	key, shutdown := q.WorkQueue.Get()
	if !shutdown {
		q.rec.Note(Worker, key, taken)
	}
	return key, shutdown
}

type client struct {
	layers.Client
	rec *Recorder
}

func (c *client) BudgetWriter(namespace string) layers.BudgetClient {
	return &writer{c.Client.BudgetWriter(namespace), namespace, c.rec}
}

type writer struct {
	layers.BudgetClient
	namespace string
	rec       *Recorder
}

func (w *writer) note(name, verb string, err error) {
	answer := "done"
	if err != nil {
		answer = err.Error()
	}
	w.rec.Note(Worker, w.namespace+"/"+name, "%s: %s", verb, answer)
}

func (w *writer) Create(ctx context.Context, budget *policyv1.PodDisruptionBudget,
	options metav1.CreateOptions) (*policyv1.PodDisruptionBudget, error) {
	result, err := w.BudgetClient.Create(ctx, budget, options)
	w.note(budget.Name, "create", err)
	return result, err
}

func (w *writer) Update(ctx context.Context, budget *policyv1.PodDisruptionBudget,
	options metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	result, err := w.BudgetClient.Update(ctx, budget, options)
	w.note(budget.Name, "update", err)
	return result, err
}

func (w *writer) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	err := w.BudgetClient.Delete(ctx, name, options)
	w.note(name, "delete", err)
	return err
}
