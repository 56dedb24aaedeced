package controller_test

// Task 5: what else can be said to an informer, and the places where one is used.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	appsv1listers "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/client-go/util/workqueue"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Transform_sees_everything_first(t *testing.T) {
	guard.Test(t, "Handlers and the store get the objects that the transform has made.", func(t *guard.T) {
		w := newWorld(t, "a")
		t.Did("SetTransform, with a function that takes the template away")
		err := w.informer.SetTransform(func(obj any) (any, error) {
			if d, ok := obj.(*appsv1.Deployment); ok {
				d.Spec.Template = corev1.PodTemplateSpec{}
			}
			return obj, nil
		})
		require.NoError(t, err, "the error of SetTransform")
		var heard []int
		w.register(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			heard = append(heard, len(obj.(*appsv1.Deployment).Spec.Template.Spec.Containers))
		}})
		w.run()
		w.create("b")
		require.Equal(t, []int{0, 0}, heard, "containers in the handler's objects")
		for _, obj := range w.informer.GetStore().List() {
			require.Empty(t, obj.(*appsv1.Deployment).Spec.Template.Spec.Containers, "containers of %s in the store", name(obj))
		}
	})
}

func TestTask5_Transform_not_after_the_start(t *testing.T) {
	guard.Test(t, "SetTransform is an error after the start: the objects in the store would not have gone "+
		"through it.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Error(t, w.informer.SetTransform(func(obj any) (any, error) { return obj, nil }),
			"SetTransform after the start")
	})
}

func TestTask5_Indexers_can_be_added_late(t *testing.T) {
	guard.Test(t, "AddIndexers adds indexes after the start, too; they cover the objects that are "+
		"there already.", func(t *guard.T) {
		w := newWorldWith(t, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}}, "a").run()
		t.Did("AddIndexers after the start")
		err := w.informer.AddIndexers(cache.Indexers{"image": func(obj any) ([]string, error) {
			return []string{obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image}, nil
		}})
		require.NoError(t, err, "the error of AddIndexers")
		w.create("b")
		keys, err := w.informer.GetIndexer().IndexKeys("image", "nginx:1.29")
		require.NoError(t, err, "the error of IndexKeys")
		slices.Sort(keys)
		require.Equal(t, []string{"default/a", "default/b"}, keys, "keys under image=nginx:1.29")
	})
}

func TestTask5_Settings_come_while_it_starts_and_ends(t *testing.T) {
	guard.Race(t, "AddIndexers and SetTransform may be called at any time: a lock guards whether the informer has "+
		"started or ended.", func(t *guard.T) {
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

func TestTask5_Indexers_not_after_the_end(t *testing.T) {
	guard.Test(t, "AddIndexers is an error after the end.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.end()
		require.Error(t, w.informer.AddIndexers(cache.Indexers{}), "AddIndexers after the end")
	})
}

// brokenList fails each list while it is broken. It cannot list by a watch.
type brokenList struct {
	cache.ListerWatcher
	broken atomic.Bool
}

func (*brokenList) IsWatchListSemanticsUnSupported() bool { return true }

func (b *brokenList) List(options metav1.ListOptions) (runtime.Object, error) {
	if b.broken.Load() {
		return nil, errors.New("the server is on fire")
	}
	return b.ListerWatcher.List(options)
}

func (b *brokenList) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return b.List(options)
}

func (b *brokenList) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return cache.ToListerWatcherWithContext(b.ListerWatcher).WatchWithContext(ctx, options)
}

func TestTask5_Watch_errors_are_told(t *testing.T) {
	guard.Test(t, "The watch error handler receives the error of every list that fails.", func(t *guard.T) {
		w := newWorld(t, "a")
		source := &brokenList{ListerWatcher: w.source()}
		source.broken.Store(true)
		w.informer = newInformer(below, source)
		var received []error
		t.Did("SetWatchErrorHandlerWithContext")
		err := w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			received = append(received, err)
		})
		require.NoError(t, err, "the error of SetWatchErrorHandlerWithContext")
		w.run()
		w.pass(time.Minute)
		require.NotEmpty(t, received, "errors that the handler received")
		require.ErrorContains(t, received[0], "on fire", "the 1st error that the handler received")
		t.Did("lists go well again")
		source.broken.Store(false)
		w.pass(2 * time.Minute)
		t.Rule("A list that fails is tried again until it works, whatever the handler does.")
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
		require.NoError(t, w.informer.SetWatchErrorHandler(func(r *cache.Reflector, err error) { received++ }),
			"the error of SetWatchErrorHandler")
		w.run()
		w.pass(time.Minute)
		require.NotZero(t, received, "errors that the handler received")
	})
}

func TestTask5_Watch_error_handler_not_after_the_start(t *testing.T) {
	guard.Test(t, "SetWatchErrorHandlerWithContext is an error after the start.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Error(t, w.informer.SetWatchErrorHandlerWithContext(cache.DefaultWatchErrorHandler),
			"SetWatchErrorHandlerWithContext after the start")
	})
}

func TestTask5_Nothing_is_told_if_nothing_fails(t *testing.T) {
	guard.Test(t, "The watch error handler receives failures only: a watch that times out is not an error, and "+
		"neither is the end.", func(t *guard.T) {
		w := newWorld(t, "a")
		received := []error{}
		err := w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			received = append(received, err)
		})
		require.NoError(t, err, "the error of SetWatchErrorHandlerWithContext")
		w.run()
		w.pass(24 * time.Hour)
		w.end()
		require.Empty(t, received, "errors that the handler received")
	})
}

func TestTask5_Controller_of_old_code_is_only_asked(t *testing.T) {
	guard.Test(t, "GetController returns a controller for old code, which can be asked, but not run.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		c := w.informer.GetController()
		require.True(t, c.HasSynced(), "the controller has synced")
		t.Did("GetController().RunWithContext")
		c.RunWithContext(t.Context()) // would hang, or start a second watch
		require.Equal(t, 1, w.Watches(), "open watches")
	})
}

func TestTask5_Typed_informers_take_it(t *testing.T) {
	guard.Test(t, "client-go's typed informers wrap any informer.", func(t *guard.T) {
		w := newWorld(t, "a")
		typed := cache.NewTypedSharedIndexInformer[*appsv1.Deployment](w.informer)
		var heard []string
		_, err := typed.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*appsv1.Deployment]{
			AddFunc: func(d *appsv1.Deployment) { heard = append(heard, d.Name) },
		})
		require.NoError(t, err, "the error of AddTypedEventHandler")
		w.run()
		require.Equal(t, []string{"a"}, heard, "Deployments that the typed handler received")
	})
}

// The pattern of Kubernetes' sample-controller: a handler that puts keys into a queue, a worker that asks a lister.
func TestTask5_Sample_controller_runs_on_it(t *testing.T) {
	guard.Test(t, "The pattern of Kubernetes' sample-controller runs on the informer: the worker finds each change "+
		"in the cache.", func(t *guard.T) {
		w := newWorld(t, "a")
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
		defer queue.ShutDown()
		enqueue := func(obj any) {
			if key, err := cache.DeletionHandlingObjectToName(obj); err == nil {
				queue.Add(key)
			}
		}
		registration := w.register(cache.ResourceEventHandlerFuncs{
			AddFunc: enqueue, UpdateFunc: func(_, new any) { enqueue(new) }, DeleteFunc: enqueue,
		})
		lister := appsv1listers.NewDeploymentLister(w.informer.GetIndexer())
		var work []string
		w.run()
		patience, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.True(t, cache.WaitFor(patience, "", registration.HasSyncedChecker()),
			"the registration has synced within a minute")
		t.Go(func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				d, err := lister.Deployments(key.Namespace).Get(key.Name)
				switch {
				case err != nil:
					work = append(work, key.Name+" is gone")
				default:
					work = append(work, name(d))
				}
				queue.Forget(key)
				queue.Done(key)
			}
		})
		synctest.Wait()
		w.change("a")
		w.remove("a")
		queue.ShutDown()
		synctest.Wait()
		require.Equal(t, []string{"a@2", "a@3", "a is gone"}, work, "the objects that the worker found")
	})
}

// The handler of the ingress article: Endpoints can change while their subsets stay, and the subsets are what matters.
func TestTask5_Endpoints_handler_compares_subsets(t *testing.T) {
	guard.Test(t, "A handler receives the old and the new state together, so it can ignore changes that do "+
		"not matter.", func(t *guard.T) {
		source := fcache.NewFakeControllerSource()
		t.Cleanup(source.Shutdown)
		endpoints := func(version int, ip string) *corev1.Endpoints {
			e := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: ip}}}}}
			e.Namespace, e.Name, e.Annotations = "default", "web", map[string]string{"renewed": fmt.Sprint(version)}
			return e
		}
		informer := controller.NewSharedIndexInformerOn(below, noStreams{source}, &corev1.Endpoints{},
			cache.SharedIndexInformerOptions{})
		reloads := 0
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
			before, now := old.(*corev1.Endpoints).Subsets, new.(*corev1.Endpoints).Subsets
			if before[0].Addresses[0].IP != now[0].Addresses[0].IP {
				reloads++
			}
		}})
		require.NoError(t, err, "the error of AddEventHandler")
		source.Add(endpoints(0, "10.0.0.1"))
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		t.Go(func() { informer.RunWithContext(ctx) })
		synctest.Wait()
		t.Did("the Endpoints change ten times, and their address once")
		for i := range 10 {
			ip := "10.0.0.1"
			if i >= 5 {
				ip = "10.0.0.2"
			}
			source.Modify(endpoints(i, ip))
		}
		synctest.Wait()
		require.Equal(t, 1, reloads, "changes of the address")
	})
}

// noStreams says that a source cannot list by a watch.
type noStreams struct{ *fcache.FakeControllerSource }

func (noStreams) IsWatchListSemanticsUnSupported() bool { return true }

func TestTask5_Object_that_cannot_be_transformed_costs_no_other(t *testing.T) {
	guard.Test(t, "An error concerns one object only: an object that cannot be transformed does not keep out "+
		"the others.", func(t *guard.T) {
		w := newWorld(t)
		err := w.informer.SetTransform(func(obj any) (any, error) {
			if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "bad" {
				return nil, errors.New("cannot make this one smaller")
			}
			return obj, nil
		})
		require.NoError(t, err, "the error of SetTransform")
		w.run()
		w.create("bad", "good")
		require.Contains(t, w.stored(), "good@3", "the store")
	})
}
