package controller_test

// This file and questions_writes_test.go check answers of docs/learn/questions.md that are about informers and
// controllers. Each test runs over the informer of chapter 07 and over client-go's, since an answer is about both. The
// learners' tests do not need it: these facts follow from more than one layer.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	controller "client-go-workshop/solutions/07-controller"
)

// asked is a server with a client, and the notes of a handler.
type asked struct {
	*fakeapi.Server
	t      *testing.T
	ctx    context.Context
	client layers.Client
	queue  func(layers.RateLimiter, layers.WorkQueueConfig) layers.WorkQueue
	// newInformer makes the informer that the test is about.
	newInformer func(cache.ListerWatcher, runtime.Object, cache.SharedIndexInformerOptions) cache.SharedIndexInformer
	lock        sync.Mutex
	notes       []string
}

// ask runs a test in a bubble, over both informers. Errors are not logged.
func ask(t *testing.T, question func(t *testing.T, a *asked)) {
	ours := func(lw cache.ListerWatcher, example runtime.Object,
		options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
		return controller.NewSharedIndexInformerOn(solutions.Layers, lw, example, options)
	}
	for _, run := range []struct {
		name        string
		below       layers.Layers
		newInformer func(cache.ListerWatcher, runtime.Object, cache.SharedIndexInformerOptions) cache.SharedIndexInformer
	}{
		{"solutions", solutions.Layers, ours},
		{"client-go", clientgo.Layers, cache.NewSharedIndexInformerWithOptions},
	} {
		t.Run(run.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context, api *fakeapi.Server) {
				config := api.Config()
				config.QPS = -1
				client, err := run.below.NewClient(config)
				require.NoError(t, err)
				question(t, &asked{Server: api, t: t, ctx: ctx, client: client, queue: run.below.NewWorkQueue,
					newInformer: run.newInformer})
			})
		})
	}
}

// bubble runs a test in a bubble with a server. The context ends with the test, and has a logger that logs nothing.
func bubble(t *testing.T, test func(t *testing.T, ctx context.Context, api *fakeapi.Server)) {
	defer func(handlers []utilruntime.ErrorHandler) { utilruntime.ErrorHandlers = handlers }(utilruntime.ErrorHandlers)
	utilruntime.ErrorHandlers = nil
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.New(nil)))
		defer synctest.Wait()
		defer cancel()
		test(t, ctx, fakeapi.Start(t))
	})
}

// informer makes an informer of Deployments.
func (a *asked) informer(lw cache.ListerWatcher, resync time.Duration) cache.SharedIndexInformer {
	return a.newInformer(lw, &appsv1.Deployment{}, cache.SharedIndexInformerOptions{ResyncPeriod: resync})
}

// start runs an informer whose handler notes each call.
func (a *asked) start(lw cache.ListerWatcher, resync time.Duration) cache.SharedIndexInformer {
	informer := a.informer(lw, resync)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.note("add %s", described(obj)) },
		UpdateFunc: func(_, new any) { a.note("update %s", described(new)) },
		DeleteFunc: func(obj any) { a.note("delete %s", described(obj)) },
	})
	require.NoError(a.t, err)
	go informer.RunWithContext(a.ctx)
	synctest.Wait()
	return informer
}

func (a *asked) note(format string, args ...any) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// noted returns the notes since the last call, sorted.
func (a *asked) noted() []string {
	synctest.Wait()
	a.lock.Lock()
	defer a.lock.Unlock()
	notes := a.notes
	a.notes = nil
	slices.Sort(notes)
	return notes
}

// away makes changes while the server cannot be reached. It forgets its history.
func (a *asked) away(do func()) {
	a.Down()
	do()
	a.Compact()
	a.Up()
	time.Sleep(2 * time.Minute)
}

func described(obj any) string {
	d := obj.(*appsv1.Deployment)
	return fmt.Sprintf("%s with %d", d.Name, *d.Spec.Replicas)
}

// deployed returns a Deployment with a label app, which is its name.
func deployed(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}

// selecting lists and watches with a label selector.
type selecting struct {
	cache.ListerWatcher
	selector string
}

func (s selecting) List(options metav1.ListOptions) (runtime.Object, error) {
	options.LabelSelector = s.selector
	return s.ListerWatcher.List(options)
}

func (s selecting) Watch(options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector = s.selector
	return s.ListerWatcher.Watch(options)
}

func TestQuestion_OnDelete_is_called_and_the_object_exists(t *testing.T) {
	ask(t, func(t *testing.T, a *asked) {
		a.Create(deployed("web", 1))
		a.start(selecting{a.client.Deployments(""), "app=web"}, 0)
		require.Equal(t, []string{"add web with 1"}, a.noted())

		unlabelled := deployed("web", 1)
		unlabelled.Labels = nil
		a.Update(unlabelled)
		require.Equal(t, []string{"delete web with 1"}, a.noted(), "for this watch, no longer selected is deleted")
		require.Len(t, a.Objects("deployments"), 1, "but the object exists")
		a.Update(deployed("web", 1))
		require.Equal(t, []string{"add web with 1"}, a.noted(), "the label is back")
	})
}

func TestQuestion_Updates_of_everything_with_period_0(t *testing.T) {
	ask(t, func(t *testing.T, a *asked) {
		a.Create(deployed("web", 1), deployed("db", 1))
		a.start(a.client.Deployments(""), 0)
		a.noted()
		a.away(func() { a.Update(deployed("db", 2)) })
		require.Equal(t, []string{"update db with 2", "update web with 1"}, a.noted(), "no resyncs: a relist reports all")
	})
	ask(t, func(t *testing.T, a *asked) {
		a.Create(deployed("web", 1), deployed("db", 1))
		informer := a.start(a.client.Deployments(""), time.Hour)
		_, err := informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(_, new any) { a.note("ten hours: update %s", described(new)) },
		}, 10*time.Hour)
		require.NoError(t, err)
		time.Sleep(90 * time.Minute)
		a.noted()
		a.away(func() { a.Update(deployed("db", 2)) })
		require.Equal(t, []string{"ten hours: update db with 2", "update db with 2", "update web with 1"}, a.noted(),
			"a handler with a longer period was not due")
	})
}

func TestQuestion_A_handler_misses_states(t *testing.T) {
	ask(t, func(t *testing.T, a *asked) {
		a.Create(deployed("web", 1))
		a.start(a.client.Deployments(""), 0)
		a.noted()
		a.away(func() {
			for _, replicas := range []int32{2, 3, 4} {
				a.Update(deployed("web", replicas))
			}
			a.Create(deployed("short", 1))
			a.Delete(deployed("short", 1))
		})
		require.Equal(t, []string{"update web with 4"}, a.noted(), "the last state, and nothing of what came and went")
	})
}

// gone answers every list and watch as a server without the resource does, until it is over.
func (a *asked) gone() (requests *atomic.Int64, over func()) {
	requests = &atomic.Int64{}
	a.EndWatches()
	answer := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		requests.Add(1)
		fakeapi.Answer(404, "")(w, r, next)
	}
	a.Script("watch", fakeapi.Times(500, answer)...)
	a.Script("list", fakeapi.Times(500, answer)...)
	return requests, a.ClearScripts
}

func TestQuestion_A_CRD_was_deleted(t *testing.T) {
	ask(t, func(t *testing.T, a *asked) {
		informer := a.informer(a.client.Deployments(""), 0)
		ctx, cancel := context.WithCancel(a.ctx)
		defer cancel()
		go informer.RunWithContext(ctx)
		synctest.Wait()
		require.True(t, informer.HasSynced())
		requests, over := a.gone()
		time.Sleep(time.Hour)
		require.True(t, informer.HasSynced(), "HasSynced says that there was a first list")
		// The waits grow to 30 to 60 seconds, and begin again with less than two seconds every two minutes.
		require.InDelta(t, 380, requests.Load(), 100, "a watch and a list for each attempt")
		over()
		a.Create(deployed("web", 1))
		time.Sleep(2 * time.Minute)
		require.Equal(t, []string{"default/web"}, informer.GetStore().ListKeys(), "the resource is back, and so is the watch")
	})
}

func TestQuestion_One_informer_ends_when_its_kind_is_gone(t *testing.T) {
	ask(t, func(t *testing.T, a *asked) {
		informer := a.informer(a.client.Deployments(""), 0)
		ctx, cancel := context.WithCancel(a.ctx)
		defer cancel()
		require.NoError(t, informer.SetWatchErrorHandlerWithContext(
			func(ctx context.Context, r *cache.Reflector, err error) {
				if apierrors.IsNotFound(err) {
					cancel() // the kind is gone
					return
				}
				cache.DefaultWatchErrorHandler(ctx, r, err)
			}))
		ended := make(chan struct{})
		go func() {
			informer.RunWithContext(ctx)
			close(ended)
		}()
		synctest.Wait()
		a.gone()
		select {
		case <-ended:
		case <-time.After(time.Hour):
			t.Fatal("the informer still runs")
		}
		require.NoError(t, a.ctx.Err(), "the others go on")
	})
}

func TestQuestion_A_token_expires_while_a_watch_runs(t *testing.T) {
	ask(t, func(t *testing.T, a *asked) {
		var unauthorized atomic.Int64
		informer := a.informer(a.client.Deployments(""), 0)
		require.NoError(t, informer.SetWatchErrorHandlerWithContext(
			func(_ context.Context, _ *cache.Reflector, err error) {
				if apierrors.IsUnauthorized(err) {
					unauthorized.Add(1)
				}
			}))
		go informer.RunWithContext(a.ctx)
		synctest.Wait()
		a.Script("watch", fakeapi.Times(500, fakeapi.Answer(401, ""))...)
		a.Script("list", fakeapi.Times(500, fakeapi.Answer(401, ""))...)
		time.Sleep(4 * time.Minute)
		a.Create(deployed("web", 1))
		synctest.Wait()
		require.Equal(t, []string{"default/web"}, informer.GetStore().ListKeys(), "the running watch goes on")
		require.Zero(t, unauthorized.Load())

		time.Sleep(7 * time.Minute) // no watch lasts longer than ten minutes
		a.Create(deployed("late", 1))
		time.Sleep(time.Minute)
		require.Len(t, informer.GetStore().ListKeys(), 1, "the next watch needs a valid token")
		require.Positive(t, unauthorized.Load())
		a.ClearScripts() // a new token
		time.Sleep(2 * time.Minute)
		require.Len(t, informer.GetStore().ListKeys(), 2)
	})
}
