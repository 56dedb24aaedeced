package recorder

// This file records the workqueue.

import (
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/pipeline"
)

// queue records a workqueue. Its lock makes a call and its step one, for all calls but Get, which waits.
type queue struct {
	layers.WorkQueue
	rec *Recorder

	mu   sync.Mutex
	wait time.Duration // what the limiter has said in the running AddRateLimited
}

// limit is a rate limiter that reports the waits.
type limit struct {
	layers.RateLimiter
	queue *queue
}

func (l *limit) When(key cache.ObjectName) time.Duration {
	wait := l.RateLimiter.When(key)
	l.queue.wait = wait
	return wait
}

// do holds the goroutine, calls, and records the call with the length of the queue before and after it.
func (q *queue) do(verb string, key cache.ObjectName, by string, call func() time.Duration) {
	step := pipeline.Step{Seam: pipeline.Queue, Verb: verb, Key: key.String(), By: by}
	q.rec.Gate.wait(&step)
	q.mu.Lock()
	defer q.mu.Unlock()
	if verb == pipeline.Add { // the other calls do not race with Get
		step.Code = q.WorkQueue.Len()
	}
	step.Wait = call()
	step.Count = int64(q.WorkQueue.Len())
	q.rec.Log.Append(step)
}

func (q *queue) Add(key cache.ObjectName) {
	q.do(pipeline.Add, key, "", func() time.Duration { q.WorkQueue.Add(key); return 0 })
}

func (q *queue) AddAfter(key cache.ObjectName, wait time.Duration) {
	q.do(pipeline.AddAfter, key, "", func() time.Duration { q.WorkQueue.AddAfter(key, wait); return wait })
}

func (q *queue) AddRateLimited(key cache.ObjectName) {
	q.do(pipeline.AddRateLimited, key, q.rec.worker(key.String(), false), func() time.Duration {
		q.WorkQueue.AddRateLimited(key)
		return q.wait
	})
}

func (q *queue) Forget(key cache.ObjectName) {
	q.do(pipeline.Forget, key, "", func() time.Duration { q.WorkQueue.Forget(key); return 0 })
}

func (q *queue) Done(key cache.ObjectName) {
	q.do(pipeline.Done, key, q.rec.worker(key.String(), true), func() time.Duration { q.WorkQueue.Done(key); return 0 })
}

func (q *queue) Get() (cache.ObjectName, bool) {
	worker := q.rec.arrives()
	q.rec.Log.Append(pipeline.Step{Seam: pipeline.Worker, Verb: pipeline.Waits, By: worker.name})
	key, shutdown := q.WorkQueue.Get()
	if !shutdown {
		step := pipeline.Step{Seam: pipeline.Queue, Verb: pipeline.Get, Key: key.String(), By: worker.name}
		q.rec.Gate.wait(&step)
		q.mu.Lock() // after the step of the Add or Done that made the key available
		defer q.mu.Unlock()
		q.rec.takes(worker, step.Key)
		q.rec.Log.Append(step)
	}
	return key, shutdown
}

func (q *queue) ShutDown() {
	q.rec.Log.Append(pipeline.Step{Seam: pipeline.Queue, Verb: pipeline.ShutDown})
	q.WorkQueue.ShutDown()
}

func (q *queue) ShutDownWithDrain() {
	q.rec.Log.Append(pipeline.Step{Seam: pipeline.Queue, Verb: pipeline.ShutDown})
	q.WorkQueue.ShutDownWithDrain()
}
