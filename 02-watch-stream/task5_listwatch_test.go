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
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/apis", &appsv1.SchemeGroupVersion, watchstream.Codecs
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return c
}

func TestTask5_List_is_a_list(t *testing.T) {
	guard.Test(t, "the server has two", func(t *guard.T) {
		api := fakeapi.Start(t)
		api.Create(deployment("a"), deployment("b"))
		lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "default", fields.Everything())
		t.Did("ListWithContext with Limit 1")
		obj, err := lw.ListWithContext(t.Context(), metav1.ListOptions{Limit: 1})
		require.NoError(t, err)
		t.Rule("an object of the kind that the server says")
		require.Equal(t, "a", obj.(*appsv1.DeploymentList).Items[0].Name)
		t.Rule("namespace and resource in the path, options in the query, and no more than was asked for")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments?limit=1", api.Requests("")[0].String())
	})
}

func TestTask5_Watch_says_watch(t *testing.T) {
	guard.Test(t, "the server answers 200", func(t *guard.T) {
		api := fakeapi.Start(t)
		version := api.ResourceVersion()
		lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "", fields.Everything())
		t.Did("WatchWithContext from version %s, twice, with options that do not say Watch", version)
		options := metav1.ListOptions{ResourceVersion: version}
		w, err := lw.WatchWithContext(t.Context(), options)
		require.NoError(t, err)
		w.Stop()
		w, err = lw.WatchWithContext(t.Context(), options)
		require.NoError(t, err)
		defer w.Stop()
		t.Rule("the caller's options are the caller's")
		require.Equal(t, metav1.ListOptions{ResourceVersion: version}, options)
		for _, r := range api.Requests("") {
			t.Rule("without watch=true it is a list; without the version the server begins with what there is, and " +
				"all of it is told again")
			require.Equal(t, "GET /apis/apps/v1/deployments?resourceVersion="+version+"&watch=true", r.String())
		}
		api.Create(deployment("web"))
		t.Rule("what has happened since that version")
		require.Equal(t, "ADDED web@2", receive(w))
	})
}

func TestTask5_Field_selector_is_for_both(t *testing.T) {
	guard.Test(t, "the server has one", func(t *guard.T) {
		api := fakeapi.Start(t)
		api.Create(deployment("a"), deployment("b"))
		lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "", fields.OneTermEqualSelector("metadata.name", "b"))
		t.Did("a selector for the name b: ListWithContext")
		obj, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		t.Rule("the server selects, so that the rest need not be sent")
		require.Len(t, obj.(*appsv1.DeploymentList).Items, 1)
		t.Did("WatchWithContext, and a and b change")
		w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: api.ResourceVersion()})
		t.Rule("the server answers 200")
		require.NoError(t, err)
		defer w.Stop()
		api.Delete(deployment("a"), deployment("b"))
		t.Rule("a list and a watch that select differently make a cache that is wrong")
		require.Equal(t, []string{"DELETED b@5", nothing}, all(w))
	})
}

func TestTask5_Options_can_be_modified(t *testing.T) {
	guard.Test(t, "a list", func(t *guard.T) {
		api := fakeapi.Start(t)
		calls := 0
		lw := watchstream.NewFilteredListWatchFromClient(client(t, api), "deployments", "", func(options *metav1.ListOptions) {
			calls++
			options.LabelSelector = fmt.Sprintf("call=%d", calls)
		})
		t.Did("ListWithContext, WatchWithContext, ListWithContext")
		_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{})
		t.Rule("a watch")
		require.NoError(t, err)
		w.Stop()
		_, err = lw.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		t.Rule("a list")
		require.NoError(t, err)
		var got []string
		for _, r := range api.Requests("") {
			got = append(got, r.Query.Encode())
		}
		t.Rule("the function is asked each time, and what it changes comes on top of what the caller wants")
		require.Equal(t, []string{"labelSelector=call%3D1", "labelSelector=call%3D2&watch=true", "labelSelector=call%3D3&resourceVersion=0"}, got)
	})
}

func TestTask5_Options_say_watch_when_they_are_modified(t *testing.T) {
	guard.Test(t, "a list", func(t *guard.T) {
		api := fakeapi.Start(t)
		var saw []bool
		lw := watchstream.NewFilteredListWatchFromClient(client(t, api), "deployments", "", func(options *metav1.ListOptions) {
			saw = append(saw, options.Watch)
		})
		t.Did("ListWithContext, WatchWithContext")
		_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{})
		t.Rule("a watch")
		require.NoError(t, err)
		w.Stop()
		t.Rule("one function serves both, and may want to know which it is: a time-out for lists would end the " +
			"watches")
		require.Equal(t, []bool{false, true}, saw)
	})
}

func TestTask5_Errors_come_through(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		api := fakeapi.Start(t)
		lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "", fields.Everything())
		api.Script("", fakeapi.Answer(410, ""), fakeapi.Answer(410, ""))
		t.Did("the server answers 410 to a list, and to a watch")
		_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
		t.Rule("what the Reflector does next depends on it; got %v", err)
		require.True(t, apierrors.IsResourceExpired(err))
		_, err = lw.WatchWithContext(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsResourceExpired(err))
	})
}

func TestTask5_Context_reaches_the_request(t *testing.T) {
	guard.Test(t, "the context says why", func(t *guard.T) {
		api := fakeapi.Start(t)
		lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "", fields.Everything())
		api.Script("list", fakeapi.Slow(24*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("ListWithContext of a server that takes a day, with a context that ends in a minute")
		start := time.Now()
		_, err := lw.ListWithContext(ctx, metav1.ListOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		t.Rule("a program that ends must not wait for a day")
		require.Equal(t, time.Minute, time.Since(start))
		watchCtx, stop := context.WithCancel(t.Context())
		t.Did("WatchWithContext, and the context is cancelled")
		w, err := lw.WatchWithContext(watchCtx, metav1.ListOptions{})
		t.Rule("the server answers 200")
		require.NoError(t, err)
		defer w.Stop()
		stop()
		for e := receive(w); e != theEnd; e = receive(w) {
			t.Rule("a watch ends with its context")
			require.NotEqual(t, nothing, e)
		}
		t.Rule("the connection is closed")
		require.Equal(t, 0, api.Watches())
	})
}

func TestTask5_A_Reflector_runs_on_it(t *testing.T) {
	guard.Test(t, "it listed", func(t *guard.T) {
		api := fakeapi.Start(t)
		api.Create(deployment("a"), deployment("b"))
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		lw := watchstream.NewListWatchFromClient(client(t, api), "deployments", "", fields.Everything())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		t.Did("client-go's Reflector fills a store from a ListWatch of yours")
		t.Go(func() { cache.NewReflector(lw, &appsv1.Deployment{}, store, 0).RunWithContext(ctx) })
		synctest.Wait()
		require.Len(t, store.ListKeys(), 2)
		api.Delete(deployment("a"))
		synctest.Wait()
		t.Rule("and it watches")
		require.Equal(t, []string{"default/b"}, store.ListKeys())
		t.Did("a day passes, and the connection breaks each hour")
		for range 24 {
			api.Cut()
			time.Sleep(time.Hour)
		}
		api.Create(deployment("c"))
		synctest.Wait()
		t.Rule("and it goes on")
		require.Len(t, store.ListKeys(), 2)
		cancel()
		synctest.Wait()
		t.Rule("when the context ends nothing is left open")
		require.Equal(t, 0, api.Watches())
	})
}
