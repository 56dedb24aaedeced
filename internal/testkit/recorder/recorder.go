// Package recorder records the steps of an informer and its controller, at the seams between their layers, and can hold
// a goroutine at each seam.
//
//		client ─▶ watch ─▶ Reflector ─▶ queue ─▶ Indexer ─▶ handlers ─▶ workqueue ─▶ workers
//		   └────────┴───────────┴─────────┴─ the seams ─┴──────────┴───────────┴──────────┘
//
//	  - recorder.go, this one: a step passes the gate, and goes into the log.
//	  - gate.go: pause, step, run until.
//	  - layers.go: the layers with wrappers around them. wire.go, reflector.go, store.go and queue.go have the wrappers,
//	    informer.go those of handlers.
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
	"strconv"
	"sync"

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

	mu      sync.Mutex
	kinds   map[string]string
	workers map[string]string                             // the worker that has a key
	busy    []bool                                        // whether the name of a worker is in use
	lookers []func(*pipeline.State) (pipeline.Step, bool) // see look
}

// New returns a Recorder with an empty log and an open gate.
func New() *Recorder {
	return &Recorder{Log: pipeline.NewLog(), Gate: &Gate{}, workers: map[string]string{},
		kinds: map[string]string{"/deployments": Deployment, "/poddisruptionbudgets": Budget}}
}

// pass waits at the gate and then records the step.
func (r *Recorder) pass(step pipeline.Step) {
	r.Gate.wait(step)
	r.Log.Append(step)
}

// Server records a change of the API server. It does not wait at the gate.
func (r *Recorder) Server(step pipeline.Step) {
	step.Seam = pipeline.Server
	r.Log.Append(step)
}

// Change changes the API server and records it. No other step comes between.
func (r *Recorder) Change(change func() pipeline.Step) {
	r.Log.Do(func() pipeline.Step {
		step := change()
		step.Seam = pipeline.Server
		return step
	})
}

// Error records an error that the code has reported. It has the form of utilruntime.ErrorHandler.
func (r *Recorder) Error(_ context.Context, err error, text string, _ ...any) {
	if err != nil {
		text = fmt.Sprintf("%s: %v", text, err)
	}
	r.Log.Append(pipeline.Step{Seam: pipeline.Note, Verb: pipeline.Error, Error: text})
}

// Unwritten records that a function was reached that is not written, with the way out.
func (r *Recorder) Unwritten(hole todo.NotWritten, wayOut string) {
	r.Log.Append(pipeline.Step{Seam: pipeline.Note, Verb: pipeline.Unwritten,
		Text: fmt.Sprintf("%s (%s, task %d); %s", hole.Symbol, hole.Chapter(), hole.Task, wayOut)})
}

// arrives names a worker that calls Get. The name is free until the Done of the worker's last key. A goroutine's real
// number would take microseconds to find.
func (r *Recorder) arrives() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, busy := range r.busy {
		if !busy {
			r.busy[n] = true
			return workerName(n)
		}
	}
	r.busy = append(r.busy, true)
	return workerName(len(r.busy) - 1)
}

func workerName(n int) string { return "worker " + strconv.Itoa(n+1) }

// takes notes which worker has a key.
func (r *Recorder) takes(worker, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workers[key] = worker
}

// worker returns the name of the worker that has a key, "" if there is none.
func (r *Recorder) worker(key string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.workers[key]
}

// leaves frees the name of the worker that has a key, and returns it.
func (r *Recorder) leaves(key string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.workers[key]
	delete(r.workers, key)
	for n := range r.busy {
		if workerName(n) == name {
			r.busy[n] = false
		}
	}
	return name
}

// noted is about, and fills in the note. Making the note costs more than the rest.
func noted(step pipeline.Step, obj any) pipeline.Step {
	step = about(step, obj)
	step.Text = NoteOf(obj)
	return step
}

// about fills in a step what is known about an object or a tombstone.
func about(step pipeline.Step, obj any) pipeline.Step {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		step.Key, obj = tombstone.Key, tombstone.Obj
	}
	if object, err := meta.Accessor(obj); err == nil {
		step.Key, step.Version = keyOf(object.GetNamespace(), object.GetName()), object.GetResourceVersion()
	}
	return step
}

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
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
func ref(kind string, obj any) pipeline.Ref {
	step := about(pipeline.Step{}, obj)
	return pipeline.Ref{Type: kind, Key: step.Key, Version: step.Version}
}
