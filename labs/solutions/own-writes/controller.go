package ownwrites

// This file has the controller around Reconcile. It is given: chapter 07 builds one.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Pods is the resource that the controller writes.
var Pods = schema.GroupResource{Resource: "pods"}

// OwnerIndex is the index of Pods by the UID of the Deployment that controls them.
const OwnerIndex = "client-go-workshop/owner"

// IndexByOwner is the function of OwnerIndex.
func IndexByOwner(obj any) ([]string, error) {
	if owner := OwnerOf(obj.(*corev1.Pod)); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}

// OwnerOf returns the reference to the Deployment that controls a Pod, or nil.
func OwnerOf(pod *corev1.Pod) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "Deployment" || owner.APIVersion != appsv1.SchemeGroupVersion.String() {
		return nil
	}
	return owner
}

// NewPod returns a Pod of a Deployment. The server makes up its name.
func NewPod(d *appsv1.Deployment) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.GenerateName = d.Namespace, d.Name+"-"
	pod.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment")),
	}
	return pod
}

// PodClient reads and writes the Pods of one namespace on the server. It is three methods of client-go's PodInterface.
type PodClient interface {
	Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error)
}

// ReconcileTimeout limits one Reconcile, and one Remember. A request that the server never answers would hold its
// worker until the end.
const ReconcileTimeout = 30 * time.Second

// Config has the parts of a Controller. All fields are required.
type Config struct {
	Deployments cache.SharedIndexInformer // of *appsv1.Deployment; the caller runs it
	Pods        cache.SharedIndexInformer // of *corev1.Pod, with OwnerIndex, likewise
	// Queue holds the names of the Deployments to look at. Only the Controller may shut it down.
	Queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	Client func(namespace string) PodClient
	Store  ConsistencyStore
	// Patience is how long a Deployment waits for the cache before Reconcile reads from the server.
	Patience time.Duration
	// Stale is called with the last error of the cache before such a read.
	Stale   func(owner cache.ObjectName, err error)
	Workers int // Deployments reconciled at the same time, at least 1
}

// Controller keeps the number of Pods right. New makes one.
type Controller struct {
	Config
	lock    sync.Mutex                     // guards the fields below
	waiting map[cache.ObjectName]time.Time // since when a Deployment has waited for the cache
	unsure  map[cache.ObjectName]bool      // Deployments with a write whose answer was lost
}

// New returns a Controller. Nothing happens before Run.
func New(config Config) *Controller {
	return &Controller{Config: config, waiting: map[cache.ObjectName]time.Time{}, unsure: map[cache.ObjectName]bool{}}
}

// Run waits for the caches, and calls Remember until it succeeds. Then Config.Workers workers reconcile until ctx ends.
// Run may be called once.
func (c *Controller) Run(ctx context.Context) error {
	defer c.Queue.ShutDown()
	if !cache.WaitFor(ctx, "caches", c.Deployments.HasSyncedChecker(), c.Pods.HasSyncedChecker()) {
		return nil
	}
	for err := limited(ctx, c.Remember); err != nil; err = limited(ctx, c.Remember) {
		utilruntime.HandleErrorWithContext(ctx, err, "Reading the Pods failed, trying again")
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	for _, informer := range []cache.SharedIndexInformer{c.Deployments, c.Pods} {
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: c.enqueue, UpdateFunc: func(_, obj any) { c.enqueue(obj) }, DeleteFunc: c.enqueue,
		})
		if err != nil {
			return fmt.Errorf("starting the controller: adding an event handler: %w", err)
		}
		defer informer.RemoveEventHandler(registration)
	}
	var workers sync.WaitGroup
	for range c.Workers {
		workers.Go(func() { wait.UntilWithContext(ctx, c.work, time.Second) })
	}
	<-ctx.Done()
	c.Queue.ShutDown()
	workers.Wait()
	return nil
}

// limited calls f with a context that ends after ReconcileTimeout.
func limited(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, ReconcileTimeout)
	defer cancel()
	return f(ctx)
}

// enqueue adds the Deployment that an event concerns to the queue.
func (c *Controller) enqueue(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	switch obj := obj.(type) {
	case *appsv1.Deployment:
		c.Queue.Add(cache.MetaObjectToName(obj))
	case *corev1.Pod:
		if owner := OwnerOf(obj); owner != nil {
			c.Queue.Add(cache.NewObjectName(obj.Namespace, owner.Name))
		}
	}
}

// cached returns the Pods of a Deployment as the cache has them, without those that are being deleted. The cache shares
// the Pods with all readers.
func (c *Controller) cached(d *appsv1.Deployment) ([]*corev1.Pod, error) {
	objs, err := c.Pods.GetIndexer().ByIndex(OwnerIndex, string(d.UID))
	if err != nil {
		return nil, fmt.Errorf("reading the Pods of Deployment %s/%s from the cache: %w", d.Namespace, d.Name, err)
	}
	var pods []*corev1.Pod
	for _, obj := range objs {
		pods = append(pods, obj.(*corev1.Pod))
	}
	return staying(pods), nil
}

// staying returns the Pods that are not being deleted.
func staying(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// listed returns the Pods of a Deployment as the server has them now, with those that are being deleted.
func (c *Controller) listed(ctx context.Context, d *appsv1.Deployment) ([]*corev1.Pod, error) {
	list, err := c.Client(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Pods of Deployment %s/%s from the server: %w", d.Namespace, d.Name, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if pod := &list.Items[i]; metav1.IsControlledBy(pod, d) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// work reconciles Deployments until the queue is shut down.
func (c *Controller) work(ctx context.Context) {
	for {
		key, shutdown := c.Queue.Get()
		if shutdown || ctx.Err() != nil {
			return
		}
		err := limited(ctx, func(ctx context.Context) error { return c.Reconcile(ctx, key) })
		var behind *ConsistencyError
		switch {
		case err == nil:
			c.Queue.Forget(key)
		case errors.As(err, &behind): // the cache is late, and nothing is wrong
			c.Queue.AddRateLimited(key)
		default:
			c.Queue.AddRateLimited(key)
			utilruntime.HandleErrorWithContext(ctx, err, "Reconciling failed, trying again", "deployment", key)
		}
		c.Queue.Done(key)
	}
}
