// Package controller, in another correct design of the machine, as most controllers have it:
//
//   - Run waits by cache.WaitForCacheSync, which polls each 100 ms, for the HasSynced of both registrations.
//   - The stop is a plain ShutDown. A queue that is shut down still hands out the keys that it has, so the workers
//     drain it, and Run waits for them instead of for the queue.
//   - A step and what becomes of its key are in two functions. The keys of an event are a slice.
//
// It is correct because nothing promises that work begins in the moment in which the caches are complete.
package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	appsv1listers "k8s.io/client-go/listers/apps/v1"
	policyv1listers "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
)

// ReconcileTimeout is the time that one Reconcile has.
const ReconcileTimeout = 30 * time.Second

// madeByOthersIndex finds, by namespace, the budgets that this controller has not made.
const madeByOthersIndex = "client-go-workshop/made-by-others"

// BudgetClient writes the budgets of one namespace.
type BudgetClient = layers.BudgetClient

// Config is what a Controller is put together from.
type Config struct {
	Deployments  cache.SharedIndexInformer
	Budgets      cache.SharedIndexInformer
	Queue        workqueue.TypedRateLimitingInterface[cache.ObjectName]
	Client       func(namespace string) BudgetClient
	Recorder     record.EventRecorder
	Workers      int
	DrainTimeout time.Duration
}

// Controller keeps the budgets right. New makes one.
type Controller struct {
	deployments   appsv1listers.DeploymentLister
	budgets       policyv1listers.PodDisruptionBudgetLister
	budgetIndexer cache.Indexer
	synced        []cache.InformerSynced
	queue         workqueue.TypedRateLimitingInterface[cache.ObjectName]
	client        func(namespace string) BudgetClient
	recorder      record.EventRecorder
	workers       int
	drain         time.Duration
	refused       sync.Map
}

// New connects a Controller to its informers.
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
		registration, err := informer.AddEventHandlerWithOptions(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.enqueue(logger, obj) },
			UpdateFunc: func(old, new any) { c.enqueue(logger, old, new) },
			DeleteFunc: func(obj any) { c.enqueue(logger, obj) },
		}, cache.HandlerOptions{Logger: &logger})
		if err != nil {
			return nil, fmt.Errorf("making the controller: adding an event handler: %w", err)
		}
		c.synced = append(c.synced, registration.HasSynced)
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

// Run waits for the caches, works until ctx ends, and returns when no worker is left.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var workers sync.WaitGroup
	for range c.workers {
		workers.Go(func() { c.keepWorking(working) })
	}
	<-ctx.Done()

	c.queue.ShutDown()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		workers.Wait()
	}()
	timer := time.NewTimer(c.drain)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		cancel()
		<-ended
	}
}

// keepWorking is one worker. After a panic, if that does not end the program, it starts again.
func (c *Controller) keepWorking(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		c.runWorker(ctx)
		end() // the queue is empty for good, and not in a panic
	}, time.Second)
}

// runWorker works until the queue is shut down and empty, or ctx ends.
func (c *Controller) runWorker(ctx context.Context) {
	for c.processNext(ctx) {
		if ctx.Err() != nil {
			return
		}
	}
}

func (c *Controller) processNext(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "deployment", key))
	err := c.step(ctx, key)
	c.recordResult(key, err)
	if err == nil {
		c.queue.Forget(key)
		return true
	}
	c.queue.AddRateLimited(key)
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		utilruntime.HandleErrorWithContext(ctx, err, "Reconciling failed, trying again")
	}
	return true
}

// step is one Reconcile, with its deadline.
func (c *Controller) step(ctx context.Context, key cache.ObjectName) error {
	ctx, cancel := context.WithTimeout(ctx, ReconcileTimeout)
	defer cancel()
	return c.Reconcile(ctx, key)
}

// enqueue adds the keys that an event concerns, each once.
func (c *Controller) enqueue(logger klog.Logger, states ...any) {
	var keys []cache.ObjectName
	for _, state := range states {
		key, err := cache.DeletionHandlingObjectToName(state)
		if err != nil {
			utilruntime.HandleErrorWithLogger(logger, err, "Ignoring an event without a named object")
			continue
		}
		keys = append(keys, key)
		if tombstone, ok := state.(cache.DeletedFinalStateUnknown); ok {
			state = tombstone.Obj
		}
		keys = append(keys, c.concernedBy(state)...)
	}
	slices.SortFunc(keys, func(a, b cache.ObjectName) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range slices.Compact(keys) {
		c.queue.Add(key)
	}
}

// concernedBy returns the Deployments that a budget concerns beside the one of its name.
func (c *Controller) concernedBy(state any) []cache.ObjectName {
	budget, ok := state.(*policyv1.PodDisruptionBudget)
	if !ok {
		return nil
	}
	keys := c.deploymentsSelected(budget)
	if owner := metav1.GetControllerOfNoCopy(budget); owner != nil && isDeployment(owner) {
		keys = append(keys, cache.NewObjectName(budget.Namespace, owner.Name))
	}
	return keys
}
