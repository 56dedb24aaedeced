package recorder

// This file puts the wrappers around layers.

import (
	"cmp"
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/pipeline"
)

// The kinds of the workshop's controller.
const (
	Deployment = "Deployment"
	Budget     = "PodDisruptionBudget"
)

// Wrap returns the layers for the informer of one kind. They do the same as l and record it.
func (r *Recorder) Wrap(l layers.Layers, kind string) layers.Layers {
	w := l
	w.NewIndexer = func(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
		return r.indexer(l.NewIndexer(keyFunc, indexers), kind)
	}
	w.NewDeltaFIFO = func(options cache.DeltaFIFOOptions) cache.Queue {
		f := &fifo{Queue: l.NewDeltaFIFO(options), rec: r, kind: kind, replaced: cache.Sync}
		if options.EmitDeltaTypeReplaced {
			f.replaced = cache.Replaced
		}
		r.look(f.looked)
		return f
	}
	w.NewReflector = func(lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore,
		options layers.ReflectorOptions) layers.Reflector {
		return &reflector{l.NewReflector(lw, expectedType, store, options), r, kind}
	}
	return w
}

// WorkQueue returns a queue of the layers that records its calls.
func (r *Recorder) WorkQueue(l layers.Layers, limiter layers.RateLimiter,
	config layers.WorkQueueConfig) layers.WorkQueue {
	q := &queue[cache.ObjectName]{rec: r}
	q.TypedRateLimitingInterface = l.NewWorkQueue(&limit[cache.ObjectName]{limiter, q}, config)
	r.look(q.looked)
	return q
}

// Client returns a client of the layers that records requests, streams, lists, watches and writes.
func (r *Recorder) Client(l layers.Layers, config *rest.Config) (layers.Client, error) {
	config = rest.CopyConfig(config)
	config.Wrap(r.Transport)
	c, err := l.NewClient(config)
	if err != nil {
		return nil, err
	}
	return &client{c, r}, nil
}

type client struct {
	layers.Client
	rec *Recorder
}

func (c *client) Deployments(namespace string) cache.ListerWatcher {
	return c.rec.ListerWatcher(c.Client.Deployments(namespace), Deployment)
}

func (c *client) Budgets(namespace string) cache.ListerWatcher {
	return c.rec.ListerWatcher(c.Client.Budgets(namespace), Budget)
}

func (c *client) BudgetWriter(namespace string) layers.BudgetClient {
	return c.rec.Writer(c.Client.BudgetWriter(namespace), namespace)
}

// Writer returns a client of budgets that records its writes.
func (r *Recorder) Writer(below layers.BudgetClient, namespace string) layers.BudgetClient {
	return &writer{below, namespace, r}
}

// writer records the requests of workers.
type writer struct {
	layers.BudgetClient
	namespace string
	rec       *Recorder
}

// do records a write before and after it, and what it has changed on the server.
func (w *writer) do(verb, name string,
	do func() (*policyv1.PodDisruptionBudget, error)) (*policyv1.PodDisruptionBudget, error) {
	key := cache.NewObjectName(w.namespace, name).String()
	step := pipeline.Step{Seam: pipeline.Worker, Verb: pipeline.Writes, Kind: Budget, Key: key,
		By: cmp.Or(w.rec.worker(key, false), "a worker"), Text: verb}
	w.rec.pass(&step)
	result, err := do()
	change := pipeline.Step{Verb: pipeline.Wrote, Kind: Budget, Key: key}
	if verb == "delete" {
		change.Verb = pipeline.Removed
	} else if result != nil && err == nil {
		change.Version, change.Text = result.ResourceVersion, NoteOf(result)
	}
	if err == nil && !w.rec.serves.Load() {
		w.rec.Server(change)
	}
	step.Verb, step.Version, step.Error = pipeline.Answered, change.Version, text(err)
	w.rec.pass(&step)
	return result, err
}

func (w *writer) Create(ctx context.Context, budget *policyv1.PodDisruptionBudget,
	options metav1.CreateOptions) (*policyv1.PodDisruptionBudget, error) {
	return w.do("create", budget.Name, func() (*policyv1.PodDisruptionBudget, error) {
		return w.BudgetClient.Create(ctx, budget, options)
	})
}

func (w *writer) Update(ctx context.Context, budget *policyv1.PodDisruptionBudget,
	options metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	return w.do("update", budget.Name, func() (*policyv1.PodDisruptionBudget, error) {
		return w.BudgetClient.Update(ctx, budget, options)
	})
}

func (w *writer) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, err := w.do("delete", name, func() (*policyv1.PodDisruptionBudget, error) {
		return nil, w.BudgetClient.Delete(ctx, name, options)
	})
	return err
}
