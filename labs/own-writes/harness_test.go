package ownwrites_test

// This file has the helpers of the tests: short names for owners, resources and caches, and a world. A world is an API
// server with Pods, informers on it, and a controller. Tests see exported names only, so they run over any design.
//
// The layers below are those of the solutions; -on chooses others:
//
//	go test ./labs/own-writes -on client-go
//	go test ./labs/own-writes -tags yours -on yours,deltafifo=solutions

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/podapp"
	ownwrites "client-go-workshop/labs/own-writes"
	informer "client-go-workshop/solutions/07-controller"
)

var (
	on = flag.String("on", "solutions", "the layers below: solutions, client-go, or with -tags yours also yours; "+
		"LAYER=SET after a comma is for one of them")
	// sets are the layers that can be chosen, and informers the informers by the name of the first set.
	sets      = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}
	informers = map[string]podapp.NewInformer{
		"solutions": informer.NewSharedIndexInformerOn, "client-go": clientGoInformer,
	}

	below       layers.Layers
	newInformer podapp.NewInformer
)

func clientGoInformer(_ layers.Layers, lw cache.ListerWatcher, example runtime.Object,
	options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(lw, example, options)
}

// TestMain drops utilruntime's handlers of errors: one of them sleeps so that logs do not fill, and it measures that
// sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if below, err = layers.Choose(*on, sets); err != nil {
		fmt.Fprintf(os.Stderr, "-on: %v\n", err)
		os.Exit(2)
	}
	below.Today = solutions.Layers.Today // the lab todays-informer may be ahead of you
	set, _, _ := strings.Cut(*on, ",")
	newInformer = informers[set]
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

var (
	web, db  = name("web"), name("db")
	pods     = schema.GroupResource{Resource: "pods"}
	replicas = schema.GroupResource{Group: "apps", Resource: "replicasets"}
)

func name(owner string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: owner}
}

// aCache is a cache at a version. During is called while a version is read.
type aCache struct {
	version string
	during  func()
}

func (c *aCache) LastStoreSyncResourceVersion() string {
	version := c.version
	if c.during != nil {
		c.during()
	}
	return version
}

// storeOn makes a store with a cache of Pods and one of ReplicaSets.
func storeOn(ofPods, ofReplicas *aCache) *ownwrites.RealConsistencyStore {
	return ownwrites.NewConsistencyStore(map[schema.GroupResource]ownwrites.LastSyncRVGetter{
		pods: ofPods, replicas: ofReplicas,
	})
}

// patience is how long a controller of the tests waits for its cache.
const patience = 30 * time.Second

// world is an API server with a Deployment web that wants three Pods, and a controller, which does not run.
type world struct {
	*fakeapi.Server
	t           *guard.T
	clients     podapp.Clients
	deployments cache.SharedIndexInformer
	pods        cache.SharedIndexInformer
	store       *ownwrites.RealConsistencyStore
	controller  *ownwrites.Controller

	lock  sync.Mutex
	stale []error            // the errors that Stale was called with
	late  []cache.ObjectName // and the Deployments
}

// newWorld makes a world whose caches are synced. From then on its watch of Pods is late.
func newWorld(t *guard.T, late time.Duration) *world {
	w := &world{Server: fakeapi.Start(t), t: t}
	podapp.ServePods(w.Server)
	w.Create(fakeapi.Deployment("web", 3))
	synced := false
	podapp.Late(w.Server, func() time.Duration {
		if synced {
			return late
		}
		return 0
	})
	var err error
	w.clients, err = podapp.Connect(below, w.Config())
	require.NoError(t, err, "the error of making clients")
	w.deployments, w.pods = w.informers()
	w.store = ownwrites.NewConsistencyStore(map[schema.GroupResource]ownwrites.LastSyncRVGetter{pods: w.pods.GetStore()})
	w.controller = ownwrites.New(w.config())
	settle()
	synced = true
	return w
}

// informers starts a pair of informers. They run until the test is over.
func (w *world) informers() (deployments, pods cache.SharedIndexInformer) {
	deployments, pods = w.clients.Informers(newInformer, below,
		cache.Indexers{ownwrites.OwnerIndex: ownwrites.IndexByOwner})
	w.t.Go(func() { deployments.RunWithContext(w.t.Context()) })
	w.t.Go(func() { pods.RunWithContext(w.t.Context()) })
	return deployments, pods
}

// config returns the parts of a controller in this world.
func (w *world) config() ownwrites.Config {
	queue := below.NewWorkQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute),
		layers.WorkQueueConfig{})
	w.t.Cleanup(queue.ShutDown)
	return ownwrites.Config{
		Deployments: w.deployments, Pods: w.pods, Queue: queue, Store: w.store, Patience: patience, Workers: 2,
		Client: func(namespace string) ownwrites.PodClient { return w.clients.In(namespace) },
		Stale: func(owner cache.ObjectName, err error) {
			w.lock.Lock()
			defer w.lock.Unlock()
			w.stale, w.late = append(w.stale, err), append(w.late, owner)
		},
	}
}

// settle waits a tenth of a second, and until all that is under way has happened.
func settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// reconcile calls Reconcile for default/web.
func (w *world) reconcile() error {
	w.t.Helper()
	w.t.Did("Reconcile default/web")
	return w.reconcileOf(w.t.Context(), "web")
}

// reconcileOf calls Reconcile for a Deployment of the namespace default, and looks whether it changes a cached object.
func (w *world) reconcileOf(ctx context.Context, name string) error {
	w.t.Helper()
	return w.reconcileKey(ctx, cache.NewObjectName("default", name))
}

// reconcileKey is reconcileOf for any namespace.
func (w *world) reconcileKey(ctx context.Context, key cache.ObjectName) error {
	w.t.Helper()
	cached := append(w.deployments.GetStore().List(), w.pods.GetStore().List()...)
	var before []runtime.Object
	for _, obj := range cached {
		before = append(before, obj.(runtime.Object).DeepCopyObject())
	}
	err := w.controller.Reconcile(ctx, key)
	for i, obj := range cached {
		if !reflect.DeepEqual(before[i], obj) {
			w.t.Rule("It never changes a cached object. The cache shares its objects with all readers.")
			require.Equal(w.t, before[i], obj, "the cached object after Reconcile")
		}
	}
	return err
}

// behind calls Reconcile, which must find the cache behind.
func (w *world) behind() *ownwrites.ConsistencyError {
	w.t.Helper()
	err := w.reconcile()
	require.Error(w.t, err, "the error of Reconcile")
	var behind *ownwrites.ConsistencyError
	require.True(w.t, errors.As(err, &behind), "the error of Reconcile is a *ConsistencyError: %v", err)
	return behind
}

// stored returns the Pods that the server has.
func (w *world) stored() []*corev1.Pod {
	stored, err := podapp.StoredPods(w.Server)
	require.NoError(w.t, err, "the error of reading the server's Pods")
	return stored
}

// add stores Pods of the Deployment web, as another client would.
func (w *world) add(names ...string) {
	for _, name := range names {
		pod := ownwrites.NewPod(w.web())
		pod.Name = name
		w.create(pod)
	}
}

func (w *world) create(pod *corev1.Pod) { podapp.CreatePod(w.Server, pod) }

// web returns the Deployment web as the server has it.
func (w *world) web() *appsv1.Deployment {
	for _, obj := range w.Objects("deployments") {
		if obj.GetName() == "web" {
			return obj.(*appsv1.Deployment)
		}
	}
	return nil
}

// scale sets the wanted number of Pods, and waits for a cache that is not late.
func (w *world) scale(wanted int32) {
	w.t.Did("a user wants %d Pods", wanted)
	d := w.web()
	d.Spec.Replicas = &wanted
	w.Update(d)
	settle()
}

// sent returns the requests of these verbs for Pods: "create pods", "delete pods/web-1".
func (w *world) sent(verbs ...string) []string {
	found := []string{}
	for _, r := range w.Requests("") {
		if _, path, ok := strings.Cut(r.Path, "/pods"); ok && slices.Contains(verbs, r.Verb) {
			found = append(found, r.Verb+" pods"+path)
		}
	}
	return found
}
