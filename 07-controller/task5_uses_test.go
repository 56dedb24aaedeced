package controller_test

// Task 5: typical users of an informer.

import (
	"context"
	"fmt"
	"reflect"
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

// tweaked sets options of each list and watch, as informers.WithTweakListOptions does for a factory's own informers.
type tweaked struct {
	cache.ListerWatcherWithContext
	tweak func(*metav1.ListOptions)
}

func (tw tweaked) List(options metav1.ListOptions) (runtime.Object, error) {
	return tw.ListWithContext(context.Background(), options)
}

func (tw tweaked) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return tw.WatchWithContext(context.Background(), options)
}

func (tw tweaked) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	tw.tweak(&options)
	return tw.ListerWatcherWithContext.ListWithContext(ctx, options)
}

func (tw tweaked) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	tw.tweak(&options)
	return tw.ListerWatcherWithContext.WatchWithContext(ctx, options)
}

func TestTask5_One_namespace_and_one_label(t *testing.T) {
	guard.Test(t, "The store follows the server through its ListerWatcher, which shows one namespace, and the "+
		"objects that a selector matches.", func(t *guard.T) {
		w := newWorld(t)
		labelled := func(namespace, name, tier string) *appsv1.Deployment {
			d := in(namespace, deployment(name))
			d.Labels = map[string]string{"tier": tier}
			return d
		}
		w.Create(labelled("prod", "a", "web"), labelled("prod", "b", "db"), labelled("test", "a", "web"))
		config := w.Config()
		config.QPS = -1
		client, err := below.NewClient(config)
		require.NoError(t, err, "the error of NewClient")
		w.informer = newInformer(below, tweaked{cache.ToListerWatcherWithContext(client.Deployments("prod")),
			func(options *metav1.ListOptions) { options.LabelSelector = "tier=web" }})
		h := w.handle()
		w.run()
		require.Equal(t, []string{"first prod/a@2"}, h.calls(), "the handler's calls for the first list")
		t.Did("prod/a gets another label, and prod/b the one that is selected")
		w.Update(labelled("prod", "a", "db"), labelled("prod", "b", "web"), labelled("test", "a", "db"))
		t.Rule("An object that leaves the selector is a deletion for the handlers, though the server still has it.")
		require.Equal(t, []string{"delete prod/a@5", "add prod/b@6"}, h.calls(), "the handler's calls")
		require.Equal(t, []string{"prod/b@6"}, w.stored(), "the store")
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

// endpointsFilter is the handler that ingress-nginx had until 2022, before EndpointSlices: additions and deletions go
// into a channel, and updates only if the subsets have changed.
func endpointsFilter(events chan<- string) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events <- "added" },
		DeleteFunc: func(obj any) { events <- "deleted" },
		UpdateFunc: func(old, new any) {
			if !reflect.DeepEqual(old.(*corev1.Endpoints).Subsets, new.(*corev1.Endpoints).Subsets) {
				events <- "updated"
			}
		},
	}
}

func TestTask5_Endpoints_handler_compares_subsets(t *testing.T) {
	guard.Test(t, "A handler receives the old and the new state together, so it can ignore changes that do "+
		"not matter.", func(t *guard.T) {
		source := fcache.NewFakeControllerSource()
		t.Cleanup(source.Shutdown)
		version := 0
		endpoints := func(port int32, ips ...string) *corev1.Endpoints {
			version++ // the annotation that leader election by Endpoints renews every two seconds
			e := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Ports: []corev1.EndpointPort{{Port: port}}}}}
			for _, ip := range ips {
				e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, corev1.EndpointAddress{IP: ip})
			}
			e.Namespace, e.Name, e.Annotations = "default", "web", map[string]string{"renewed": fmt.Sprint(version)}
			return e
		}
		informer := controller.NewSharedIndexInformerOn(below, noStreams{source}, &corev1.Endpoints{},
			cache.SharedIndexInformerOptions{})
		events := make(chan string, 100)
		_, err := informer.AddEventHandler(endpointsFilter(events))
		require.NoError(t, err, "the error of AddEventHandler")
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		t.Go(func() { informer.RunWithContext(ctx) })
		settle()
		source.Add(endpoints(80, "10.0.0.1"))
		synctest.Wait()
		t.Did("the Endpoints are renewed ten times, get a second address and another port, and are deleted")
		for range 10 {
			source.Modify(endpoints(80, "10.0.0.1"))
			synctest.Wait()
		}
		for _, port := range []int32{80, 8080} {
			e := endpoints(port, "10.0.0.1", "10.0.0.2")
			source.Modify(e)
			synctest.Wait()
		}
		source.Delete(endpoints(0))
		synctest.Wait()
		close(events)
		received := []string{}
		for event := range events {
			received = append(received, event)
		}
		require.Equal(t, []string{"added", "updated", "updated", "deleted"}, received, "events in the channel")
	})
}
