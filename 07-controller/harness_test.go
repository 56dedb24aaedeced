package controller_test

// This file has the helpers of the informer's tests: an API server inside the test, an informer on it, and handlers
// that note each call. Tests see exported names only, so they run over your code, the solution and client-go.
//
// A test runs in a bubble (package synctest), in which time passes only when every goroutine waits. The layers below
// are those of the solutions; -on chooses others:
//
//	go test ./07-controller -on client-go
//	go test ./07-controller -tags yours -on yours
//	go test ./07-controller -on solutions,reflector=client-go

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
)

var (
	on = flag.String("on", "solutions", "the layers below: solutions, client-go, or with -tags yours also yours; "+
		"LAYER=SET after a comma is for one of them")
	// sets are the layers that can be chosen.
	sets  = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}
	below layers.Layers
)

// TestMain drops utilruntime's handlers of errors: one of them sleeps so that logs do not fill, and it measures that
// sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if below, err = layers.Choose(*on, sets); err != nil {
		fmt.Fprintf(os.Stderr, "-on: %v\n", err)
		os.Exit(2)
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// world is a server, and an informer of its Deployments.
type world struct {
	*fakeapi.Server
	t        *guard.T
	informer cache.SharedIndexInformer
	// stop ends the informer; ended is closed when it has ended.
	stop  context.CancelFunc
	ended chan struct{}
}

// newWorld makes a server with these Deployments, and an informer that does not run yet.
func newWorld(t *guard.T, names ...string) *world {
	return newWorldWith(t, cache.SharedIndexInformerOptions{}, names...)
}

func newWorldWith(t *guard.T, options cache.SharedIndexInformerOptions, names ...string) *world {
	w := &world{Server: fakeapi.Start(t), t: t, ended: make(chan struct{})}
	for _, name := range names {
		w.Create(deployment(name))
	}
	w.informer = controller.NewSharedIndexInformerOn(below, w.source(), &appsv1.Deployment{}, options)
	return w
}

// newInformer makes an informer of the source's Deployments.
func newInformer(below layers.Layers, source cache.ListerWatcher) cache.SharedIndexInformer {
	return controller.NewSharedIndexInformerOn(below, source, &appsv1.Deployment{}, cache.SharedIndexInformerOptions{})
}

// source lists and watches the server's Deployments.
func (w *world) source() cache.ListerWatcher {
	config := w.Config()
	config.QPS = -1
	client, err := below.NewClient(config)
	require.NoError(w.t, err, "the error of NewClient")
	return client.Deployments("")
}

// pollTime is more than a design needs that polls for the end of the first list, as cache.WaitForCacheSync does, each
// 100ms.
const pollTime = 200 * time.Millisecond

// settle waits until all that is under way has happened, in designs that poll too.
func settle() {
	time.Sleep(pollTime)
	synctest.Wait()
}

// run starts the informer. It ends with the test at the latest.
func (w *world) run() *world {
	w.start()
	settle()
	return w
}

// start is run without a wait.
func (w *world) start() {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.stop = cancel
	w.t.Cleanup(func() {
		w.t.Rule("RunWithContext returns when its context ends, and when it returns, nothing is left running.")
		if ctx.Err() == nil {
			w.t.Did("the context ends")
		}
		cancel()
	})
	w.t.Did("RunWithContext")
	w.t.Go(func() {
		defer close(w.ended)
		w.informer.RunWithContext(ctx)
	})
}

// end ends the context of the informer, and waits until the informer has ended.
func (w *world) end() {
	w.t.Helper()
	w.t.Did("the context ends")
	w.stop()
	select {
	case <-w.ended:
	case <-time.After(time.Hour):
		w.t.Rule("RunWithContext returns when its context ends.")
		require.True(w.t, isClosed(w.ended), "RunWithContext has returned an hour after the end of its context")
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.t.Did("%v pass", d)
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) create(names ...string) {
	for _, name := range names {
		w.t.Did("%s is created", name)
		w.Create(deployment(name))
	}
	synctest.Wait()
}

func (w *world) change(names ...string) {
	for _, name := range names {
		w.t.Did("%s is changed", name)
		d := deployment(name)
		d.Annotations = map[string]string{"changed": time.Now().String() + w.ResourceVersion()}
		w.Update(d)
	}
	synctest.Wait()
}

func (w *world) remove(names ...string) {
	for _, name := range names {
		w.t.Did("%s is deleted", name)
		w.Delete(deployment(name))
	}
	synctest.Wait()
}

// away makes changes while the informer cannot reach the server, which forgets its history.
func (w *world) away(do func()) {
	w.t.Did("the server is away")
	w.Down()
	do()
	w.Compact()
	w.t.Did("the server is back, without its history")
	w.Up()
	w.pass(2 * time.Minute)
}

// stored returns the objects in the store, as name@version.
func (w *world) stored() []string {
	synctest.Wait()
	names := []string{}
	for _, obj := range w.informer.GetStore().List() {
		names = append(names, name(obj))
	}
	slices.Sort(names)
	return names
}

// name returns an object's name and version, with its namespace unless that is default.
func name(obj any) string {
	about, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	version := about.GetName() + "@" + about.GetResourceVersion()
	if about.GetNamespace() != "default" {
		return about.GetNamespace() + "/" + version
	}
	return version
}

// handler notes each call. It implements cache.ResourceEventHandler.
type handler struct {
	lock  sync.Mutex
	notes []string
	// before is called before each note is made, on the goroutine that calls the handler.
	before func(note string)
}

func (h *handler) note(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if h.before != nil {
		h.before(note)
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.notes = append(h.notes, note)
}

func (h *handler) OnAdd(obj any, inInitialList bool) {
	if inInitialList {
		h.note("first %s", name(obj))
	} else {
		h.note("add %s", name(obj))
	}
}

func (h *handler) OnUpdate(old, new any) {
	if name(old) == name(new) {
		h.note("again %s", name(new))
	} else {
		h.note("update %s to %s", name(old), name(new))
	}
}

func (h *handler) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		h.note("tombstone of %s, last %s", tombstone.Key, name(tombstone.Obj))
	} else {
		h.note("delete %s", name(obj))
	}
}

// calls returns a note for each call of the handler since the last time that it was asked.
func (h *handler) calls() []string {
	synctest.Wait()
	h.lock.Lock()
	defer h.lock.Unlock()
	notes := append([]string{}, h.notes...)
	h.notes = nil
	return notes
}

// sorted sorts notes whose order does not matter.
func sorted(notes []string) []string {
	slices.Sort(notes)
	return notes
}

// handle registers a handler that notes each call.
func (w *world) handle() *handler {
	h := &handler{}
	w.register(h)
	return h
}

func (w *world) register(h cache.ResourceEventHandler) cache.ResourceEventHandlerRegistration {
	w.t.Did("AddEventHandler")
	registration, err := w.informer.AddEventHandler(h)
	require.NoError(w.t, err, "the error of AddEventHandler")
	return registration
}

// held makes a world of these Deployments. The gate holds the last one on its way into the store: in the queue, or, for
// client-go's informer, which does not take the layers it is given, in an index function.
func held(t *guard.T, names ...string) (*world, gate.Gate) {
	return heldOver(t, func(below layers.Layers) layers.Layers { return below }, names...)
}

// heldOver is held with another queue over the one that holds.
func heldOver(
	t *guard.T, over func(layers.Layers) layers.Layers, names ...string,
) (*world, gate.Gate) {
	w, door := newWorld(t, names...), gate.New(t)
	begun := map[string]bool{} // the first list may come in any order
	indexers := cache.Indexers{"slow": func(obj any) ([]string, error) {
		if begun[obj.(*appsv1.Deployment).Name] = true; len(begun) == len(names) {
			door.Wait()
		}
		return nil, nil
	}}
	items := len(names)
	if below.Pop != nil {
		items = 1 // of a RealFIFO: the whole list
	}
	w.informer = controller.NewSharedIndexInformerOn(over(gate.HoldQueue(below, items, door)), w.source(),
		&appsv1.Deployment{}, cache.SharedIndexInformerOptions{Indexers: indexers})
	return w, door
}

// numbered returns n names.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, "d"+strconv.Itoa(i))
	}
	return names
}

// in puts a Deployment into another namespace.
func in(namespace string, d *appsv1.Deployment) *appsv1.Deployment {
	d.Namespace = namespace
	return d
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}
