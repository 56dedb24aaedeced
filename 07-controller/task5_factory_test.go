package controller_test

// Task 5: an informer's settings.

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Transform_sees_everything_first(t *testing.T) {
	guard.Test(t, "Handlers and the store receive the objects that the transform returns, from lists, additions and "+
		"updates.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		again := 0
		t.Did("SetTransform, with a function that takes the template away")
		err := w.informer.SetTransform(func(obj any) (any, error) {
			if d, ok := obj.(*appsv1.Deployment); ok {
				if stored, _, _ := w.informer.GetStore().GetByKey("default/" + d.Name); stored == obj {
					again++
				}
				d.Spec.Template = corev1.PodTemplateSpec{}
			}
			return obj, nil
		})
		require.NoError(t, err, "the error of SetTransform")
		containers := func(obj any) int { return len(obj.(*appsv1.Deployment).Spec.Template.Spec.Containers) }
		var received []int
		w.register(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { received = append(received, containers(obj)) },
			UpdateFunc: func(old, new any) { received = append(received, containers(old), containers(new)) },
		})
		w.run()
		w.create("b")
		w.change("a")
		require.Equal(t, []int{0, 0, 0, 0}, received, "containers in the handler's objects")
		w.away(func() { w.create("c") })
		for _, obj := range w.informer.GetStore().List() {
			require.Zero(t, containers(obj), "containers of %s in the store", name(obj))
		}
		w.pass(time.Hour)
		t.Did("a handler comes late")
		w.handle()
		settle()
		t.Rule("Every object passes through the transform before it is stored, and only then: not in resyncs, nor for " +
			"late handlers.")
		require.Zero(t, again, "objects of the store that pass through the transform again")
	})
}

func TestTask5_Object_that_the_transform_refuses(t *testing.T) {
	guard.Test(t, "Handlers and the store receive the objects that the transform returns, and none for which it returns an "+
		"error.", func(t *guard.T) {
		w := newWorld(t, "a")
		refused := 0
		err := w.informer.SetTransform(func(obj any) (any, error) {
			if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "bad" {
				refused++
				return nil, errors.New("the transform is on fire")
			}
			return obj, nil
		})
		require.NoError(t, err, "the error of SetTransform")
		h := w.handle()
		w.run()
		t.Did("the transform returns an error for one object")
		w.create("bad")
		w.change("bad")
		w.pass(2 * time.Minute)
		require.NotZero(t, refused, "objects that the transform refused")
		require.Equal(t, []string{"a@2"}, w.stored(), "the store")
		require.Equal(t, []string{"first a@2"}, without("again", h.calls()), "the handler's calls, without resyncs")
	})
}

func TestTask5_Last_transform_counts(t *testing.T) {
	mark := func(label string) cache.TransformFunc {
		return func(obj any) (any, error) {
			if d, ok := obj.(*appsv1.Deployment); ok {
				metav1.SetMetaDataLabel(&d.ObjectMeta, label, "yes")
			}
			return obj, nil
		}
	}
	for second, transform := range guard.InOrder(map[string]cache.TransformFunc{"another": mark("second"), "nil": nil}) {
		t.Run(second, func(t *testing.T) {
			guard.Test(t, "A second SetTransform replaces the first.", func(t *guard.T) {
				w := newWorld(t, "a")
				t.Did("SetTransform twice, the second time with %s", second)
				require.NoError(t, w.informer.SetTransform(mark("first")), "the error of the 1st SetTransform")
				require.NoError(t, w.informer.SetTransform(transform), "the error of the 2nd SetTransform")
				w.run()
				require.Len(t, w.stored(), 1, "objects in the store")
				labels := w.informer.GetStore().List()[0].(*appsv1.Deployment).Labels
				require.NotContains(t, labels, "first", "labels of a in the store")
				require.Equal(t, transform != nil, labels["second"] == "yes", "the label of the 2nd transform is in the store")
			})
		})
	}
}

func TestTask5_Settings_in_each_phase(t *testing.T) {
	for phase, reach := range guard.InOrder(map[string]func(*world){
		"before the first list": func(w *world) {
			w.Down()
			w.run()
		},
		"with the first list": func(w *world) { w.run() },
		"after the end": func(w *world) {
			w.run()
			w.end()
		},
		"after the end, without a list": func(w *world) {
			w.Down()
			w.run()
			w.end()
		},
	}) {
		t.Run(phase, func(t *testing.T) {
			guard.Test(t, "SetTransform returns an error after the start: the objects in the store have not passed "+
				"through it.", func(t *guard.T) {
				w := newWorldWith(t, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}}, "a")
				reach(w)
				require.Error(t, w.informer.SetTransform(func(obj any) (any, error) { return obj, nil }),
					"SetTransform, %s", phase)
				t.Rule("SetWatchErrorHandlerWithContext returns an error after the start.")
				require.Error(t, w.informer.SetWatchErrorHandlerWithContext(cache.DefaultWatchErrorHandler),
					"SetWatchErrorHandlerWithContext, %s", phase)
				err := w.informer.AddIndexers(cache.Indexers{"none": func(any) ([]string, error) { return nil, nil }})
				if w.informer.IsStopped() {
					t.Rule("AddIndexers returns an error after the end.")
					require.Error(t, err, "AddIndexers, %s", phase)
					return
				}
				t.Rule("AddIndexers adds indexes to the store, before or after the start.")
				require.NoError(t, err, "the error of AddIndexers, %s", phase)
			})
		})
	}
}

func TestTask5_Indexers_can_be_added_late(t *testing.T) {
	guard.Test(t, "AddIndexers adds indexes to the store, before or after the start.", func(t *guard.T) {
		w := newWorldWith(t, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}}, "a").run()
		t.Did("AddIndexers after the start")
		t.Rule("New indexes cover the objects that are already in the store.")
		err := w.informer.AddIndexers(cache.Indexers{"image": func(obj any) ([]string, error) {
			return []string{obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image}, nil
		}})
		require.NoError(t, err, "the error of AddIndexers")
		w.create("b")
		keys, err := w.informer.GetIndexer().IndexKeys("image", "nginx:1.29")
		require.NoError(t, err, "the error of IndexKeys")
		slices.Sort(keys)
		require.Equal(t, []string{"default/a", "default/b"}, keys, "keys under image=nginx:1.29")
		t.Did("AddIndexers of an index whose function panics")
		require.Panics(t, func() {
			_ = w.informer.AddIndexers(cache.Indexers{"broken": func(any) ([]string, error) { panic("a bug in an index") }})
		}, "AddIndexers")
		w.end()
	})
}

func TestTask5_Indexers_come_before_the_start(t *testing.T) {
	guard.Test(t, "AddIndexers adds indexes to the store, before or after the start.", func(t *guard.T) {
		w := newWorldWith(t, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}}, "a")
		byName := func(obj any) ([]string, error) { return []string{obj.(*appsv1.Deployment).Name}, nil }
		require.NoError(t, w.informer.AddIndexers(cache.Indexers{"name": byName}), "the error of AddIndexers")
		twice := func(when string) {
			t.Helper()
			t.Did("AddIndexers, with a name that there is already and thirty new ones")
			indexers := cache.Indexers{"name": byName}
			for _, name := range numbered(30) {
				indexers[name] = byName
			}
			t.Rule("AddIndexers returns the indexer's error, for example for an index that exists already.")
			require.Error(t, w.informer.AddIndexers(indexers), "AddIndexers of the same name %s", when)
			t.Rule("AddIndexers then adds none of the indexes.")
			require.Len(t, w.informer.GetIndexer().GetIndexers(), 1, "indexes %s", when)
		}
		twice("before the start")
		t.Rule("AddIndexers adds indexes to the store, before or after the start.")
		w.run()
		keys, err := w.informer.GetIndexer().IndexKeys("name", "a")
		require.NoError(t, err, "the error of IndexKeys")
		require.Equal(t, []string{"default/a"}, keys, "keys under name=a")
		twice("after the start")
	})
}

func TestTask5_Settings_come_while_it_starts_and_ends(t *testing.T) {
	guard.Race(t, "AddIndexers and SetTransform may be called at any time: a lock guards whether the informer "+
		"has started or stopped.", func(t *guard.T) {
		t.Did("20 times: RunWithContext, the end of its context, AddIndexers and SetTransform, all at once")
		for range 20 {
			source := fcache.NewFakeControllerSource()
			informer := controller.NewSharedIndexInformerOn(below, noStreams{source}, &appsv1.Deployment{},
				cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}})
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { informer.RunWithContext(ctx) })
			all.Go(func() {
				_ = informer.AddIndexers(cache.Indexers{"none": func(any) ([]string, error) { return nil, nil }})
			})
			all.Go(func() { _ = informer.SetTransform(func(obj any) (any, error) { return obj, nil }) })
			all.Go(cancel)
			all.Wait()
			source.Shutdown()
		}
	})
}

// brokenList fails each list while it is broken. It cannot list by a watch.
type brokenList struct {
	cache.ListerWatcher
	broken atomic.Bool
	failed atomic.Int32 // lists
}

var (
	errOnFire  = errors.New("the server is on fire")
	errExpired = apierrors.NewResourceExpired("too old")
)

// listFailures are what the lists of a brokenList return, one after the other. After an expired version, a Reflector
// lists again before it reports.
var listFailures = []error{
	errOnFire, errOnFire, errOnFire, apierrors.NewForbidden(appsv1.Resource("deployments"), "", nil),
	apierrors.NewInternalError(io.ErrUnexpectedEOF), apierrors.NewServiceUnavailable("it starts"),
	apierrors.NewUnauthorized("a token has ended"), io.EOF, context.DeadlineExceeded,
	errExpired, errExpired,
}

func (*brokenList) IsWatchListSemanticsUnSupported() bool { return true }

func (b *brokenList) List(options metav1.ListOptions) (runtime.Object, error) {
	if b.broken.Load() {
		return nil, listFailures[int(b.failed.Add(1)-1)%len(listFailures)]
	}
	return b.ListerWatcher.List(options)
}

func (b *brokenList) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return b.List(options)
}

func (b *brokenList) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return cache.ToListerWatcherWithContext(b.ListerWatcher).WatchWithContext(ctx, options)
}

func TestTask5_Watch_errors_are_reported(t *testing.T) {
	guard.Test(t, "SetWatchErrorHandlerWithContext sets the function that receives each error of the "+
		"Reflector.", func(t *guard.T) {
		w := newWorld(t, "a")
		source := &brokenList{ListerWatcher: w.source()}
		source.broken.Store(true)
		w.informer = newInformer(below, source)
		var received []error
		t.Did("SetWatchErrorHandlerWithContext, twice")
		before := 0
		err := w.informer.SetWatchErrorHandler(func(*cache.Reflector, error) { before++ })
		require.NoError(t, err, "the error of SetWatchErrorHandler")
		err = w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			received = append(received, err)
		})
		require.NoError(t, err, "the error of SetWatchErrorHandlerWithContext")
		w.run()
		t.Did("SetWatchErrorHandler after the start, which returns an error and changes nothing")
		err = w.informer.SetWatchErrorHandler(func(*cache.Reflector, error) { before++ })
		require.Error(t, err, "SetWatchErrorHandler after the start")
		w.pass(10 * time.Minute)
		require.GreaterOrEqual(t, len(received), len(listFailures), "errors that the handler received")
		for i, failed := range listFailures[:len(listFailures)-1] {
			require.ErrorIs(t, received[i], failed, "error %d that the handler received", i+1)
		}
		require.Zero(t, before, "errors that the handlers before and after it received")
		t.Did("lists go well again")
		source.broken.Store(false)
		w.pass(2 * time.Minute)
		t.Rule("A failed list is tried again until it succeeds, whatever the handler does.")
		require.Equal(t, []string{"a@2"}, w.stored(), "the store after lists work again")
	})
}

func TestTask5_Watch_error_handler_of_the_old_kind(t *testing.T) {
	guard.Test(t, "SetWatchErrorHandler sets a handler without a context, which "+
		"receives the same errors.", func(t *guard.T) {
		w := newWorld(t, "a")
		source := &brokenList{ListerWatcher: w.source()}
		source.broken.Store(true)
		w.informer = newInformer(below, source)
		received := 0
		err := w.informer.SetWatchErrorHandler(func(*cache.Reflector, error) {
			w.informer.LastSyncResourceVersion()
			_, err := w.informer.AddEventHandler(&handler{})
			require.NoError(t, err, "the error of AddEventHandler, called by the watch error handler")
			time.Sleep(time.Minute)
			received++
		})
		require.NoError(t, err, "the error of SetWatchErrorHandler")
		w.run()
		t.Rule("When RunWithContext returns, nothing is left running: it waits for the watch error handler too.")
		w.end()
		require.Equal(t, 1, received, "calls of the handler that have returned when RunWithContext returns")
	})
}

// noStreams says that a source cannot list by a watch.
type noStreams struct{ *fcache.FakeControllerSource }

func (noStreams) IsWatchListSemanticsUnSupported() bool { return true }
