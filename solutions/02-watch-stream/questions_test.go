package watchstream_test

// This file checks answers of docs/learn/questions.md that are about watches, over the layers of the solutions and
// over client-go's.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
)

// ask runs a test in a bubble for both sets of layers. Change, if it is not nil, changes the client's configuration.
func ask(t *testing.T, change func(*rest.Config),
	test func(t *testing.T, api *fakeapi.Server, below layers.Layers, deployments cache.ListerWatcher)) {
	for name, below := range map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers} {
		t.Run(name, func(t *testing.T) {
			defer func(handlers []utilruntime.ErrorHandler) { utilruntime.ErrorHandlers = handlers }(utilruntime.ErrorHandlers)
			utilruntime.ErrorHandlers = nil
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.Start(t)
				config := api.Config()
				config.QPS = -1
				if change != nil {
					change(config)
				}
				client, err := below.NewClient(config)
				require.NoError(t, err)
				test(t, api, below, client.Deployments(""))
			})
		})
	}
}

func named(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}

func TestQuestion_A_watch_that_has_ended_returns_empty_events(t *testing.T) {
	ask(t, nil, func(t *testing.T, _ *fakeapi.Server, _ layers.Layers, deployments cache.ListerWatcher) {
		w, err := deployments.Watch(metav1.ListOptions{TimeoutSeconds: ptr.To[int64](60)})
		require.NoError(t, err)
		defer w.Stop()
		time.Sleep(2 * time.Minute)
		for range 3 {
			event, open := <-w.ResultChan()
			require.False(t, open)
			require.Equal(t, watch.Event{}, event, "a loop that does not look at open spins")
		}
	})
}

func TestQuestion_A_RetryWatcher_gives_up_at_410(t *testing.T) {
	ask(t, nil, func(t *testing.T, api *fakeapi.Server, _ layers.Layers, deployments cache.ListerWatcher) {
		api.Create(named("first"))
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.New(nil)))
		defer cancel()
		retrying, err := toolswatch.NewRetryWatcherWithContext(ctx, api.ResourceVersion(),
			cache.ToListerWatcherWithContext(deployments))
		require.NoError(t, err)
		synctest.Wait()
		api.EndWatches()
		api.Create(named("second"))
		event := <-retrying.ResultChan()
		require.Equal(t, watch.Added, event.Type, "it survives the end of a watch")
		require.Equal(t, "second", event.Object.(*appsv1.Deployment).Name)

		api.Down()
		api.Create(named("third"))
		api.Compact()
		api.Up()
		event = <-retrying.ResultChan()
		require.Equal(t, watch.Error, event.Type)
		require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(event.Object)), "%v", event.Object)
		_, open := <-retrying.ResultChan()
		require.False(t, open, "it does not list, so third is lost")
	})
}

// brokenStream is a transport that breaks each stream after its first piece, as HTTP/2 does when a ping has no answer.
type brokenStream struct {
	http.RoundTripper
	broken *atomic.Bool
}

func (b brokenStream) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Query().Has("watch") && !b.broken.Swap(true) {
		response.Body = &brokenBody{ReadCloser: response.Body}
	}
	return response, err
}

type brokenBody struct {
	io.ReadCloser
	pieces int
}

func (b *brokenBody) Read(p []byte) (int, error) {
	if b.pieces++; b.pieces > 2 {
		return 0, errors.New("http2: client connection lost")
	}
	return b.ReadCloser.Read(p)
}

func TestQuestion_Unable_to_decode_an_event_from_the_watch_stream(t *testing.T) {
	broken := func(config *rest.Config) {
		done := &atomic.Bool{}
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return brokenStream{rt, done} })
	}
	ask(t, broken, func(t *testing.T, api *fakeapi.Server, _ layers.Layers, deployments cache.ListerWatcher) {
		w, err := deployments.Watch(metav1.ListOptions{})
		require.NoError(t, err)
		defer w.Stop()
		go func() {
			for _, name := range []string{"a", "b", "c"} {
				api.Create(named(name))
				time.Sleep(time.Second)
			}
		}()
		var last watch.Event
		for event := range w.ResultChan() {
			last = event
		}
		require.Equal(t, watch.Error, last.Type)
		text := apierrors.FromObject(last.Object).Error()
		require.Contains(t, text, "unable to decode an event from the watch stream: http2: client connection lost")
		require.True(t, strings.HasPrefix(text, "an error on the server"), "though the server has done nothing: %s", text)
		time.Sleep(time.Minute)
	})
	ask(t, broken, func(t *testing.T, api *fakeapi.Server, below layers.Layers, deployments cache.ListerWatcher) {
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.New(nil)))
		defer cancel()
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		reflector := below.NewReflector(deployments, &appsv1.Deployment{}, store, layers.ReflectorOptions{})
		go func() {
			for ctx.Err() == nil {
				_ = reflector.ListAndWatchWithContext(ctx)
				time.Sleep(time.Second)
			}
		}()
		for _, name := range []string{"a", "b", "c"} {
			time.Sleep(time.Second)
			api.Create(named(name))
		}
		time.Sleep(time.Minute)
		require.Len(t, store.List(), 3, "nothing is lost")
		lists := 0
		for _, r := range api.Requests("") {
			if r.Verb == "list" || r.Query.Has("sendInitialEvents") {
				lists++
			}
		}
		require.Equal(t, 2, lists, "the Reflector fetches everything once more")
		cancel()
		time.Sleep(time.Minute)
	})
}
