// Package observe records what the informers and the workqueue of your own program do, and serves the last steps as a
// recording, which `go tool workshop show` opens:
//
//	o := observe.New(10_000) // a nil *Observer records nothing: every method returns its argument
//	config = o.Config(config)                      // requests, lists, watches and writes
//	informer = o.Informer(informer)                // all handlers, and the errors of the Reflector
//	queue = observe.Queue(o, queue)                // the workqueue, and who calls AddRateLimited
//	cache.SetInformerMetricsProvider(o.Metrics())  // the depth of client-go's queue of deltas
//	go http.ListenAndServe("127.0.0.1:6061", o)    // or behind your program's own mux
//
//	go tool workshop show http://127.0.0.1:6061/
//
// The recording says which change made a key reconcile, how old the cache is, who called AddRateLimited, how long a
// handler held up the next call, and why a Reflector listed again. It has metadata only: kinds, names, versions, paths,
// status codes and errors. Its memory is bounded by the number of steps, and by the names of the live objects.
//
// In controller-runtime, Config goes into ctrl.NewManager, Informer into cache.Options.NewInformer, and Queue into
// controller.Options.NewQueue.
//
// Left out: the keys of client-go's queue of deltas, which it does not show, and the waits of a queue's limiter.
package observe

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// Observer records. Any goroutine may call its methods.
type Observer struct {
	rec    *recorder.Recorder
	queued atomic.Bool

	mu    sync.Mutex
	names map[string]int // how many handlers each kind has
}

// New returns an Observer that keeps the last steps: at least so many, and at most three times as many. A step takes
// about 250 bytes.
func New(steps int) *Observer {
	o := &Observer{rec: recorder.New(), names: map[string]int{}}
	o.rec.Log = pipeline.NewLog(steps)
	o.rec.Callers = true
	o.rec.KindIn = func(path string) string { kind, _, _ := object(path); return kind }
	return o
}

// Config returns a copy of c whose clients record their requests. Lists, watches and writes are told from their paths.
func (o *Observer) Config(c *rest.Config) *rest.Config {
	if o == nil {
		return c
	}
	c = rest.CopyConfig(c)
	c.Wrap(func(below http.RoundTripper) http.RoundTripper {
		return &transport{o.rec.Transport(below), o.rec}
	})
	return c
}

// Handler returns a handler that records its calls. An informer of which all handlers are recorded needs Informer only.
func (o *Observer) Handler(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	if o == nil {
		return h
	}
	named := &handler{o: o}
	return o.rec.Handler(h, named.about)
}

// Informer returns an informer that records the calls of all handlers that are added to it, and the errors of its
// Reflector. It must be called before the informer starts.
func (o *Observer) Informer(i cache.SharedIndexInformer) cache.SharedIndexInformer {
	if o == nil {
		return i
	}
	observed := &informer{i, o}
	// An error means that the informer runs: then its errors are logged only.
	_ = observed.SetWatchErrorHandlerWithContext(cache.DefaultWatchErrorHandler)
	return observed
}

// Queue returns a queue that records its calls. An Observer records one queue: a second one is returned as it is.
func Queue[T comparable](o *Observer,
	q workqueue.TypedRateLimitingInterface[T]) workqueue.TypedRateLimitingInterface[T] {
	if o == nil || o.queued.Swap(true) {
		return q
	}
	return recorder.Queue(o.rec, q)
}

// Metrics returns a provider for client-go's informers that have a name: the depth of their queue of deltas, and the
// time that each takes. It is nil if o is.
func (o *Observer) Metrics() cache.InformerMetricsProvider {
	if o == nil {
		return nil
	}
	return o.rec.Metrics(singular)
}

// ServeHTTP answers GET with the recording. If o is nil, it answers 404.
func (o *Observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case o == nil:
		http.NotFound(w, r)
	case r.Method != http.MethodGet:
		http.Error(w, "observe: this address has a recording; GET it", http.StatusMethodNotAllowed)
	default:
		w.Header().Set("Content-Type", "application/json")
		title := fmt.Sprintf("%s, process %d", filepath.Base(os.Args[0]), os.Getpid())
		// An error means that the reader has gone away.
		_ = pipeline.Recording{Log: o.rec.Log, Title: title}.Write(w)
	}
}

// informer records the handlers that are added to it.
type informer struct {
	cache.SharedIndexInformer
	o *Observer
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(i.o.Handler(h))
}

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler,
	period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(i.o.Handler(h), period)
}

func (i *informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler,
	options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(i.o.Handler(h), options)
}

func (i *informer) SetWatchErrorHandler(h cache.WatchErrorHandler) error {
	return i.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { h(r, err) })
}

func (i *informer) SetWatchErrorHandlerWithContext(h cache.WatchErrorHandlerWithContext) error {
	return i.SharedIndexInformer.SetWatchErrorHandlerWithContext(
		func(ctx context.Context, r *cache.Reflector, err error) {
			i.o.rec.Log.Append(pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Returned,
				Kind: strings.ToLower(lastWord(r.TypeDescription())), Error: err.Error()})
			h(ctx, r, err)
		})
}

// lastWord returns the type in "*v1.Deployment" or "apps/v1, Kind=Deployment".
func lastWord(text string) string { return text[strings.LastIndexAny(text, ".=*")+1:] }

// handler is one handler, which may be one of several kinds.
type handler struct {
	o     *Observer
	kinds sync.Map // its name as the handler of a kind, by the type of the object
}

// as returns the kind of an object, and the name that the handler has for it.
func (h *handler) as(obj any) (step pipeline.Step) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if obj == nil {
		return pipeline.Step{By: "a handler"}
	}
	kind := lastWord(reflect.TypeOf(obj).String())
	if o, ok := obj.(runtime.Object); ok && o.GetObjectKind().GroupVersionKind().Kind != "" {
		kind = o.GetObjectKind().GroupVersionKind().Kind // of an object that has no Go type of its own
	}
	if known, ok := h.kinds.Load(kind); ok {
		return known.(pipeline.Step)
	}
	step = pipeline.Step{Kind: strings.ToLower(kind)}
	h.o.mu.Lock()
	defer h.o.mu.Unlock()
	h.o.names[step.Kind]++
	step.By = fmt.Sprint("handler ", h.o.names[step.Kind])
	if h.o.names[step.Kind] == 1 {
		h.o.rec.Log.Append(pipeline.Step{Seam: pipeline.Store, Verb: pipeline.Closed, Kind: step.Kind})
	}
	h.kinds.Store(kind, step)
	return step
}

// about says what is known about a call.
func (h *handler) about(old, obj any, inInitialList bool) pipeline.Step {
	step := h.as(obj)
	if inInitialList {
		step.Text = "it is in the first list"
	} else if old != nil {
		step.Text = changed(old, obj)
	}
	return step
}

// changed says which part of an object has changed, as far as its metadata tells.
func changed(old, now any) string {
	was, errWas := meta.Accessor(old)
	is, err := meta.Accessor(now)
	switch {
	case err != nil || errWas != nil:
		return ""
	case was.GetResourceVersion() == is.GetResourceVersion():
		return "a resync, nothing has changed"
	case is.GetGeneration() > was.GetGeneration() && !maps.Equal(is.GetAnnotations(), was.GetAnnotations()):
		// In a Deployment, annotations count too.
		return fmt.Sprintf("its spec or an annotation has changed, generation %d", is.GetGeneration())
	case is.GetGeneration() > was.GetGeneration():
		return fmt.Sprintf("its spec has changed, generation %d", is.GetGeneration())
	case is.GetGeneration() > 0:
		return "its metadata or status has changed, and not its spec"
	}
	return ""
}
