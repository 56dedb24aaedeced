// Package controller keeps one PodDisruptionBudget for each Deployment that wants
// two or more replicas, so that a node drain takes its Pods one at a time.
//
// The machine, left to right. The workshop rebuilds all of it but the server:
//
//	API server → informer → handler: which key? → queue → worker → reconcile → API server
//	                └─ cache ─────────────────── read by ─────────────┘
//
// The informer is four files, which begin with shared_informer.go. The controller is three:
//   - controller.go (this one) is the machine: handlers, queue and workers.
//   - reconcile.go is the idea: what is there, what should be there, one step.
//   - budget.go is the knowledge: what a right budget is and whose it is. It is given.
//
// What the controller is put together from are client-go's interfaces (cache.SharedIndexInformer,
// workqueue.TypedRateLimitingInterface, record.EventRecorder), so any implementation fits.
//
// # Rules
//
//   - A budget has its Deployment's name, namespace and selector, minAvailable is one
//     less than the desired replicas, and the Deployment is its controlling owner.
//   - When the Deployment shrinks below two or carries OptOutAnnotation, the budget goes.
//     When the Deployment is deleted, the garbage collector takes it by the owner reference.
//   - A budget that has the name but is not this Deployment's is never touched.
//   - Adoption: a budget that lost its owner reference but has our label is taken back.
//     If it was orphaned on purpose in the moment before the cache learned of the
//     Deployment's deletion, it is taken back as well, and goes with the Deployment.
//
// Left out: metrics, health endpoints, and writing a status.
package controller

import (
	"context"
	"fmt"
	"time"

	appsv1listers "k8s.io/client-go/listers/apps/v1"
	policyv1listers "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/todo"
)

// BudgetClient writes the budgets of one namespace.
type BudgetClient = layers.BudgetClient

// Config is what a Controller is put together from. All fields are required.
type Config struct {
	Deployments cache.SharedIndexInformer // of *appsv1.Deployment; the caller starts and stops it
	Budgets     cache.SharedIndexInformer // of *policyv1.PodDisruptionBudget, likewise

	// Queue holds the names of Deployments to look at. It belongs to the Controller,
	// and nobody else may shut it down.
	Queue workqueue.TypedRateLimitingInterface[cache.ObjectName]

	Client   func(namespace string) BudgetClient
	Recorder record.EventRecorder

	Workers      int           // Deployments reconciled at the same time, at least 1
	DrainTimeout time.Duration // how long Run may finish queued work after it is told to stop
}

// Controller is the machine. Make it with New.
type Controller struct {
	deployments appsv1listers.DeploymentLister
	budgets     policyv1listers.PodDisruptionBudgetLister
	synced      []cache.DoneChecker
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
	client      func(namespace string) BudgetClient
	recorder    record.EventRecorder
	workers     int
	drain       time.Duration
}

// New connects a Controller to its informers, which may be started before or after.
// From then on their events fill the queue; work begins with Run. The handlers stay
// with the informers until those stop. An error means a Config that cannot work or
// an informer that was stopped already.
func New(logger klog.Logger, config Config) (*Controller, error) {
	if config.Workers < 1 {
		return nil, fmt.Errorf("making the controller: %d workers cannot do any work, at least 1 is needed", config.Workers)
	}
	c := &Controller{
		deployments: appsv1listers.NewDeploymentLister(config.Deployments.GetIndexer()),
		budgets:     policyv1listers.NewPodDisruptionBudgetLister(config.Budgets.GetIndexer()),
		queue:       config.Queue,
		client:      config.Client,
		recorder:    config.Recorder,
		workers:     config.Workers,
		drain:       config.DrainTimeout,
	}
	for _, informer := range []cache.SharedIndexInformer{config.Deployments, config.Budgets} {
		// Updates with an unchanged resourceVersion are resyncs and go through as well: a
		// second look at everything is what a resync is for, and it costs no request where
		// all is right.
		registration, err := informer.AddEventHandlerWithOptions(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.enqueue(logger, obj) },
			UpdateFunc: func(old, new any) { c.enqueue(logger, old, new) },
			DeleteFunc: func(obj any) { c.enqueue(logger, obj) },
		}, cache.HandlerOptions{Logger: &logger})
		if err != nil {
			return nil, fmt.Errorf("making the controller: adding an event handler: %w", err)
		}
		// The informer's own HasSynced would be too early: then the cache is full, but
		// the handlers may still be on their way through the first list.
		c.synced = append(c.synced, registration.HasSyncedChecker())
	}
	return c, nil
}

// Run waits for the caches, then reconciles until ctx ends, and returns when no worker
// is left. What is queued at the end is still worked off, for at most Config.DrainTimeout;
// then running requests are cancelled. Keys that wait for a retry are dropped: the next
// start looks at every Deployment anyway. Run may be called once.
//
// A panic in a worker ends the program, as everywhere in Kubernetes. If that is switched off (utilruntime.ReallyCrash),
// the worker starts again after a second. On every way out the queue is shut down.
func (c *Controller) Run(ctx context.Context) {
	panic(todo.Task(7, "Controller.Run"))
}

// processNext waits for a key and reconciles it. It returns false when the queue is
// shut down and empty. For each key it makes the three calls the queue insists on: Done
// always, as the queue gives the key to nobody before that; Forget after success, or the
// next failure would start at a long back-off; AddRateLimited after failure, or the key
// would wait for an event that may never come.
//
// An error is reported to utilruntime, with two exceptions: that an object has changed (conflict) or exists already is
// everyday life for who decides on a cache. All are tried again.
func (c *Controller) processNext(ctx context.Context) bool {
	panic(todo.Task(7, "Controller.processNext"))
}

// enqueue asks for a look at the Deployments that an object concerns, of which it gets the
// new state, or the old and the new. Like every handler it does no more than that: while it
// runs, the informer's next event waits.
//
// The one rule for both kinds is the name. For a Deployment it is the key; for a budget it is
// the Deployment that the budget serves, or stands in the way of. A budget also concerns the
// Deployment that controls it, which the old state may know when the new one does not.
func (c *Controller) enqueue(logger klog.Logger, states ...any) {
	panic(todo.Task(7, "Controller.enqueue"))
}
