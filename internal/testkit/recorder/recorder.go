// Package recorder records the steps of an informer and its controller, at the seams between their layers, and can hold
// a goroutine at each seam.
//
//		client ─▶ watch ─▶ Reflector ─▶ queue ─▶ Indexer ─▶ handlers ─▶ workqueue ─▶ workers
//		   |        |           |         |- the seams -|          |           |          |
//
//	  - recorder.go, this one: a step passes the gate, and goes into the log.
//	  - gate.go: pause, step, run until, hold.
//	  - layers.go: the layers with wrappers around them. wire.go, reflector.go, store.go and queue.go have the wrappers,
//	    informer.go those of handlers.
//	  - observe.go: client-go's own informer, which takes no layers.
//	  - save.go: the recording of a failed test.
//	  - look.go: the real structures compared with the state.
//
// It uses public interfaces only, so it works with every set of layers, and no code of a learner changes. The goroutine
// that makes a step records it, so a step costs well below a microsecond.
//
// Left out: reads of the Indexer by workers.
package recorder

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/todo"
)

// Recorder records into a log. Any goroutine may call its methods.
type Recorder struct {
	Log  *pipeline.Log
	Gate *Gate
	// Workers holds each worker when it has a key, and Consumer the consumers of deltas before Pop.
	Workers, Consumer Hold

	// KindIn returns the kind in the path of a request, such as /apis/apps/v1/namespaces/default/deployments/web.
	KindIn func(path string) string
	// Callers says that steps have the callers of AddRateLimited and AddAfter, which costs a microsecond.
	Callers bool

	serves atomic.Bool // see Serve

	mu      sync.Mutex
	workers []*worker
	lookers []func(*pipeline.State) (pipeline.Step, bool) // see look
}

// New returns a Recorder with an empty log and an open gate.
func New() *Recorder {
	return &Recorder{Log: pipeline.NewLog(pipeline.Limit), Gate: &Gate{}, KindIn: func(path string) string {
		for resource, kind := range map[string]string{"/deployments": Deployment, "/poddisruptionbudgets": Budget} {
			if strings.Contains(path, resource) {
				return kind
			}
		}
		return ""
	}}
}

// pass waits at the gate and then records the step.
func (r *Recorder) pass(step *pipeline.Step) {
	r.Gate.wait(step)
	r.Log.Append(*step)
}

// Server records a change of the API server. It does not wait at the gate.
func (r *Recorder) Server(step pipeline.Step) {
	step.Seam = pipeline.Server
	r.Log.Append(step)
}

// Step returns the number of the last step.
func (r *Recorder) Step() int64 {
	_, n := r.Log.Range()
	return n
}

// Error records an error that the code has reported. It has the form of utilruntime.ErrorHandler.
func (r *Recorder) Error(_ context.Context, err error, text string, _ ...any) {
	if err != nil {
		text = fmt.Sprintf("%s: %v", text, err)
	}
	r.Log.Append(pipeline.Step{Seam: pipeline.Note, Verb: pipeline.Error, Error: text})
}

// Unwritten records that a function was reached that is not written, with the way out.
func (r *Recorder) Unwritten(todo todo.NotWritten, wayOut string) {
	r.Log.Append(pipeline.Step{Seam: pipeline.Note, Verb: pipeline.Unwritten,
		Text: fmt.Sprintf("%s (%s, task %d); %s", todo.Symbol, todo.Chapter(), todo.Task, wayOut)})
}

// worker is a goroutine that calls Get. A goroutine's real number would take microseconds to find.
type worker struct {
	name, key string
	busy      bool // between Get and the Done of its key
}

// arrives names a worker that calls Get. The name is free after the Done of the worker's key.
func (r *Recorder) arrives() *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.workers, func(w *worker) bool { return !w.busy })
	if at < 0 {
		at = len(r.workers)
		r.workers = append(r.workers, &worker{name: "worker " + strconv.Itoa(at+1)})
	}
	r.workers[at].busy = true
	return r.workers[at]
}

// takes notes that a worker has a key.
func (r *Recorder) takes(w *worker, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.key = key
}

// worker returns the name of the worker that has a key, "" if there is none. If leaves is true, the worker has no key
// afterwards.
func (r *Recorder) worker(key string, leaves bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.workers {
		if w.busy && w.key == key {
			if leaves {
				w.busy, w.key = false, ""
			}
			return w.name
		}
	}
	return ""
}

// Worker returns the name of the worker that has a key, "" if there is none.
func (r *Recorder) Worker(key string) string { return r.worker(key, false) }

// Of fills in a step what is known about an object or a tombstone, without its note, which costs more than the rest.
func Of(step pipeline.Step, obj any) pipeline.Step {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		step.Key, obj = tombstone.Key, tombstone.Obj
	}
	if object, err := meta.Accessor(obj); err == nil {
		step.Key, step.Version = cache.MetaObjectToName(object).String(), object.GetResourceVersion()
	}
	return step
}

// NoteOf returns the one thing to know about an object: its replicas, or minAvailable. It is empty for other kinds.
func NoteOf(obj any) string {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		if o.Spec.Replicas != nil {
			return "replicas " + strconv.Itoa(int(*o.Spec.Replicas))
		}
	case *policyv1.PodDisruptionBudget:
		if o.Spec.MinAvailable != nil {
			return "minAvailable " + o.Spec.MinAvailable.String()
		}
	}
	return ""
}

// ref returns an object as an element of a list.
func ref(kind cache.DeltaType, obj any) pipeline.Ref {
	step := Of(pipeline.Step{}, obj)
	return pipeline.Ref{Type: string(kind), Key: step.Key, Version: step.Version}
}
