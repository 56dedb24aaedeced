package watchstream_test

// Task 5: ListWatch, on a REST client.

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// client returns client-go's REST client for a server.
func client(t *guard.T, api *fakeapi.Server) *rest.RESTClient {
	config := api.Config()
	config.QPS = -1
	config.APIPath, config.GroupVersion = "/apis", &appsv1.SchemeGroupVersion
	config.NegotiatedSerializer = watchstream.Codecs
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return c
}

// deployments returns the ListWatch of the chapter for the Deployments of all namespaces.
func deployments(t *guard.T, api *fakeapi.Server) *watchstream.ListWatch {
	return watchstream.NewListWatchFromClient(client(t, api), "deployments", "", fields.Everything())
}

func TestTask5_List_is_a_list(t *testing.T) {
	guard.Test(t, "Each list and watch is a new request, with all options of the caller, changed by modify. A "+
		"list is a GET with the namespace and the resource in the path, and the options in the query.", func(t *guard.T) {
		api := fakeapi.Start(t)
		api.Create(deployment("a"), deployment("b"))
		lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "default", fields.Everything())
		t.Did("ListWithContext with Limit 1")
		obj, err := lw.ListWithContext(t.Context(), metav1.ListOptions{Limit: 1})
		require.NoError(t, err, "the error of ListWithContext")
		require.Equal(t, "a", obj.(*appsv1.DeploymentList).Items[0].Name, "the name of the 1st object in the list")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments?limit=1", api.Requests("")[0].String(),
			"the request sent")
	})
}

func TestTask5_Watch_says_watch(t *testing.T) {
	const (
		saysWatch = "A watch sets the option Watch before it calls modify, whatever the caller's options " +
			"say. Without watch=true the request is a list."
		since = "Each list and watch is a new request, with all options of the caller, changed by modify. A " +
			"watch from a version receives the changes after that version."
	)
	guard.Test(t, saysWatch, func(t *guard.T) {
		api := fakeapi.Start(t)
		version := api.ResourceVersion()
		lw := deployments(t, api)
		t.Did("WatchWithContext from version %s, twice, with options in which Watch is false", version)
		options := metav1.ListOptions{ResourceVersion: version}
		w, err := lw.WatchWithContext(t.Context(), options)
		require.NoError(t, err, "the error of the 1st WatchWithContext")
		w.Stop()
		w, err = lw.WatchWithContext(t.Context(), options)
		require.NoError(t, err, "the error of the 2nd WatchWithContext")
		defer w.Stop()
		for i, r := range api.Requests("") {
			require.Equal(t, "GET /apis/apps/v1/deployments?resourceVersion="+version+"&watch=true", r.String(),
				"request %d", i+1)
		}
		t.Rule(since)
		api.Create(deployment("web"))
		require.Equal(t, "ADDED web@2", receive(w), "the event after a Deployment was created")
	})
}

func TestTask5_Field_selector_is_for_both(t *testing.T) {
	guard.Test(t, "The field selector applies to lists and watches. The server selects, so it does not send the "+
		"other objects.", func(t *guard.T) {
		api := fakeapi.Start(t)
		api.Create(deployment("a"), deployment("b"))
		onlyB := fields.OneTermEqualSelector("metadata.name", "b")
		lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "", onlyB)
		t.Did("a selector for the name b: ListWithContext")
		obj, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "the error of ListWithContext")
		require.Len(t, obj.(*appsv1.DeploymentList).Items, 1, "objects in the list")
		t.Rule("The field selector applies to lists and watches. If they select different objects, a cache " +
			"becomes wrong.")
		t.Did("WatchWithContext, and a and b change")
		w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: api.ResourceVersion()})
		require.NoError(t, err, "the error of WatchWithContext")
		defer w.Stop()
		api.Delete(deployment("a"), deployment("b"))
		require.Equal(t, []string{"DELETED b@5", nothing}, all(w), "events received")
	})
}

func TestTask5_Options_can_be_modified(t *testing.T) {
	guard.Test(t, "Each list and watch is a new request, with all options of the caller, changed by modify. So "+
		"modify is called each time.", func(t *guard.T) {
		api := fakeapi.Start(t)
		calls := 0
		modify := func(options *metav1.ListOptions) {
			calls++
			options.LabelSelector = fmt.Sprintf("call=%d", calls)
		}
		lw := watchstream.NewFilteredListWatchFromClient(client(t, api), "deployments", "", modify)
		t.Did("ListWithContext, WatchWithContext, ListWithContext")
		_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "the error of the 1st ListWithContext")
		w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "the error of WatchWithContext")
		w.Stop()
		_, err = lw.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		require.NoError(t, err, "the error of the 2nd ListWithContext")
		var got []string
		for _, r := range api.Requests("") {
			got = append(got, r.Query.Encode())
		}
		want := []string{
			"labelSelector=call%3D1", "labelSelector=call%3D2&watch=true", "labelSelector=call%3D3&resourceVersion=0",
		}
		require.Equal(t, want, got, "queries of the requests sent")
		lw = watchstream.NewFilteredListWatchFromClient(client(t, api), "deployments", "", func(o *metav1.ListOptions) {
			if o.LabelSelector == "call=outer" {
				lw.ListWithContext(t.Context(), metav1.ListOptions{LabelSelector: "call=inner"})
			}
		})
		t.Did("ListWithContext, while another ListWithContext is in modify")
		before := len(api.Requests(""))
		_, err = lw.ListWithContext(t.Context(), metav1.ListOptions{LabelSelector: "call=outer"})
		require.NoError(t, err, "the error of ListWithContext")
		got = nil
		for _, r := range api.Requests("")[before:] {
			got = append(got, r.Query.Get("labelSelector"))
		}
		require.Equal(t, []string{"call=inner", "call=outer"}, got, "label selectors of the requests sent")
	})
}

func TestTask5_Options_say_watch_when_they_are_modified(t *testing.T) {
	guard.Test(t, "A watch sets the option Watch before it calls modify, whatever the caller's options say. Then "+
		"modify can distinguish the two, for example to set a timeout only for lists.", func(t *guard.T) {
		api := fakeapi.Start(t)
		var saw []bool
		modify := func(options *metav1.ListOptions) { saw = append(saw, options.Watch) }
		lw := watchstream.NewFilteredListWatchFromClient(client(t, api), "deployments", "", modify)
		t.Did("ListWithContext, WatchWithContext, and WatchWithContext with options in which Watch is true")
		_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "the error of ListWithContext")
		for _, options := range []metav1.ListOptions{{}, {Watch: true}} {
			w, err := lw.WatchWithContext(t.Context(), options)
			require.NoError(t, err, "the error of WatchWithContext with the option Watch %t", options.Watch)
			w.Stop()
		}
		require.Equal(t, []bool{false, true, true}, saw, "options.Watch at each call of modify")
		for i, query := range []string{"", "watch=true", "watch=true"} {
			require.Equal(t, query, api.Requests("")[i].Query.Encode(), "the query of request %d", i+1)
		}
	})
}

func TestTask5_Errors_keep_their_reason(t *testing.T) {
	guard.Test(t, "An error of the server keeps its reason: the Reflector chooses its next step by "+
		"it.", func(t *guard.T) {
		api := fakeapi.Start(t)
		lw := deployments(t, api)
		api.Script("", fakeapi.Answer(410, ""), fakeapi.Answer(410, ""))
		t.Did("the server answers 410 to the next page of a list, and to a watch")
		_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{Limit: 1, Continue: "c"})
		require.Equal(t, metav1.StatusReasonExpired, apierrors.ReasonForError(err),
			"the reason of the error of ListWithContext")
		_, err = lw.WatchWithContext(t.Context(), metav1.ListOptions{})
		require.Equal(t, metav1.StatusReasonExpired, apierrors.ReasonForError(err),
			"the reason of the error of WatchWithContext")
	})
}

func TestTask5_Context_reaches_the_request(t *testing.T) {
	guard.Test(t, "A list and a watch end with their context. A program that ends must not wait for a slow "+
		"server.", func(t *guard.T) {
		api := fakeapi.Start(t)
		lw := deployments(t, api)
		api.Script("list", fakeapi.Slow(24*time.Hour), fakeapi.Slow(24*time.Hour), fakeapi.Slow(24*time.Hour))
		other, end := context.WithCancel(t.Context())
		defer end()
		t.Did("ListWithContext of a server that takes a day, in another goroutine")
		t.Go(func() { lw.ListWithContext(other, metav1.ListOptions{}) })
		synctest.Wait()
		for _, timeout := range []*int64{nil, new(int64(60))} { // a timeout in the options is for the server
			ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
			defer cancel()
			t.Did("ListWithContext of a server that takes a day, with a context that ends in 12 hours")
			start := time.Now()
			_, err := lw.ListWithContext(ctx, metav1.ListOptions{TimeoutSeconds: timeout})
			require.ErrorIs(t, err, context.DeadlineExceeded, "the error of ListWithContext")
			require.Equal(t, 12*time.Hour, time.Since(start), "duration of ListWithContext")
		}
		api.Script("watch", fakeapi.Slow(24*time.Hour), fakeapi.Slow(24*time.Hour))
		t.Did("WatchWithContext of a server that takes a day, in another goroutine")
		t.Go(func() { lw.WatchWithContext(other, metav1.ListOptions{}) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		t.Did("WatchWithContext of a server that takes a day, with a context that ends in 12 hours")
		start := time.Now()
		lw.WatchWithContext(ctx, metav1.ListOptions{}) // client-go returns an empty watch
		require.Equal(t, 12*time.Hour, time.Since(start), "duration of WatchWithContext")
		var queries []string
		for _, r := range api.Requests("") {
			queries = append(queries, r.Query.Encode())
		}
		t.Rule("Each list and watch is a new request, with all options of the caller, changed by modify. The end of " +
			"the context is not an option.")
		require.Equal(t, []string{"", "", "timeoutSeconds=60", "watch=true", "watch=true"}, queries,
			"queries of the requests sent")
		t.Rule("A list and a watch end with their context. The connection of the watch is closed.")
		watchCtx, stop := context.WithCancel(t.Context())
		t.Did("WatchWithContext, and the context is cancelled")
		w, err := lw.WatchWithContext(watchCtx, metav1.ListOptions{})
		require.NoError(t, err, "the error of WatchWithContext")
		defer w.Stop()
		stop()
		for e := receive(w); e != theEnd; e = receive(w) {
			require.NotEqual(t, nothing, e, "result of receive after the context has ended")
		}
		require.Equal(t, 0, api.Watches(), "open watches of the server after the context has ended")
	})
}

func TestTask5_A_Reflector_runs_on_it(t *testing.T) {
	guard.Test(t, "Each list and watch is a new request, with all options of the caller, changed by modify. A "+
		"Reflector lists first.", func(t *guard.T) {
		api := fakeapi.Start(t)
		api.Create(deployment("a"), deployment("b"))
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		lw := deployments(t, api)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		t.Did("client-go's Reflector fills a store from your ListWatch")
		t.Go(func() { cache.NewReflector(lw, &appsv1.Deployment{}, store, 0).RunWithContext(ctx) })
		synctest.Wait()
		require.Len(t, store.ListKeys(), 2, "keys of the store after the list")
		t.Rule("Each list and watch is a new request, with all options of the caller, changed by modify. " +
			"After the list a Reflector watches, and the store follows the server.")
		t.Did("a is deleted")
		api.Delete(deployment("a"))
		synctest.Wait()
		require.Equal(t, []string{"default/b"}, store.ListKeys(), "keys of the store after a was deleted")
		t.Rule("Each list and watch is a new request, with all options of the caller, changed by modify. " +
			"When a connection breaks, a Reflector watches again, and the store follows the server.")
		t.Did("a day passes, and the connection breaks each hour")
		for range 24 {
			api.Cut()
			time.Sleep(time.Hour)
		}
		t.Did("c is created")
		api.Create(deployment("c"))
		synctest.Wait()
		require.Len(t, store.ListKeys(), 2, "keys of the store after c was created")
		t.Rule("A list and a watch end with their context. No watch stays open.")
		cancel()
		synctest.Wait()
		require.Equal(t, 0, api.Watches(), "open watches of the server after the context has ended")
	})
}
