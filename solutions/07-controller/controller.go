// Package controller keeps one PodDisruptionBudget for each Deployment that wants two or more replicas, so that the
// drain of a node evicts the Deployment's Pods one at a time.
//
// The way of an event, from left to right. The workshop rebuilds all of it except the server:
//
//	API server → informer → handler: which key? → queue → worker → reconcile → API server
//	                └─ cache ─────────────────── read by ─────────────┘
//
// The informer has four files; begin with shared_informer.go. The controller has three:
//   - controller.go: the handlers, the queue and the workers.
//   - reconcile.go: one step from the current state to the desired one.
//   - budget.go: which budget is right, and who owns it. It is given.
//
// Config takes interfaces of client-go (cache.SharedIndexInformer, workqueue.TypedRateLimitingInterface,
// record.EventRecorder), so any implementation fits.
//
// # Rules
//
//   - A budget is ours if its Deployment controls it, or if it has our label and no controlling owner. Any other budget
//     is foreign, and the controller never writes to it.
//   - A right budget has its Deployment's name, namespace and selector. Its minAvailable is one less than the desired
//     replicas, and the Deployment is its controlling owner.
//   - A Deployment that shrinks below two replicas, or carries OptOutAnnotation, has no budget.
//   - A Deployment has no budget of ours beside a foreign one for the same Pods: the API server refuses to evict a Pod
//     that two budgets select.
//   - After the Deployment is deleted, the garbage collector deletes the budget. If another owner keeps it, the
//     controller removes it. A budget without any owner was orphaned on purpose, and stays.
//   - A refused request is tried again, with longer and longer waits, and is one Event of its Deployment.
//   - Adoption: a budget that lost its owner reference but has our label gets the reference again. So does one that a
//     user orphaned just before the cache received the Deployment's deletion, and it is deleted with the Deployment.
//
// Left out: metrics, health endpoints, and writing a status.
package controller

// This file has the controller around Reconcile: its handlers, which only add keys to the queue, and its workers, which
// take keys from it. reconcile.go decides what to write.

import (
	"context"
	"fmt"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	appsv1listers "k8s.io/client-go/listers/apps/v1"
	policyv1listers "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
)

// ReconcileTimeout limits one Reconcile. Otherwise a request that the server never answers would hold its worker
// forever.
const ReconcileTimeout = 30 * time.Second

// madeByOthersIndex finds, by namespace, the budgets that this controller did not make.
const madeByOthersIndex = "client-go-workshop/made-by-others"

// BudgetClient writes the budgets of one namespace.
type BudgetClient = layers.BudgetClient

// Config has the parts of a Controller. All fields are required.
type Config struct {
	Deployments cache.SharedIndexInformer // of *appsv1.Deployment; the caller starts and stops it
	Budgets     cache.SharedIndexInformer // of *policyv1.PodDisruptionBudget, likewise

	// Queue holds the names of Deployments to look at. Only the Controller may shut it down.
	Queue workqueue.TypedRateLimitingInterface[cache.ObjectName]

	Client   func(namespace string) BudgetClient
	Recorder record.EventRecorder // must not block, as client-go's does not

	Workers      int           // Deployments reconciled at the same time, at least 1
	DrainTimeout time.Duration // how long Run finishes queued work after its context ends
}

// Controller keeps the budgets right. New makes one.
type Controller struct {
	deployments appsv1listers.DeploymentLister
	budgets     policyv1listers.PodDisruptionBudgetLister
	// budgetIndexer is the budgets' cache, with madeByOthersIndex.
	budgetIndexer cache.Indexer

	synced   []cache.DoneChecker
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	client   func(namespace string) BudgetClient
	recorder record.EventRecorder
	workers  int
	drain    time.Duration

	// refused holds the keys whose last results were refusals. Each of them has had its Event.
	refused sync.Map
}

// New registers the Controller's handlers with its informers, which may have started already. From then on events add
// keys to the queue, and Run processes them. The handlers stay until the informers stop. New returns an error for a
// Config that cannot work, and for an informer that has stopped.
func New(logger klog.Logger, config Config) (*Controller, error) {
	if config.Workers < 1 {
		return nil, fmt.Errorf("making the controller: %d workers cannot do any work, at least 1 is needed", config.Workers)
	}
	c := &Controller{
		deployments:   appsv1listers.NewDeploymentLister(config.Deployments.GetIndexer()),
		budgets:       policyv1listers.NewPodDisruptionBudgetLister(config.Budgets.GetIndexer()),
		budgetIndexer: config.Budgets.GetIndexer(),
		queue:         config.Queue,
		client:        config.Client,
		recorder:      config.Recorder,
		workers:       config.Workers,
		drain:         config.DrainTimeout,
	}
	for _, informer := range []cache.SharedIndexInformer{config.Deployments, config.Budgets} {
		// Updates with an unchanged resourceVersion are resyncs, and are not filtered out: a
		// resync is a second look at everything, and costs no request where all is right.
		registration, err := informer.AddEventHandlerWithOptions(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.enqueue(logger, obj) },
			UpdateFunc: func(old, new any) { c.enqueue(logger, old, new) },
			DeleteFunc: func(obj any) { c.enqueue(logger, obj) },
		}, cache.HandlerOptions{Logger: &logger})
		if err != nil {
			return nil, fmt.Errorf("making the controller: adding an event handler: %w", err)
		}
		// The informer's own HasSynced would be too early: then the cache is full, but the
		// handlers may not have received all of the first list.
		c.synced = append(c.synced, registration.HasSyncedChecker())
	}
	if err := config.Budgets.AddIndexers(cache.Indexers{madeByOthersIndex: indexMadeByOthers}); err != nil {
		return nil, fmt.Errorf("making the controller: adding an index: %w", err)
	}
	return c, nil
}

// indexMadeByOthers is an index function. It returns the namespace of a budget that this controller did not make.
func indexMadeByOthers(obj any) ([]string, error) {
	if budget, ok := obj.(*policyv1.PodDisruptionBudget); ok && !madeForDeployment(budget) {
		return []string{budget.Namespace}, nil
	}
	return nil, nil
}

// Run waits until both caches are complete and the handlers have received them. Then Config.Workers workers reconcile
// until ctx ends. Run may be called once.
//
// After ctx has ended, Run finishes the running and the queued keys, for at most Config.DrainTimeout. It cancels no
// request before DrainTimeout. After DrainTimeout, Run cancels the running requests and starts no other. Run returns
// when no worker is left. It drops the keys that wait for a retry: the next start looks at every Deployment anyway. The
// queue is shut down whenever Run returns.
//
// A panic in a worker ends the program, as everywhere in Kubernetes. If utilruntime.ReallyCrash is off, the worker
// starts again after a second.
//
//workshop:task 7
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown() // also if the caches never become complete
	logger := klog.FromContext(ctx)

	// Until both caches are complete, a budget that is not listed yet looks like a missing one.
	if !cache.WaitFor(ctx, "caches", c.synced...) {
		return
	}
	logger.Info("Starting workers", "count", c.workers)

	// Workers outlive ctx, so that a stop does not interrupt a write.
	workCtx, cancelWork := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelWork()
	var workers sync.WaitGroup
	for range c.workers {
		// wait.UntilWithContext handles a panic as all of Kubernetes does: log it, and
		// crash, unless runtime.ReallyCrash is off; then the worker starts again.
		workers.Go(func() {
			workerCtx, stop := context.WithCancel(workCtx)
			wait.UntilWithContext(workerCtx, func(ctx context.Context) { c.work(ctx); stop() }, time.Second)
		})
	}

	<-ctx.Done()
	logger.Info("Stopping workers", "queued", c.queue.Len())
	// Not ShutDownWithDrain: client-go's can end while keys are queued and no worker has one (#141079).
	c.queue.ShutDown()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		workers.Wait()
	}()
	select {
	case <-finished:
	case <-time.After(c.drain):
		logger.Info("Workers did not finish in time, their requests are cancelled", "after", c.drain)
	}
	cancelWork()
	workers.Wait()
}

// work processes keys until the queue is shut down and empty, or ctx ends.
//
//workshop:omit
func (c *Controller) work(ctx context.Context) {
	for ctx.Err() == nil && c.processNext(ctx) {
	}
}

// processNext waits for a key and reconciles it. It returns false when the queue is shut down and empty. The queue can
// give out the key again, even after a panic. It cancels a Reconcile that takes longer than ReconcileTimeout.
//
// After a success the next failure begins with the shortest wait. After every failure the key returns to the queue
// after a longer wait, whatever the error is and however many there were.
//
// It passes each result to recordResult. It reports each error to utilruntime, except a conflict and an object that
// exists already.
//
//workshop:task 7
func (c *Controller) processNext(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)

	logger := klog.LoggerWithValues(klog.FromContext(ctx), "deployment", key)
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, logger), ReconcileTimeout)
	defer cancel()
	err := c.Reconcile(ctx, key)
	c.recordResult(key, err)
	switch {
	case err == nil:
		c.queue.Forget(key)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		// The cache was behind. The server has refused the write, and by the next try the
		// cache has most likely caught up. This is normal, and not an error.
		logger.V(2).Info("The cache was behind the server, trying again", "refused", err)
		c.queue.AddRateLimited(key)
	default:
		c.queue.AddRateLimited(key)
		utilruntime.HandleErrorWithContext(ctx, err, "Reconciling failed, trying again", "failures", c.queue.NumRequeues(key))
	}
	return true
}

// enqueue adds to the queue the keys of the Deployments that an event concerns, and does nothing else. It receives the
// new state of an object, or the old and the new; after a missed deletion the state is a tombstone.
//
// An event concerns the Deployment of the object's name. A budget's event concerns the Deployment that controls the
// budget. A foreign budget also concerns the Deployments whose Pods it selects. Both states count: the old one may name
// a Deployment that the new one does not. Each key is added once, however many states name it. A state that is not an
// object with a name is reported to utilruntime and ignored.
//
//workshop:task 7
func (c *Controller) enqueue(logger klog.Logger, states ...any) {
	// A set, because most often all of these are the same. If a worker took a key between two
	// adds, it would process the key twice, the second time on a cache without its first write.
	keys := sets.New[cache.ObjectName]()
	for _, state := range states {
		key, err := cache.DeletionHandlingObjectToName(state)
		if err != nil {
			utilruntime.HandleErrorWithLogger(logger, err, "Ignoring an event without a named object", "type",
				fmt.Sprintf("%T", state))
			continue
		}
		keys.Insert(key)

		// A deletion that the watch missed is a tombstone: the key, and the last known state
		// if there is one.
		if tombstone, ok := state.(cache.DeletedFinalStateUnknown); ok {
			state = tombstone.Obj
		}
		if budget, ok := state.(*policyv1.PodDisruptionBudget); ok {
			if owner := metav1.GetControllerOfNoCopy(budget); owner != nil && isDeployment(owner) {
				keys.Insert(cache.NewObjectName(budget.Namespace, owner.Name))
			}
			keys.Insert(c.deploymentsSelected(budget)...)
		}
	}
	for key := range keys {
		c.queue.Add(key)
	}
}
