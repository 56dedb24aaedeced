package reflector_test

// This file is what the tests of chapter 03 are written with: an API server that lives inside the test, a store that notes
// what it is told, and a source of lists and watches that does what a test says. Tests see exported names only, so they run
// over your code, the solution and client-go.
//
// A test runs in a bubble (package synctest), in which time passes only when everybody waits: five minutes of watching take
// no time, and back-offs can be measured to the nanosecond. But they have chance in them, on purpose, so tests ask for
// ranges that every right answer lies in.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// TestMain drops the handlers of errors that nobody else handles: one of them sleeps so that logs do not fill, and it
// measures that sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// store notes what it is told. It implements cache.ReflectorStore.
type store struct {
	lock sync.Mutex
	told []string
	// onCall is called before each call is noted, and fails it if it returns an error.
	onCall func(call string) error
}

func (s *store) note(format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	s.lock.Lock()
	onCall := s.onCall
	s.told = append(s.told, call)
	s.lock.Unlock()
	if onCall != nil {
		return onCall(call)
	}
	return nil
}

func (s *store) Add(obj any) error    { return s.note("Add %s", name(obj)) }
func (s *store) Update(obj any) error { return s.note("Update %s", name(obj)) }
func (s *store) Delete(obj any) error { return s.note("Delete %s", name(obj)) }
func (s *store) Resync() error        { return s.note("Resync") }
func (s *store) Replace(objs []any, version string) error {
	names := []string{}
	for _, obj := range objs {
		names = append(names, name(obj))
	}
	slices.Sort(names)
	return s.note("Replace [%s] @%s", strings.Join(names, " "), version)
}

// calls returns what the store has been told since calls was called last.
func (s *store) calls() []string {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	told := append([]string{}, s.told...)
	s.told = nil
	return told
}

// wanting is a store that also wants to know of versions.
type wanting struct{ *store }

func (w wanting) Bookmark(version string) error        { return w.note("Bookmark @%s", version) }
func (w wanting) UpdateResourceVersion(version string) { w.note("version %s", version) }

// name is an object's name and version.
func name(obj any) string {
	about, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return about.GetName() + "@" + about.GetResourceVersion()
}

// listed says that a source cannot list by a watch, so that a list is a list.
type listed struct{ cache.ListerWatcher }

func (listed) IsWatchListSemanticsUnSupported() bool { return true }

func (l listed) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return cache.ToListerWatcherWithContext(l.ListerWatcher).ListWithContext(ctx, options)
}

func (l listed) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return cache.ToListerWatcherWithContext(l.ListerWatcher).WatchWithContext(ctx, options)
}

// world is a server, a Reflector on it, and the store it fills.
type world struct {
	t      *guard.T
	server *fakeapi.Server
	store  *store
	r      *reflector.Reflector
	// stop ends the Reflector; ended is closed when it has ended.
	stop  context.CancelFunc
	ended chan struct{}
}

// newWorld makes a server with these Deployments, and a Reflector that does not run yet.
func newWorld(t *guard.T, names ...string) *world {
	return newWorldWith(t, cache.ReflectorOptions{}, names...)
}

func newWorldWith(t *guard.T, options cache.ReflectorOptions, names ...string) *world {
	w := &world{server: fakeapi.Start(t), store: &store{}, t: t, ended: make(chan struct{})}
	for _, name := range names {
		w.server.Create(deployment(name))
	}
	w.r = reflector.NewReflectorWithOptions(listed{w.source()}, &appsv1.Deployment{}, w.store, options)
	return w
}

// source is client-go's ListWatch on client-go's client.
func (w *world) source() *cache.ListWatch {
	scheme := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	config := w.server.Config()
	config.QPS = -1
	config.APIPath, config.GroupVersion = "/apis", &appsv1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	require.NoError(w.t, err)
	return cache.NewListWatchFromClient(c, "deployments", "", fields.Everything())
}

// run starts the Reflector. It ends with the test at the latest.
func (w *world) run() *world {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.stop = cancel
	w.t.Cleanup(cancel)
	w.t.Did("RunWithContext")
	w.t.Go(func() {
		defer close(w.ended)
		w.r.RunWithContext(ctx)
	})
	synctest.Wait()
	return w
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.t.Did("%v pass", d)
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) create(name string) {
	w.t.Did("%s is created", name)
	w.server.Create(deployment(name))
}
func (w *world) update(name string) { w.change(name) }
func (w *world) remove(name string) {
	w.t.Did("%s is deleted", name)
	w.server.Delete(deployment(name))
}

func (w *world) change(name string) {
	w.t.Did("%s is changed", name)
	d := deployment(name)
	d.Annotations = map[string]string{"changed": time.Now().String()}
	w.server.Update(d)
}

// script lets things go wrong, and notes it.
func (w *world) script(what, verb string, faults ...fakeapi.Fault) {
	w.t.Did("the server: %s", what)
	w.server.Script(verb, faults...)
}

// asked writes requests of a kind down: list@0, or watch@5.
func (w *world) asked() []string {
	synctest.Wait()
	var all []string
	for _, r := range w.server.Requests("") {
		version := r.Query.Get("resourceVersion")
		if version == "" {
			version = "newest"
		}
		all = append(all, r.Verb+"@"+version)
	}
	return all
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

// script is a source that a test writes: one function for each list and each watch to come. After the last, lists fail, and
// watches never tell anything.
type script struct {
	lock    sync.Mutex
	lists   []func(metav1.ListOptions) (runtime.Object, error)
	watches []func(metav1.ListOptions) (watch.Interface, error)
	asked   []string
	options []metav1.ListOptions
	// stopped is how many watches were begun, and how many of them stopped.
	begun, stopped int
}

func (s *script) IsWatchListSemanticsUnSupported() bool { return true }

func (s *script) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

func (s *script) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

func (s *script) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	s.lock.Lock()
	s.asked, s.options = append(s.asked, "list@"+options.ResourceVersion), append(s.options, options)
	if len(s.lists) == 0 {
		s.lock.Unlock()
		return nil, errors.New("no more lists in this test")
	}
	next := s.lists[0]
	s.lists = s.lists[1:]
	s.lock.Unlock()
	return next(options)
}

func (s *script) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.lock.Lock()
	s.asked, s.options = append(s.asked, "watch@"+options.ResourceVersion), append(s.options, options)
	next := func(metav1.ListOptions) (watch.Interface, error) { return s.channel(), nil }
	if len(s.watches) > 0 {
		next = s.watches[0]
		s.watches = s.watches[1:]
	}
	s.lock.Unlock()
	return next(options)
}

// requests is what was asked, in order.
func (s *script) requests() []string {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	return append([]string{}, s.asked...)
}

// left is how many watches were begun and not stopped.
func (s *script) left() int {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.begun - s.stopped
}

// channel is a watch that tells these events, and then nothing more.
func (s *script) channel(events ...watch.Event) *channel {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.begun++
	c := &channel{script: s, result: make(chan watch.Event, 100)}
	for _, e := range events {
		c.result <- e
	}
	return c
}

// ending is a watch that tells these events, and then ends.
func (s *script) ending(events ...watch.Event) watch.Interface {
	c := s.channel(events...)
	close(c.result)
	return c
}

type channel struct {
	script *script
	result chan watch.Event
	once   sync.Once
}

func (c *channel) ResultChan() <-chan watch.Event { return c.result }
func (c *channel) Stop() {
	c.once.Do(func() {
		c.script.lock.Lock()
		defer c.script.lock.Unlock()
		c.script.stopped++
	})
}

// lists is a list of Deployments at a version.
func lists(version string, names ...string) func(metav1.ListOptions) (runtime.Object, error) {
	return func(metav1.ListOptions) (runtime.Object, error) {
		list := &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
		for _, name := range names {
			d := deployment(name)
			d.ResourceVersion = "1"
			list.Items = append(list.Items, *d)
		}
		return list, nil
	}
}

func listFails(err error) func(metav1.ListOptions) (runtime.Object, error) {
	return func(metav1.ListOptions) (runtime.Object, error) { return nil, err }
}

func watchFails(err error) func(metav1.ListOptions) (watch.Interface, error) {
	return func(metav1.ListOptions) (watch.Interface, error) { return nil, err }
}

// tells is a watch that tells these events, and then nothing more; ends is one that ends behind them.
func (s *script) tells(events ...watch.Event) func(metav1.ListOptions) (watch.Interface, error) {
	return func(metav1.ListOptions) (watch.Interface, error) { return s.channel(events...), nil }
}

func (s *script) ends(events ...watch.Event) func(metav1.ListOptions) (watch.Interface, error) {
	return func(metav1.ListOptions) (watch.Interface, error) { return s.ending(events...), nil }
}

func event(kind watch.EventType, name, version string) watch.Event {
	d := deployment(name)
	d.ResourceVersion = version
	return watch.Event{Type: kind, Object: d}
}

// once calls ListAndWatchWithContext on a script, and says how it ended. It is given an hour.
func once(t *guard.T, s *script, store cache.ReflectorStore) (r *reflector.Reflector, err error) {
	r = reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, store, cache.ReflectorOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	t.Did("ListAndWatchWithContext")
	return r, r.ListAndWatchWithContext(ctx)
}
