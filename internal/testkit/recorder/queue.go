package recorder

// This file records the workqueue.

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/pipeline"
)

// queue records a workqueue. Its lock makes a call and its step one, for all calls but Get, which waits.
type queue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
	rec *Recorder

	mu   sync.Mutex
	wait time.Duration // what the limiter has said in the running AddRateLimited; negative if it cannot be asked
}

// limit is a rate limiter that reports the waits.
type limit[T comparable] struct {
	workqueue.TypedRateLimiter[T]
	queue *queue[T]
}

func (l *limit[T]) When(key T) time.Duration {
	l.queue.wait = l.TypedRateLimiter.When(key)
	return l.queue.wait
}

// Queue returns a queue that does the same as below and records it. It cannot ask for the waits of below's limiter.
func Queue[T comparable](r *Recorder,
	below workqueue.TypedRateLimitingInterface[T]) workqueue.TypedRateLimitingInterface[T] {
	return &queue[T]{TypedRateLimitingInterface: below, rec: r, wait: -1}
}

// name returns a key as text. Most keys are strings or have String, and fmt would cost more than the step.
func name(key any) string {
	var text string
	switch key := key.(type) {
	case string:
		text = key
	case fmt.Stringer:
		text = key.String()
	default:
		text = fmt.Sprint(key)
	}
	return strings.TrimPrefix(text, "/")
}

// do holds the goroutine, calls, and records the call.
func (q *queue[T]) do(verb string, key T, call func(T) time.Duration) {
	step := pipeline.Step{Seam: pipeline.Queue, Verb: verb, Key: name(key)}
	if verb == pipeline.AddRateLimited || verb == pipeline.Done {
		step.By = q.rec.worker(step.Key, verb == pipeline.Done)
	}
	if q.rec.Callers && (verb == pipeline.AddRateLimited || verb == pipeline.AddAfter) {
		step.Text = "called by " + caller()
	}
	q.rec.Gate.wait(&step)
	q.mu.Lock()
	defer q.mu.Unlock()
	if verb != pipeline.Done {
		step.Wait = call(key)
	} else if before := q.Len(); call(key) == 0 && q.Len() > before {
		step.Code = pipeline.Queued
	}
	q.rec.Log.Append(step)
}

// caller names the function that has called the queue: "main.(*reconciler).Reconcile, main.go:57".
func caller() string {
	var at [1]uintptr
	runtime.Callers(4, at[:]) // above Callers, caller, do and the queue's method
	f, _ := runtime.CallersFrames(at[:]).Next()
	return fmt.Sprintf("%s, %s:%d", path.Base(f.Function), path.Base(f.File), f.Line)
}

// atOnce is a call that does not wait.
func atOnce[T comparable](call func(T)) func(T) time.Duration {
	return func(key T) time.Duration { call(key); return 0 }
}

func (q *queue[T]) Add(key T) { q.do(pipeline.Add, key, atOnce(q.TypedRateLimitingInterface.Add)) }

func (q *queue[T]) AddAfter(key T, wait time.Duration) {
	q.do(pipeline.AddAfter, key, func(T) time.Duration {
		q.TypedRateLimitingInterface.AddAfter(key, wait)
		return wait
	})
}

func (q *queue[T]) AddRateLimited(key T) {
	q.do(pipeline.AddRateLimited, key, func(T) time.Duration {
		q.TypedRateLimitingInterface.AddRateLimited(key)
		return q.wait
	})
}

func (q *queue[T]) Forget(key T) {
	q.do(pipeline.Forget, key, atOnce(q.TypedRateLimitingInterface.Forget))
}

func (q *queue[T]) Done(key T) {
	q.do(pipeline.Done, key, atOnce(q.TypedRateLimitingInterface.Done))
}

func (q *queue[T]) Get() (T, bool) {
	worker := q.rec.arrives()
	q.rec.Log.Append(pipeline.Step{Seam: pipeline.Worker, Verb: pipeline.Waits, By: worker.name})
	key, shutdown := q.TypedRateLimitingInterface.Get()
	if shutdown {
		return key, shutdown
	}
	step := pipeline.Step{Seam: pipeline.Queue, Verb: pipeline.Get, Key: name(key), By: worker.name}
	q.mu.Lock() // after the step of the Add or Done that made the key available
	q.rec.takes(worker, step.Key)
	q.rec.Log.Append(step)
	q.mu.Unlock()
	step.Seam, step.Verb = pipeline.Worker, pipeline.Begins
	q.rec.pass(&step)
	q.rec.Workers.wait()
	return key, shutdown
}

func (q *queue[T]) ShutDown() {
	q.rec.Log.Append(pipeline.Step{Seam: pipeline.Queue, Verb: pipeline.ShutDown})
	q.TypedRateLimitingInterface.ShutDown()
}

func (q *queue[T]) ShutDownWithDrain() {
	q.rec.Log.Append(pipeline.Step{Seam: pipeline.Queue, Verb: pipeline.ShutDown})
	q.TypedRateLimitingInterface.ShutDownWithDrain()
}
