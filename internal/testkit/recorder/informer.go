package recorder

// This file records the calls of event handlers.

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/pipeline"
)

// informer records the handlers that are added to an informer.
type informer struct {
	cache.SharedIndexInformer
	rec  *Recorder
	kind string

	mu     sync.Mutex
	joined int
	names  map[cache.ResourceEventHandlerRegistration]string
}

// Informer returns an informer that does the same as below and records the calls of its handlers.
func (r *Recorder) Informer(below cache.SharedIndexInformer, kind string) cache.SharedIndexInformer {
	return &informer{SharedIndexInformer: below, rec: r, kind: kind,
		names: map[cache.ResourceEventHandlerRegistration]string{}}
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler,
	period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &period})
}

func (i *informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler,
	options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	i.joined++
	name := "handler " + strconv.Itoa(i.joined)
	i.mu.Unlock()
	step := pipeline.Step{Seam: pipeline.Handler, Verb: pipeline.Joined, Kind: i.kind, By: name}
	i.rec.Log.Append(step)
	registration, err := i.SharedIndexInformer.AddEventHandlerWithOptions(
		i.rec.Handler(h, func(any, any, bool) pipeline.Step { return pipeline.Step{Kind: i.kind, By: name} }), options)
	if err != nil {
		step.Verb, step.Error = pipeline.Left, err.Error()
		i.rec.Log.Append(step)
		return registration, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.names[registration] = name
	return registration, nil
}

func (i *informer) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	err := i.SharedIndexInformer.RemoveEventHandler(registration)
	i.mu.Lock()
	defer i.mu.Unlock()
	if name, ours := i.names[registration]; ours && err == nil {
		delete(i.names, registration)
		i.rec.Log.Append(pipeline.Step{Seam: pipeline.Handler, Verb: pipeline.Left, Kind: i.kind, By: name})
	}
	return err
}

// HandlerName returns the name under which the calls of a handler are recorded.
func HandlerName(of cache.SharedIndexInformer, registration cache.ResourceEventHandlerRegistration) string {
	i := of.(*informer)
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.names[registration]
}

// About returns what a step says about a call besides its verb and object: the kind, the handler, and a text. Only
// OnUpdate has an old object.
type About func(old, obj any, inInitialList bool) pipeline.Step

// Handler returns a handler that does the same as below and records its calls.
func (r *Recorder) Handler(below cache.ResourceEventHandler, about About) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, inInitialList bool) {
			step := about(nil, obj, inInitialList)
			r.call(pipeline.OnAdd, obj, step, func() { below.OnAdd(obj, inInitialList) })
		},
		UpdateFunc: func(old, now any) {
			r.call(pipeline.OnUpdate, now, about(old, now, false), func() { below.OnUpdate(old, now) })
		},
		DeleteFunc: func(obj any) {
			step := about(nil, obj, false)
			if _, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				step.Text = "a tombstone"
			}
			r.call(pipeline.OnDelete, obj, step, func() { below.OnDelete(obj) })
		},
	}
}

// call records a call of a handler, and its end also after a panic.
func (r *Recorder) call(verb string, obj any, step pipeline.Step, call func()) {
	step = Of(step, obj)
	step.Seam, step.Verb = pipeline.Handler, verb
	r.pass(&step)
	defer func() {
		step.Verb, step.Text = pipeline.Returned, ""
		r.Log.Append(step)
	}()
	call()
}
