package todaysinformer_test

// This file has the helpers of task 5: an API server inside the test, and a whole informer on it.

import (
	"context"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	todaysinformer "client-go-workshop/labs/todays-informer"
)

// world is a server, and an informer of its Deployments. An index function of the informer can hold the writes of one
// object: client-go's informer, which does not take the layers that it is given, calls it, too.
type world struct {
	*fakeapi.Server
	t        *guard.T
	informer cache.SharedIndexInformer

	lock sync.Mutex
	held string // the name of the object whose writes wait at the door
	free string // if held is allButOne: the name of the only object whose writes do not wait
	door gate.Gate
}

// newWorld makes a server with these Deployments, and an informer that does not run yet.
func newWorld(t *guard.T, names ...string) *world {
	return newWorldWith(t, cache.SharedIndexInformerOptions{}, names...)
}

func newWorldWith(t *guard.T, options cache.SharedIndexInformerOptions, names ...string) *world {
	w := &world{Server: fakeapi.Start(t), t: t}
	for _, name := range names {
		w.Create(deployment(name))
	}
	config := w.Config()
	config.QPS = -1
	client, err := below.NewClient(config)
	require.NoError(t, err, "the error of NewClient")
	options.Indexers = cache.Indexers{"held": func(obj any) ([]string, error) {
		w.wait(obj.(*appsv1.Deployment).Name)
		return nil, nil
	}}
	w.informer = todaysinformer.NewSharedIndexInformerOn(newChapter07, below, client.Deployments(""),
		&appsv1.Deployment{}, options)
	return w
}

// hold holds the writes of an object until the gate is opened.
func (w *world) hold(name string) gate.Gate {
	w.t.Did("the next write of %s to the store takes long", name)
	return w.close(name)
}

func (w *world) close(name string) gate.Gate {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.held, w.door = name, gate.New(w.t)
	return w.door
}

// allButOne stands for every object but the first one that is written.
const allButOne = "*"

// holdAllButOne holds the writes of a list after its first object, whichever it is, until the gate is opened.
func (w *world) holdAllButOne() gate.Gate {
	w.t.Did("the write of one object is quick, and that of the next one takes long")
	return w.close(allButOne)
}

func (w *world) wait(name string) {
	w.lock.Lock()
	if w.held == allButOne && w.free == "" {
		w.free = name
	}
	door, held := w.door, w.held == name || w.held == allButOne && w.free != name
	w.lock.Unlock()
	if held {
		door.Wait()
	}
}

// run starts the informer. It ends with the test.
func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	w.t.Did("RunWithContext")
	w.t.Go(func() { w.informer.RunWithContext(ctx) })
	w.pass(200 * time.Millisecond) // client-go's informer polls
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// handle registers a handler that notes each call.
func (w *world) handle() (*calls, cache.ResourceEventHandlerRegistration) {
	h := &calls{}
	registration, err := w.informer.AddEventHandler(h)
	require.NoError(w.t, err, "the error of AddEventHandler")
	return h, registration
}

// take returns the notes since the last call of take.
func (c *calls) take() []string {
	synctest.Wait()
	c.lock.Lock()
	defer c.lock.Unlock()
	notes := append([]string{}, c.notes...)
	c.notes, c.objects = nil, nil
	return notes
}

// change changes Deployments, in this order.
func (w *world) change(names ...string) {
	for _, name := range names {
		w.t.Did("%s is changed", name)
		d := deployment(name)
		d.Annotations = map[string]string{"changed": "after " + w.ResourceVersion()}
		w.Update(d)
	}
	synctest.Wait()
}

// away makes changes while the informer cannot reach the server, which forgets its history. The informer lists again.
func (w *world) away(do func()) {
	w.t.Did("the server is away")
	w.Down()
	do()
	w.Compact()
	w.t.Did("the server is back, without its history")
	w.Up()
	w.pass(2 * time.Minute)
}

func deployment(name string) *appsv1.Deployment {
	d := deploy(name)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	d.Spec.Template.Labels = map[string]string{"app": name}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx:1.29"}}
	return d
}
