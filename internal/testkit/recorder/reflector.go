package recorder

// This file records lists, watches and their events.

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/pipeline"
)

// reflector records when a Reflector begins and returns.
type reflector struct {
	layers.Reflector
	rec  *Recorder
	kind string
}

func (f *reflector) ListAndWatchWithContext(ctx context.Context) error {
	step := pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Run, Kind: f.kind, By: "reflect"}
	f.rec.pass(&step)
	err := f.Reflector.ListAndWatchWithContext(ctx)
	step.Verb, step.Error = pipeline.Returned, text(err)
	f.rec.pass(&step)
	return err
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// listerWatcher records what a Reflector asks for.
type listerWatcher struct {
	below cache.ListerWatcherWithContext
	rec   *Recorder
	kind  string
	// unsupported is true if the layer below cannot stream lists.
	unsupported bool
}

// ListerWatcher returns a ListerWatcher that does the same as lw and records it.
func (r *Recorder) ListerWatcher(lw cache.ListerWatcher, kind string) cache.ListerWatcher {
	w := &listerWatcher{below: cache.ToListerWatcherWithContext(lw), rec: r, kind: kind}
	if u, ok := lw.(interface{ IsWatchListSemanticsUnSupported() bool }); ok {
		w.unsupported = u.IsWatchListSemanticsUnSupported()
	}
	return w
}

// IsWatchListSemanticsUnSupported reports whether the layer below cannot stream lists.
func (w *listerWatcher) IsWatchListSemanticsUnSupported() bool { return w.unsupported }

func (w *listerWatcher) List(options metav1.ListOptions) (runtime.Object, error) {
	return w.ListWithContext(context.Background(), options)
}

func (w *listerWatcher) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return w.WatchWithContext(context.Background(), options)
}

func (w *listerWatcher) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	step := pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.List, Kind: w.kind, By: "reflect",
		Version: options.ResourceVersion}
	w.rec.pass(&step)
	list, err := w.below.ListWithContext(ctx, options)
	step.Verb, step.Version, step.Error = pipeline.Listed, "", text(err)
	if err == nil {
		step.Count = int64(meta.LenList(list))
		if listMeta, err := meta.ListAccessor(list); err == nil {
			step.Version = listMeta.GetResourceVersion()
		}
	}
	w.rec.pass(&step)
	return list, err
}

func (w *listerWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	step := pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Watch, Kind: w.kind, By: "reflect",
		Version: options.ResourceVersion}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		step.Text = "with the current objects first"
	}
	w.rec.pass(&step)
	below, err := w.below.WatchWithContext(ctx, options)
	step.Verb, step.Version, step.Error = pipeline.Watching, "", text(err)
	w.rec.pass(&step)
	if err != nil {
		return nil, err
	}
	events := &events{below: below, rec: w.rec, kind: w.kind, out: make(chan watch.Event), stopped: make(chan struct{})}
	go events.send()
	return events, nil
}

// events is a watch that records its events.
type events struct {
	below   watch.Interface
	rec     *Recorder
	kind    string
	out     chan watch.Event
	stop    sync.Once
	stopped chan struct{}
}

func (e *events) ResultChan() <-chan watch.Event { return e.out }

// Stop stops the watch below.
func (e *events) Stop() {
	e.stop.Do(func() { close(e.stopped) })
	e.below.Stop()
}

// send passes the events on until the watch below ends or this one is stopped.
func (e *events) send() {
	defer close(e.out)
	for event := range e.below.ResultChan() {
		step := Of(pipeline.Step{Seam: pipeline.Event, Verb: string(event.Type), Kind: e.kind, By: "receive"},
			event.Object)
		if object, err := meta.Accessor(event.Object); err == nil && event.Type == watch.Bookmark &&
			object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			step.Count = 1
		}
		if event.Type == watch.Error {
			step.Error = apierrors.FromObject(event.Object).Error()
		}
		e.rec.pass(&step)
		select {
		case e.out <- event:
		case <-e.stopped:
		}
	}
	e.rec.Log.Append(pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Unwatch, Kind: e.kind})
}
