package recorder

// This file records lists, watches and their events.

import (
	"context"

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

// source records what a Reflector asks for.
type source struct {
	below cache.ListerWatcherWithContext
	rec   *Recorder
	kind  string
}

// ListerWatcher returns a ListerWatcher that does the same as lw and records it.
func (r *Recorder) ListerWatcher(lw cache.ListerWatcher, kind string) cache.ListerWatcher {
	s := &source{cache.ToListerWatcherWithContext(lw), r, kind}
	recorded := &cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}
	return cache.ToListWatcherWithWatchListSemantics(recorded, lw)
}

func (s *source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	step := pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.List, Kind: s.kind, By: "reflect",
		Version: options.ResourceVersion}
	s.rec.pass(&step)
	list, err := s.below.ListWithContext(ctx, options)
	step.Verb, step.Version, step.Error = pipeline.Listed, "", text(err)
	if err == nil {
		step.Count = int64(meta.LenList(list))
		if listMeta, err := meta.ListAccessor(list); err == nil {
			step.Version = listMeta.GetResourceVersion()
		}
	}
	s.rec.pass(&step)
	return list, err
}

func (s *source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	step := pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Watch, Kind: s.kind, By: "reflect",
		Version: options.ResourceVersion}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		step.Text = "with the current objects first"
	}
	s.rec.pass(&step)
	below, err := s.below.WatchWithContext(ctx, options)
	step.Verb, step.Version, step.Error = pipeline.Watching, "", text(err)
	s.rec.pass(&step)
	if err != nil {
		return nil, err
	}
	out := make(chan watch.Event)
	events := &events{watch.NewProxyWatcher(out), below}
	go func() {
		defer close(out)
		for event := range below.ResultChan() {
			s.event(event)
			select {
			case out <- event:
			case <-events.StopChan():
			}
		}
		s.rec.Log.Append(pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Unwatch, Kind: s.kind})
	}()
	return events, nil
}

// event records an event of a watch.
func (s *source) event(event watch.Event) {
	step := Of(pipeline.Step{Seam: pipeline.Event, Verb: string(event.Type), Kind: s.kind, By: "receive"}, event.Object)
	if object, err := meta.Accessor(event.Object); err == nil && event.Type == watch.Bookmark &&
		object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		step.Count = 1
	}
	if event.Type == watch.Error {
		step.Error = apierrors.FromObject(event.Object).Error()
	}
	s.rec.pass(&step)
}

// events is a watch whose events are recorded.
type events struct {
	*watch.ProxyWatcher
	below watch.Interface
}

// Stop stops the watch below, too.
func (e *events) Stop() {
	e.ProxyWatcher.Stop()
	e.below.Stop()
}
