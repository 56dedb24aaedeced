package watchstream_test

// Task 5: ListWatch. The parameters of requests, the effect of a selector, and leaks.

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// allOptions has each option of a list or watch, and its parameters.
var allOptions = []struct {
	options metav1.ListOptions
	query   string
}{
	{metav1.ListOptions{LabelSelector: "app=web"}, "labelSelector=app%3Dweb"},
	{metav1.ListOptions{FieldSelector: "metadata.name=web"}, "fieldSelector=metadata.name%3Dweb"},
	{metav1.ListOptions{ResourceVersion: "0"}, "resourceVersion=0"},
	{metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: "NotOlderThan"},
		"resourceVersion=1&resourceVersionMatch=NotOlderThan"},
	{metav1.ListOptions{TimeoutSeconds: new(int64(9))}, "timeoutSeconds=9"},
	{metav1.ListOptions{TimeoutSeconds: new(int64(0))}, "timeoutSeconds=0"},
	{metav1.ListOptions{Limit: 1}, "limit=1"},
	{metav1.ListOptions{Limit: 1, ResourceVersion: "0"}, "limit=1&resourceVersion=0"},
	{metav1.ListOptions{Limit: 1, ResourceVersion: "1"}, "limit=1&resourceVersion=1"},
	{metav1.ListOptions{Limit: 1, Continue: "c"}, "continue=c&limit=1"},
	{metav1.ListOptions{AllowWatchBookmarks: true}, "allowWatchBookmarks=true"},
	{metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: "NotOlderThan"},
		"resourceVersionMatch=NotOlderThan&sendInitialEvents=true"},
	{metav1.ListOptions{SendInitialEvents: new(false)}, "sendInitialEvents=false"},
	{metav1.ListOptions{}, ""},
}

func TestTask5_All_options_are_sent(t *testing.T) {
	const (
		filtered = "Each list and watch is a new request, with all options of the caller, changed by modify."
		selected = "It replaces the field selector of the caller's options, and leaves the other options as they are."
		changed  = "Each list and watch is a new request, with all options of the caller, changed by modify. modify " +
			"may set and clear any of them."
	)
	guard.Test(t, filtered, func(t *guard.T) {
		api := fakeapi.Start(t)
		c := client(t, api)
		var changes metav1.ListOptions
		modify := func(options *metav1.ListOptions) {
			changes.Watch = options.Watch
			*options = changes
		}
		for rule, lw := range guard.InOrder(map[string]*watchstream.ListWatch{
			changed:  watchstream.NewFilteredListWatchFromClient(c, "deployments", "", modify),
			filtered: watchstream.NewFilteredListWatchFromClient(c, "deployments", "", func(*metav1.ListOptions) {}),
			selected: watchstream.NewListWatchFromClient(c, "deployments", "", fields.Everything()),
		}) {
			t.Rule("%s", rule)
			for _, test := range allOptions {
				t.Did("ListWithContext, WatchWithContext with %q", test.query)
				options, query := test.options, test.query
				if rule == selected && options.FieldSelector != "" {
					query = ""
				}
				if rule == changed {
					changes, options = test.options, metav1.ListOptions{LabelSelector: "app=db", Limit: 7}
				}
				before := len(api.Requests(""))
				lw.ListWithContext(t.Context(), options) // the server refuses some; only the request matters
				if w, err := lw.WatchWithContext(t.Context(), options); err == nil {
					w.Stop()
				}
				sent := api.Requests("")[before:]
				require.Len(t, sent, 2, "requests sent")
				require.Equal(t, query, sent[0].Query.Encode(), "the query of the list")
				watching := sent[1].Query
				require.Equal(t, "true", watching.Get("watch"), "the parameter watch of the watch")
				watching.Del("watch")
				require.Equal(t, query, watching.Encode(), "the query of the watch, without watch=true")
			}
		}
	})
}

func TestTask5_Field_selector_replaces_the_callers(t *testing.T) {
	guard.Test(t, "It replaces the field selector of the caller's options, and leaves the other options as "+
		"they are.",
		func(t *guard.T) {
			api := fakeapi.Start(t)
			onlyB := fields.OneTermEqualSelector("metadata.name", "b")
			lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "", onlyB)
			options := metav1.ListOptions{FieldSelector: "metadata.name=a", LabelSelector: "app=b"}
			t.Did("ListWithContext, WatchWithContext with the selectors metadata.name=a and app=b")
			_, err := lw.ListWithContext(t.Context(), options)
			require.NoError(t, err, "the error of ListWithContext")
			w, err := lw.WatchWithContext(t.Context(), options)
			require.NoError(t, err, "the error of WatchWithContext")
			w.Stop()
			for i, r := range api.Requests("") {
				require.Equal(t, "metadata.name=b", r.Query.Get("fieldSelector"),
					"the field selector of request %d", i+1)
				require.Equal(t, "app=b", r.Query.Get("labelSelector"), "the label selector of request %d", i+1)
			}
			lw = watchstream.NewListWatchFromClient(client(t, api), "deployments", "", fields.Everything())
			t.Did("ListWithContext of everything, with the selector metadata.name=a")
			_, err = lw.ListWithContext(t.Context(), options)
			require.NoError(t, err, "the error of ListWithContext")
			require.Empty(t, api.Requests("")[2].Query.Get("fieldSelector"), "the field selector of the 3rd request")
		})
}

// inNamespace moves the Deployment to another namespace.
func inNamespace(d *appsv1.Deployment, namespace string) *appsv1.Deployment {
	d.Namespace = namespace
	return d
}

func TestTask5_Resource_and_namespace_are_the_callers(t *testing.T) {
	const objects = "NewFilteredListWatchFromClient returns a ListWatch for the objects of a resource in a " +
		"namespace, or in all namespaces if it is empty."
	guard.Test(t, objects, func(t *guard.T) {
		api := fakeapi.Start(t)
		c := client(t, api)
		modify := func(*metav1.ListOptions) {}
		for namespace, want := range guard.InOrder(map[string][]string{
			"default": {"default"}, "other": {"other"}, "": {"default", "other"},
		}) {
			for _, lw := range []*watchstream.ListWatch{
				watchstream.NewFilteredListWatchFromClient(c, "deployments", namespace, modify),
				watchstream.NewListWatchFromClient(c, "deployments", namespace, fields.Everything()),
			} {
				t.Did("web is created in the namespaces default and other, and the ListWatch is "+
					"for %q", namespace)
				version := api.ResourceVersion()
				api.Create(deployment("web"), inNamespace(deployment("web"), "other"))
				obj, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
				require.NoError(t, err, "the error of ListWithContext")
				var listed, watched []string
				for _, d := range obj.(*appsv1.DeploymentList).Items {
					listed = append(listed, d.Namespace)
				}
				require.Equal(t, want, listed, "namespaces of the objects in the list")
				w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: version})
				require.NoError(t, err, "the error of WatchWithContext")
				for range want {
					watched = append(watched, (<-w.ResultChan()).Object.(*appsv1.Deployment).Namespace)
				}
				require.Equal(t, want, watched, "namespaces of the objects in the events")
				require.Equal(t, nothing, receive(w), "the event after those")
				w.Stop()
				api.Delete(deployment("web"), inNamespace(deployment("web"), "other"))
			}
		}
		t.Did("ListWithContext, WatchWithContext of replicasets, which this server does not have")
		before := len(api.Requests(""))
		lw := watchstream.NewFilteredListWatchFromClient(c, "replicasets", "default", modify)
		_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
		require.Error(t, err, "the error of ListWithContext")
		_, err = lw.WatchWithContext(t.Context(), metav1.ListOptions{})
		require.Error(t, err, "the error of WatchWithContext")
		for _, r := range api.Requests("")[before:] {
			require.Equal(t, "/apis/apps/v1/namespaces/default/replicasets", r.Path, "the path of a request")
		}
	})
}

func TestTask5_Leaving_a_selector_is_a_deletion(t *testing.T) {
	const (
		alike = "Each list and watch is a new request, with all options of the caller, changed by modify. An " +
			"object that starts to match the selector of a watch arrives as ADDED. An object that no " +
			"longer matches arrives as DELETED."
		last = "Each list and watch is a new request, with all options of the caller, changed by modify. A " +
			"DELETED event has the object as it last matched, with the version of the change."
	)
	guard.Test(t, alike, func(t *guard.T) {
		api := fakeapi.Start(t)
		modify := func(options *metav1.ListOptions) { options.LabelSelector = "tier=front" }
		lw := watchstream.NewFilteredListWatchFromClient(client(t, api), "deployments", "", modify)
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		t.Go(func() { cache.NewReflector(lw, &appsv1.Deployment{}, store, 0).RunWithContext(ctx) })
		w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: api.ResourceVersion()})
		require.NoError(t, err, "the error of WatchWithContext")
		defer w.Stop()
		web := deployment("web")
		label := func(tier string) {
			t.Did("web gets the label tier=%s", tier)
			web.Labels = map[string]string{"tier": tier}
			api.Update(web)
		}
		t.Did("watch and Reflector select tier=front; web is created without a label")
		api.Create(web)
		require.Equal(t, nothing, receive(w), "the event after the creation")
		label("front")
		require.Equal(t, "ADDED web@3", receive(w), "the event after tier=front")
		require.Len(t, store.ListKeys(), 1, "keys of the Reflector's store after tier=front")
		t.Did("web gets an annotation")
		web.Annotations = map[string]string{"a": "b"}
		api.Update(web)
		require.Equal(t, "MODIFIED web@4", receive(w), "the event after the annotation")
		label("back")
		synctest.Wait()
		e := <-w.ResultChan()
		require.Equal(t, "DELETED web@5", describe(e), "the event after tier=back")
		require.Empty(t, store.ListKeys(), "keys of the Reflector's store after tier=back")
		t.Rule(last)
		require.Equal(t, "front", e.Object.(*appsv1.Deployment).Labels["tier"], "the label of the deleted object")
		t.Rule(alike)
		t.Did("web is deleted")
		api.Delete(web)
		require.Equal(t, nothing, receive(w), "the event after the deletion")
	})
}

// counted is a context that counts the functions that wait for its end with context.AfterFunc. Derived contexts do so.
type counted struct {
	context.Context
	done    chan struct{}
	waiting atomic.Int32
}

func newCounted(parent context.Context) *counted {
	c := &counted{Context: parent, done: make(chan struct{})}
	context.AfterFunc(parent, func() { close(c.done) })
	return c
}

// Done returns a channel of its own. Otherwise package context would use the parent, and not call AfterFunc.
func (c *counted) Done() <-chan struct{} { return c.done }

func (c *counted) AfterFunc(f func()) (stop func() bool) {
	c.waiting.Add(1)
	stop = context.AfterFunc(c.Context, f)
	return sync.OnceValue(func() bool {
		c.waiting.Add(-1)
		return stop()
	})
}

func TestTask5_Watch_leaves_nothing_behind(t *testing.T) {
	guard.Test(t, "After a watch is stopped, nothing waits for its context. A Reflector watches again every few "+
		"minutes, always with the same context.", func(t *guard.T) {
		api := fakeapi.Start(t)
		lw := deployments(t, api)
		ctx := newCounted(t.Context())
		watchOnce := func() {
			w, err := lw.WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: "1"})
			require.NoError(t, err, "the error of WatchWithContext")
			w.Stop()
			synctest.Wait()
		}
		watchOnce()
		goroutines, waiting := guard.Goroutines(), ctx.waiting.Load()
		t.Did("WatchWithContext and Stop, 100 times")
		for range 100 {
			watchOnce()
		}
		require.Less(t, guard.Goroutines()-goroutines, 20, "additional goroutines after 100 watches")
		require.Less(t, ctx.waiting.Load()-waiting, int32(20),
			"additional functions that wait for the context after 100 watches")
	})
}
