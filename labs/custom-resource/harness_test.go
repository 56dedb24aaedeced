package customresource_test

// This file has the helpers of the tests: an API server in the test that serves the resource, informers on it, the
// controller, and a registry. Tests see exported names only, so they run over any design.
//
// The server has the definition of the finished lab, except in task 2, so a mistake in yours fails the tests of task 2
// alone. The layers below are those of the solutions; -on chooses others:
//
//	go test ./labs/custom-resource -on client-go
//	go test ./labs/custom-resource -tags yours -on yours

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/fakeapi/crd"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	customresource "client-go-workshop/labs/custom-resource"
	finished "client-go-workshop/labs/solutions/custom-resource"
	informer "client-go-workshop/solutions/07-controller"
)

// newInformerFunc makes an informer on layers.
type newInformerFunc func(below layers.Layers, lw cache.ListerWatcher, example runtime.Object,
	options cache.SharedIndexInformerOptions) cache.SharedIndexInformer

var (
	on = flag.String("on", "solutions", "the layers below: solutions, client-go, or with -tags yours also yours; "+
		"LAYER=SET after a comma is for one of them")
	// sets are the layers that can be chosen, and informers the informers by the name of the first set.
	sets      = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}
	informers = map[string]newInformerFunc{"solutions": informer.NewSharedIndexInformerOn, "client-go": clientGoInformer}

	below       layers.Layers
	newInformer newInformerFunc
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
	set, _, _ := strings.Cut(*on, ",")
	newInformer = informers[set]
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// start starts an API server that serves the resource of a manifest.
func start(t *guard.T, manifest string) *fakeapi.Server {
	custom, err := crd.Parse(manifest)
	require.NoError(t, err, "the error of reading the manifest, in full: %v", err)
	api := fakeapi.Start(t)
	api.Serve(custom)
	return api
}

// world is an API server, and a controller on it.
type world struct {
	*fakeapi.Server
	t        *guard.T
	registry *registry
	*instance
}

// instance is one process of the controller, up to its crash.
type instance struct {
	networks, deployments cache.SharedIndexInformer
	controller            *customresource.Controller
	queue                 *notedQueue
}

// notedQueue is a queue that counts the calls that change it.
type notedQueue struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	changes atomic.Int32
}

func (q *notedQueue) Add(name cache.ObjectName) {
	q.changes.Add(1)
	q.TypedRateLimitingInterface.Add(name)
}

func (q *notedQueue) AddAfter(name cache.ObjectName, delay time.Duration) {
	q.changes.Add(1)
	q.TypedRateLimitingInterface.AddAfter(name, delay)
}

func (q *notedQueue) AddRateLimited(name cache.ObjectName) {
	q.changes.Add(1)
	q.TypedRateLimitingInterface.AddRateLimited(name)
}

func (q *notedQueue) Forget(name cache.ObjectName) {
	q.changes.Add(1)
	q.TypedRateLimitingInterface.Forget(name)
}

// newWorld makes a server with these objects, and a controller whose caches have them. The controller does not run.
func newWorld(t *guard.T, objs ...fakeapi.Object) *world {
	return newWorldOf(t, finished.Manifest(), objs...)
}

// newWorldOf makes a world with the definition of a manifest.
func newWorldOf(t *guard.T, manifest string, objs ...fakeapi.Object) *world {
	w := &world{Server: start(t, manifest), t: t, registry: newRegistry()}
	for _, obj := range objs {
		w.put(obj)
	}
	w.instance = w.newInstance(w.Config())
	return w
}

// newInstance makes a controller with caches of its own. Its informers run until the test is over.
func (w *world) newInstance(config *rest.Config) *instance {
	config.QPS = -1
	client, err := below.NewClient(config)
	require.NoError(w.t, err, "the error of NewClient")
	networks := w.resource(client)
	deployments := w.deploymentResource(client)
	informer := func(lw cache.ListerWatcher, example runtime.Object) cache.SharedIndexInformer {
		i := newInformer(below, lw, example, cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Minute,
			Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}})
		w.t.Go(func() { i.RunWithContext(w.t.Context()) })
		return i
	}
	i := &instance{
		networks:    informer(networks.ListerWatcher(""), &customresource.BitcoinNetwork{}),
		deployments: informer(deployments.ListerWatcher(""), &appsv1.Deployment{}),
	}
	i.queue = &notedQueue{TypedRateLimitingInterface: below.NewWorkQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute),
		layers.WorkQueueConfig{})}
	w.t.Cleanup(i.queue.ShutDown)
	i.controller, err = customresource.New(customresource.Config{
		Networks: i.networks, Deployments: i.deployments, Registry: w.registry, Workers: 1, Queue: i.queue,
		NetworkWriter: func(namespace string) customresource.NetworkWriter {
			return layers.WriterOf(networks, namespace, newNetwork)
		},
		DeploymentWriter: func(namespace string) customresource.DeploymentWriter {
			return layers.WriterOf(deployments, namespace, newDeployment)
		},
	})
	require.NoError(w.t, err, "the error of New")
	settle()
	return i
}

func newNetwork() *customresource.BitcoinNetwork { return &customresource.BitcoinNetwork{} }
func newDeployment() *appsv1.Deployment          { return &appsv1.Deployment{} }

// scheme returns a scheme with the types.
func scheme(t *guard.T) *runtime.Scheme {
	s := runtime.NewScheme()
	require.NoError(t, customresource.AddToScheme(s), "the error of AddToScheme")
	metav1.AddToGroupVersion(s, metav1.Unversioned)
	return s
}

func (w *world) resource(client layers.Client) layers.Resource {
	networks, err := client.Resource(customresource.Networks, scheme(w.t))
	require.NoError(w.t, err, "the error of Client.Resource")
	return networks
}

func (w *world) deploymentResource(client layers.Client) layers.Resource {
	s := runtime.NewScheme()
	require.NoError(w.t, appsv1.AddToScheme(s), "the error of AddToScheme of apps/v1")
	metav1.AddToGroupVersion(s, metav1.Unversioned)
	deployments, err := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments"), s)
	require.NoError(w.t, err, "the error of Client.Resource")
	return deployments
}

// settle waits until all that is under way has happened, in designs that poll too.
func settle() {
	time.Sleep(200 * time.Millisecond)
	synctest.Wait()
}

// put stores an object as another client would, with its status, and waits for the caches.
func (w *world) put(obj fakeapi.Object) {
	if !w.has(obj) {
		w.Create(generic(w.t, obj))
	}
	w.Update(generic(w.t, obj))
	if w.instance != nil {
		settle()
	}
}

// has reports whether the server has an object of the name and type of obj.
func (w *world) has(obj metav1.Object) bool {
	resource := "deployments"
	if _, ok := obj.(*appsv1.Deployment); !ok {
		resource = customresource.Networks.Resource
	}
	return slices.ContainsFunc(w.Objects(resource), func(stored fakeapi.Object) bool {
		return stored.GetNamespace() == obj.GetNamespace() && stored.GetName() == obj.GetName()
	})
}

// generic returns a copy of an object in the form that the server stores.
func generic(t *guard.T, obj fakeapi.Object) fakeapi.Object {
	network, ok := obj.(*customresource.BitcoinNetwork)
	if !ok {
		return obj.DeepCopyObject().(fakeapi.Object)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(network)
	require.NoError(t, err, "the error of converting a network")
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(customresource.SchemeGroupVersion.WithKind(customresource.Kind))
	return u
}

// cached returns the network default/demo as the cache has it. Every reader shares it.
func (w *world) cached() *customresource.BitcoinNetwork {
	obj, exists, err := w.networks.GetStore().GetByKey("default/demo")
	require.NoError(w.t, err, "the error of the cache")
	require.True(w.t, exists, "the cache has the network demo")
	return obj.(*customresource.BitcoinNetwork)
}

// stored returns the network default/demo as the server has it, or nil.
func (w *world) stored() *customresource.BitcoinNetwork { return w.storedAs("demo") }

func (w *world) storedAs(name string) *customresource.BitcoinNetwork {
	for _, obj := range w.Objects(customresource.Networks.Resource) {
		if obj.GetName() == name {
			network := newNetwork()
			err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.(*unstructured.Unstructured).Object, network)
			require.NoError(w.t, err, "the error of converting a network")
			return network
		}
	}
	return nil
}

// deployment returns the Deployment default/demo as the server has it, or nil.
func (w *world) deployment() *appsv1.Deployment {
	for _, obj := range w.Objects("deployments") {
		if obj.GetName() == "demo" {
			return obj.(*appsv1.Deployment)
		}
	}
	return nil
}

// writes returns the writes that the server has received, such as "update bitcoinnetworks/demo/status". The count of
// requests to skip comes first.
func (w *world) writes(since int) []string {
	found := []string{}
	for _, r := range w.Requests("")[since:] {
		if slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) {
			_, path, _ := strings.Cut(r.Path, "/namespaces/default/")
			found = append(found, r.Verb+" "+path)
		}
	}
	return found
}

// demo returns a network default/demo, as a user sends it. The edits make it the one that a test is about.
func demo(edits ...func(*customresource.BitcoinNetwork)) *customresource.BitcoinNetwork {
	network := &customresource.BitcoinNetwork{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"},
		Spec: customresource.BitcoinNetworkSpec{
			Chain: "regtest", Nodes: ptr.To[int32](2), Version: "29.0",
			Peers:   []string{"b.example.com:8333", "a.example.com:8333"},
			Options: map[string]string{"txindex": "1", "dbcache": "450", "maxmempool": "100"},
		},
	}
	for _, edit := range edits {
		edit(network)
	}
	return network
}

// stored by the server, a network has a UID and a generation.
func onServer(network *customresource.BitcoinNetwork) {
	network.UID, network.Generation, network.ResourceVersion = "demo-uid", 1, "1"
}

func withFinalizer(network *customresource.BitcoinNetwork) {
	network.Finalizers = append(network.Finalizers, customresource.Finalizer, "example.com/audit")
}
