package controller_test

// This file checks the answers about writes and Events. See questions_test.go.

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
)

// late is how long after a change the watch of lateBudgets reports it.
const late = 5 * time.Second

// lateBudgets returns the store of an informer of budgets. Its first list is complete, and it receives later events
// late.
func (a *asked) lateBudgets() cache.Store {
	a.Script("watch", fakeapi.SlowBody(1<<20, late))
	informer := a.newInformer(a.client.Budgets(""), &policyv1.PodDisruptionBudget{}, cache.SharedIndexInformerOptions{})
	go informer.RunWithContext(a.ctx)
	time.Sleep(4 * late)
	require.True(a.t, informer.HasSynced())
	return informer.GetStore()
}

func budgetNamed(name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1))},
	}
}

func TestQuestion_My_own_write_is_not_in_the_cache(t *testing.T) {
	ask(t, func(t *testing.T, a *asked) {
		a.Create(budgetNamed("other"))
		store, client := a.lateBudgets(), a.client.BudgetWriter("default")
		inCache := func() bool {
			_, found, err := store.GetByKey("default/web")
			require.NoError(t, err)
			return found
		}
		written, err := client.Create(a.ctx, budgetNamed("web"), metav1.CreateOptions{})
		require.NoError(t, err)
		require.False(t, inCache(), "the watch is late")

		// The first answer: a name that depends on the owner only.
		_, err = client.Create(a.ctx, budgetNamed("web"), metav1.CreateOptions{})
		require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
		generated := budgetNamed("")
		generated.GenerateName = "web-"
		for range 2 {
			_, err = client.Create(a.ctx, generated, metav1.CreateOptions{})
			require.NoError(t, err, "no create with a generated name is refused")
		}
		require.Len(t, a.Objects("poddisruptionbudgets"), 4, "other, web, and two with generated names")

		// The second answer: wait until the cache has reached the version of the write.
		reached := func() bool {
			compared, err := resourceversion.CompareResourceVersion(store.LastStoreSyncResourceVersion(),
				written.ResourceVersion)
			require.NoError(t, err)
			return compared >= 0
		}
		require.False(t, reached())
		time.Sleep(4 * late)
		require.True(t, reached())
		require.True(t, inCache())
	})
}

func TestQuestion_RetryOnConflict_with_the_cache_does_not_help(t *testing.T) {
	ask(t, func(t *testing.T, a *asked) {
		a.Create(budgetNamed("web"))
		store := a.lateBudgets()
		other := budgetNamed("web")
		other.Labels = map[string]string{"team": "shop"}
		a.Update(other)

		server := newUsers(t, a.Config()).budgets
		tries := 0
		raise := func(read func() *policyv1.PodDisruptionBudget) error {
			tries = 0
			return retry.RetryOnConflict(retry.DefaultRetry, func() error {
				tries++
				budget := read()
				budget.Spec.MinAvailable = ptr.To(intstr.FromInt32(2))
				_, err := server.Update(a.ctx, budget, metav1.UpdateOptions{})
				return err
			})
		}
		err := raise(func() *policyv1.PodDisruptionBudget {
			obj, _, _ := store.GetByKey("default/web")
			return obj.(*policyv1.PodDisruptionBudget).DeepCopy()
		})
		require.True(t, apierrors.IsConflict(err), "%v", err)
		require.Equal(t, 5, tries, "each try has the same old version")
		err = raise(func() *policyv1.PodDisruptionBudget {
			budget, err := server.Get(a.ctx, "web", metav1.GetOptions{})
			require.NoError(t, err)
			return budget
		})
		require.NoError(t, err)
		require.Equal(t, 1, tries)
	})
}

func TestQuestion_A_status_that_differs_each_time_never_ends(t *testing.T) {
	never := func(_, _ appsv1.DeploymentStatus) bool { return false }
	same := func(old, new appsv1.DeploymentStatus) bool { return equality.Semantic.DeepEqual(old, new) }
	for _, test := range []struct {
		name    string
		message func(write int) string
		skip    func(old, new appsv1.DeploymentStatus) bool
		writes  int
	}{
		{"a counter in the message", func(write int) string { return fmt.Sprint("checked ", write, " times") }, same, 60},
		{"derived from the spec", func(int) string { return "has 1 replica" }, same, 1},
		{"derived, written without a comparison", func(int) string { return "has 1 replica" }, never, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			ask(t, func(t *testing.T, a *asked) {
				a.Create(deployed("web", 1))
				require.Equal(t, test.writes, a.statusWrites(test.message, test.skip), "writes in a minute")
			})
		})
	}
}

// statusWrites runs a controller for a minute that writes a condition with a message, and returns how often it wrote.
// A write takes a second.
func (a *asked) statusWrites(message func(int) string, skip func(old, new appsv1.DeploymentStatus) bool) (writes int) {
	informer := a.informer(a.client.Deployments(""), 0)
	queue := a.queue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), layers.WorkQueueConfig{})
	enqueue := func(obj any) { queue.Add(cache.MetaObjectToName(obj.(metav1.Object))) }
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, new any) { enqueue(new) },
	})
	require.NoError(a.t, err)
	go informer.RunWithContext(a.ctx)
	client := newUsers(a.t, a.Config()).deployments
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for key, shutdown := queue.Get(); !shutdown; key, shutdown = queue.Get() {
			obj, _, _ := informer.GetStore().GetByKey(key.String())
			d := obj.(*appsv1.Deployment).DeepCopy()
			d.Status.Conditions = []appsv1.DeploymentCondition{
				{Type: "Checked", Status: corev1.ConditionTrue, Message: message(writes)}}
			if !skip(obj.(*appsv1.Deployment).Status, d.Status) {
				writes++
				time.Sleep(time.Second)
				_, err := client.UpdateStatus(a.ctx, d, metav1.UpdateOptions{})
				require.NoError(a.t, err)
			}
			queue.Done(key)
		}
	}()
	time.Sleep(time.Minute - time.Millisecond)
	queue.ShutDown()
	<-ended
	return writes
}

// sink counts the Events that are written.
type sink struct{ written atomic.Int64 }

func (s *sink) Create(event *corev1.Event) (*corev1.Event, error) {
	s.written.Add(1)
	return event, nil
}
func (s *sink) Update(event *corev1.Event) (*corev1.Event, error)          { return s.Create(event) }
func (s *sink) Patch(event *corev1.Event, _ []byte) (*corev1.Event, error) { return s.Create(event) }

func TestQuestion_Events_stop_after_25(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context, _ *fakeapi.Server) {
		broadcaster, written := record.NewBroadcaster(record.WithContext(ctx)), &sink{}
		defer broadcaster.Shutdown()
		broadcaster.StartRecordingToSink(written)
		recorder := broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: "demo"})
		about := func(name string) *corev1.ObjectReference {
			return &corev1.ObjectReference{Kind: "Deployment", Namespace: "default", Name: name}
		}
		for i := range 40 {
			recorder.Event(about("web"), corev1.EventTypeNormal, fmt.Sprint("Reason", i), "message")
			synctest.Wait()
		}
		require.EqualValues(t, 25, written.written.Load(), "whatever the reasons are")
		recorder.Event(about("db"), corev1.EventTypeNormal, "Reason", "message")
		synctest.Wait()
		require.EqualValues(t, 26, written.written.Load(), "each object has its own limit")
		time.Sleep(5*time.Minute + time.Second)
		for range 2 {
			recorder.Event(about("web"), corev1.EventTypeNormal, "Later", "message")
			synctest.Wait()
		}
		require.EqualValues(t, 27, written.written.Load(), "one more every five minutes")
	})
}
