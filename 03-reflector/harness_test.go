package reflector_test

// This file has the helpers of chapter 03's tests: a store that records its calls, and an API server inside the test.
// script_test.go has a source whose lists and watches a test scripts. Tests use exported names only, so they run over
// your code, the solution and client-go.
//
// A test runs in a bubble of package synctest. Time passes there only when every goroutine waits: five minutes of
// watching take no time, and a test can measure back-offs to the nanosecond. Back-offs are random, so tests ask for
// ranges.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// TestMain removes client-go's handlers for unhandled errors: one of them sleeps to slow the log down, and it measures
// that sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// store records its calls. It implements cache.ReflectorStore.
type store struct {
	lock  sync.Mutex
	noted []string
	// onCall is called after each call is recorded. If it returns an error, the call fails.
	onCall func(call string) error
	// resyncs is the pace of Resync. In a storm a Resync takes an hour, so a loop without a wait comes to an end.
	resyncs pace
}

func (s *store) note(format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	s.lock.Lock()
	onCall := s.onCall
	s.noted = append(s.noted, call)
	s.lock.Unlock()
	if onCall != nil {
		return onCall(call)
	}
	return nil
}

func (s *store) Add(obj any) error    { return s.note("Add %s", name(obj)) }
func (s *store) Update(obj any) error { return s.note("Update %s", name(obj)) }
func (s *store) Delete(obj any) error { return s.note("Delete %s", name(obj)) }
func (s *store) Resync() error {
	if s.resyncs.storm() {
		time.Sleep(time.Hour)
	}
	return s.note("Resync")
}
func (s *store) Replace(objs []any, version string) error {
	names := []string{}
	for _, obj := range objs {
		names = append(names, name(obj))
	}
	slices.Sort(names)
	return s.note("Replace [%s] @%s", strings.Join(names, " "), version)
}

// refuseEvents is for store.onCall: the store refuses everything but lists.
func refuseEvents(call string) error { return refuseEventsWith(errors.New("not this one"))(call) }

// refuseEventsWith is refuseEvents with an error.
func refuseEventsWith(err error) func(call string) error {
	return func(call string) error {
		if strings.HasPrefix(call, "Replace") {
			return nil
		}
		return err
	}
}

// ofCaller is the key of a value in the context of each caller. See countErrors.
type ofCaller struct{}

// countErrors counts the errors that are reported with utilruntime.HandleErrorWithContext and the context of the
// caller, until the test ends.
func countErrors(t *guard.T) *atomic.Int64 {
	var n atomic.Int64
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(ctx context.Context, err error, _ string, _ ...any) {
		if err != nil && ctx.Value(ofCaller{}) != nil {
			n.Add(1)
		}
	}}
	t.Cleanup(func() { utilruntime.ErrorHandlers = nil })
	return &n
}

// calls returns the calls of the store since the last call of calls. Of more than 400 it returns the first 100 and the
// number of the others.
func (s *store) calls() []string {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	noted := append([]string{}, s.noted...)
	s.noted = nil
	if len(noted) > 400 {
		noted = append(noted[:100], fmt.Sprintf("%d more calls", len(noted)-100))
	}
	return noted
}

// versionStore is a store that also receives bookmarks and versions.
type versionStore struct{ *store }

func (s versionStore) Bookmark(version string) error        { return s.note("Bookmark @%s", version) }
func (s versionStore) UpdateResourceVersion(version string) { s.note("version %s", version) }

// name returns an object's name and version, and its namespace if that is not default.
func name(obj any) string {
	object, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	text := object.GetName() + "@" + object.GetResourceVersion()
	if namespace := object.GetNamespace(); namespace != "" && namespace != "default" {
		return namespace + "/" + text
	}
	return text
}

// listed is a source that cannot stream lists.
type listed struct{ cache.ListerWatcher }

func (listed) IsWatchListSemanticsUnSupported() bool { return true }

func (l listed) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return cache.ToListerWatcherWithContext(l.ListerWatcher).ListWithContext(ctx, options)
}

func (l listed) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return cache.ToListerWatcherWithContext(l.ListerWatcher).WatchWithContext(ctx, options)
}

// world is a server, a Reflector on it, and the store that the Reflector fills.
type world struct {
	t      *guard.T
	server *fakeapi.Server
	store  *store
	r      *reflector.Reflector
	// stop cancels the context of the Reflector; ended is closed when RunWithContext has returned.
	stop  context.CancelFunc
	ended chan struct{}
}

// newWorld makes a server with these Deployments, and a Reflector that does not run yet.
func newWorld(t *guard.T, names ...string) *world {
	return newWorldWith(t, cache.ReflectorOptions{}, names...)
}

func newWorldWith(t *guard.T, options cache.ReflectorOptions, names ...string) *world {
	t.Did("a server with Deployments [%s]", strings.Join(names, " "))
	w := &world{server: fakeapi.Start(t), store: &store{}, t: t, ended: make(chan struct{})}
	for _, name := range names {
		w.server.Create(deployment(name))
	}
	w.r = reflector.NewReflectorWithOptions(listed{w.source()}, &appsv1.Deployment{}, w.store, options)
	return w
}

// source returns client-go's ListWatch on client-go's client.
func (w *world) source() *cache.ListWatch {
	scheme := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	config := w.server.Config()
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusals{w.t, next, &pace{}} })
	config.APIPath, config.GroupVersion = "/apis", &appsv1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	require.NoError(w.t, err, "the error of RESTClientFor")
	return cache.NewListWatchFromClient(c, "deployments", "", fields.Everything())
}

// pace counts the requests of a moment. The zero pace is ready to use.
type pace struct {
	lock     sync.Mutex
	moment   time.Time
	requests int
}

// stormy is more requests than a Reflector ever sends in one moment of a bubble's time, in which no time passes while a
// goroutine works.
const stormy = 500

// storm counts a request, and reports whether there have been too many in this moment: a loop does not wait.
func (p *pace) storm() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	if now := time.Now(); now != p.moment {
		p.moment, p.requests = now, 0
	}
	p.requests++
	return p.requests > stormy
}

// refusals records each refused request as a step, except for those that tests script (410 and 429). In a storm, a
// request waits for the end of its context.
type refusals struct {
	t    *guard.T
	next http.RoundTripper
	pace *pace
}

func (r refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.pace.storm() {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode < 400 || response.StatusCode == 410 || response.StatusCode == 429 {
		return response, err
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	status := metav1.Status{Message: string(body)}
	_ = json.Unmarshal(body, &status) // what is not a Status is shown as it is
	r.t.Did("the server refuses GET ?%s: %d %s", request.URL.RawQuery, response.StatusCode, status.Message)
	return response, err
}

// run starts the Reflector. It stops with the test at the latest.
func (w *world) run() *world {
	ctx, cancel := context.WithCancel(context.WithValue(w.t.Context(), ofCaller{}, true))
	w.stop = cancel
	w.t.Cleanup(func() {
		w.t.Rule("When the context ends, every request, watch and wait ends at once.")
		cancel()
	})
	w.t.Did("RunWithContext")
	w.t.Go(func() {
		defer close(w.ended)
		w.r.RunWithContext(ctx)
	})
	synctest.Wait()
	return w
}

// hasEnded reports whether RunWithContext has returned.
func (w *world) hasEnded() bool {
	synctest.Wait()
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

func (w *world) did(format string, args ...any) { w.t.Did(format, args...) }

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

// script makes the server answer the next requests of a verb with faults, and records that as a step.
func (w *world) script(what, verb string, faults ...fakeapi.Fault) {
	w.t.Did("the server: %s", what)
	w.server.Script(verb, faults...)
}

// requests returns the requests to the server, in order: "list@0", or "watch@5".
func (w *world) requests() []string {
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
