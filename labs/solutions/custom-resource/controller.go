package customresource

// This file joins the steps. New, Run and the loop of a worker are given: chapter 07 builds them. The handlers and
// Reconcile are the learner's.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/listers"
	appsv1listers "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// ReconcileTimeout limits one Reconcile.
const ReconcileTimeout = 30 * time.Second

// NetworkWriter writes the networks of one namespace. It is a part of the generated BitcoinNetworkInterface.
type NetworkWriter interface {
	Update(ctx context.Context, network *BitcoinNetwork, options metav1.UpdateOptions) (*BitcoinNetwork, error)
	UpdateStatus(ctx context.Context, network *BitcoinNetwork, options metav1.UpdateOptions) (*BitcoinNetwork, error)
}

// DeploymentWriter writes the Deployments of one namespace. It is a part of client-go's DeploymentInterface.
type DeploymentWriter interface {
	Create(ctx context.Context, d *appsv1.Deployment, options metav1.CreateOptions) (*appsv1.Deployment, error)
	Update(ctx context.Context, d *appsv1.Deployment, options metav1.UpdateOptions) (*appsv1.Deployment, error)
}

// Config has the parts of a Controller. All fields are required.
type Config struct {
	Networks    cache.SharedIndexInformer // of *BitcoinNetwork, with cache.NamespaceIndex; the caller runs it
	Deployments cache.SharedIndexInformer // of *appsv1.Deployment, likewise
	// Queue holds the names of the networks to look at. Only the Controller may shut it down.
	Queue            workqueue.TypedRateLimitingInterface[cache.ObjectName]
	NetworkWriter    func(namespace string) NetworkWriter
	DeploymentWriter func(namespace string) DeploymentWriter
	Registry         Registry
	Workers          int // networks reconciled at the same time, at least 1
}

// Controller keeps the Deployments, the status and the registry right. New makes one.
type Controller struct {
	informers        []cache.SharedIndexInformer
	networks         listers.ResourceIndexer[*BitcoinNetwork]
	deployments      appsv1listers.DeploymentLister
	queue            workqueue.TypedRateLimitingInterface[cache.ObjectName]
	networkWriter    func(namespace string) NetworkWriter
	deploymentWriter func(namespace string) DeploymentWriter
	registry         Registry
	workers          int
}

// New returns a Controller. Nothing happens before Run.
func New(config Config) (*Controller, error) {
	if config.Workers < 1 {
		return nil, fmt.Errorf("making the controller: %d workers cannot do any work, at least 1 is needed", config.Workers)
	}
	return &Controller{
		informers:        []cache.SharedIndexInformer{config.Networks, config.Deployments},
		networks:         listers.New[*BitcoinNetwork](config.Networks.GetIndexer(), Networks.GroupResource()),
		deployments:      appsv1listers.NewDeploymentLister(config.Deployments.GetIndexer()),
		queue:            config.Queue,
		networkWriter:    config.NetworkWriter,
		deploymentWriter: config.DeploymentWriter,
		registry:         config.Registry,
		workers:          config.Workers,
	}, nil
}

// Concerned returns the names of the networks that an event concerns. It receives the new state of an object, or the
// old and the new; after a missed deletion the state is a tombstone. A network's event concerns the network. A
// Deployment's event concerns the network that controls the Deployment. It also concerns the network of the
// Deployment's name, which may wait for the name. Both states count. An owner of another kind or group is not a
// network. Each name is returned once. Concerned ignores any other object.
//
//workshop:task 6
func Concerned(states ...any) []cache.ObjectName {
	var names []cache.ObjectName
	add := func(name cache.ObjectName) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, state := range states {
		if tombstone, ok := state.(cache.DeletedFinalStateUnknown); ok {
			state = tombstone.Obj
		}
		switch obj := state.(type) {
		case *BitcoinNetwork:
			add(cache.MetaObjectToName(obj))
		case *appsv1.Deployment:
			add(cache.MetaObjectToName(obj))
			owner := metav1.GetControllerOfNoCopy(obj)
			if owner != nil && owner.Kind == Kind && isOurGroup(owner.APIVersion) {
				add(cache.NewObjectName(obj.Namespace, owner.Name))
			}
		}
	}
	return names
}

// isOurGroup reports whether an apiVersion belongs to the group of the networks, whatever its version is.
//
//workshop:omit
func isOurGroup(apiVersion string) bool {
	version, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && version.Group == SchemeGroupVersion.Group
}

// Reconcile brings one network to its desired state. It may run for different networks at once.
//
// A network that is gone needs nothing. For a network that is being deleted, Reconcile calls Finalize alone. Otherwise
// the finalizer comes first: Reconcile calls the registry only for a network that has the finalizer on the server. Then
// it registers the network, corrects the Deployment, and writes the status. A failed registry does not prevent the
// Deployment, not even one that hangs, and a failed step does not prevent the status. A NameTakenError is not an error
// of Reconcile, because the Deployment's next event brings the network back. Any other error is returned, so that the
// network is tried again. Reconcile leaves the queue alone.
//
//workshop:task 6
func (c *Controller) Reconcile(ctx context.Context, key cache.ObjectName) error {
	network, err := listers.NewNamespaced(c.networks, key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading BitcoinNetwork %s from the cache: %w", key, err)
	}
	if network.DeletionTimestamp != nil {
		return c.Finalize(ctx, network)
	}
	if !slices.Contains(network.Finalizers, Finalizer) {
		return c.AddFinalizer(ctx, network) // its event brings the network back
	}
	var observed Observed
	observed.RegisteredChain, observed.RegistryError = c.Register(ctx, network)
	observed.Deployment, observed.DeploymentError = c.SyncDeployment(ctx, network)
	failures := []error{observed.RegistryError, observed.DeploymentError, c.SyncStatus(ctx, network, observed)}
	var taken *NameTakenError
	if errors.As(observed.DeploymentError, &taken) {
		failures[1] = nil
	}
	return errors.Join(failures...)
}

// Run registers the handlers, and waits until both caches are complete and the handlers have received them. Then
// Config.Workers workers reconcile until ctx ends. Run may be called once. The queue is shut down whenever Run returns.
func (c *Controller) Run(ctx context.Context) error {
	defer c.queue.ShutDown()
	enqueue := func(states ...any) {
		for _, name := range Concerned(states...) {
			c.queue.Add(name)
		}
	}
	var synced []cache.DoneChecker
	for _, informer := range c.informers {
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { enqueue(obj) },
			UpdateFunc: func(old, new any) { enqueue(old, new) },
			DeleteFunc: func(obj any) { enqueue(obj) },
		})
		if err != nil {
			return fmt.Errorf("starting the controller: adding an event handler: %w", err)
		}
		synced = append(synced, registration.HasSyncedChecker())
	}
	if !cache.WaitFor(ctx, "caches", synced...) {
		return nil
	}
	var workers sync.WaitGroup
	for range c.workers {
		workers.Go(func() { wait.UntilWithContext(ctx, c.work, time.Second) })
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
	return nil
}

// work processes networks until the queue is shut down, or ctx ends.
func (c *Controller) work(ctx context.Context) {
	for c.processNext(ctx) {
	}
}

// processNext waits for a network and reconciles it. It returns false when the queue is shut down and empty, or the
// context has ended.
func (c *Controller) processNext(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, ReconcileTimeout)
	defer cancel()
	err := c.Reconcile(ctx, key)
	switch {
	case err == nil:
		c.queue.Forget(key)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		c.queue.AddRateLimited(key) // the cache was behind the server
	default:
		c.queue.AddRateLimited(key)
		utilruntime.HandleErrorWithContext(ctx, err, "Reconciling failed, trying again", "network", key)
	}
	return true
}
