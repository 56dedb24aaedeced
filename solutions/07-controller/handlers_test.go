// handlers_test.go tests what New hangs on the informers: which keys an event puts into the queue.

package controller

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

func TestEnqueue(t *testing.T) {
	name := func(name string) cache.ObjectName { return cache.NewObjectName("default", name) }
	stranger := webBudget(ownedByOther("StatefulSet", "db", "db-uid"))
	of := func(owner string) *policyv1.PodDisruptionBudget {
		return webBudget(ownedByOther("Deployment", owner, "uid"))
	}
	beta := of("api")
	beta.OwnerReferences[0].APIVersion = "apps/v1beta1"
	notApps := of("api")
	notApps.OwnerReferences[0].APIVersion = "example.com/v1"
	notController := of("api")
	notController.OwnerReferences[0].Controller = nil

	for title, test := range map[string]struct {
		object any
		want   []cache.ObjectName
	}{
		"a Deployment":                         {web(), []cache.ObjectName{name("web")}},
		"a Deployment's tombstone":             {cache.DeletedFinalStateUnknown{Key: "default/web", Obj: web()}, []cache.ObjectName{name("web")}},
		"a budget of ours, once":               {webBudget(), []cache.ObjectName{name("web")}},
		"a budget of another Deployment":       {of("api"), []cache.ObjectName{name("web"), name("api")}},
		"its tombstone":                        {cache.DeletedFinalStateUnknown{Key: "default/web", Obj: of("api")}, []cache.ObjectName{name("web"), name("api")}},
		"a tombstone without an object":        {cache.DeletedFinalStateUnknown{Key: "default/web"}, []cache.ObjectName{name("web")}},
		"another version of the same kind":     {beta, []cache.ObjectName{name("web"), name("api")}},
		"a Deployment of another group":        {notApps, []cache.ObjectName{name("web")}},
		"a Deployment that does not control":   {notController, []cache.ObjectName{name("web")}},
		"a budget of something else":           {stranger, []cache.ObjectName{name("web")}},
		"a budget of nobody":                   {webBudget(noOwner, noLabel), []cache.ObjectName{name("web")}},
		"what is no object, without a failure": {"nonsense", nil},
		"a tombstone with a broken key":        {cache.DeletedFinalStateUnknown{Key: "a/b/c"}, nil},
	} {
		t.Run(title, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
			defer queue.ShutDown()
			logger, _ := ktesting.NewTestContext(t)
			(&Controller{queue: queue}).enqueue(logger, test.object)
			var got []cache.ObjectName
			for queue.Len() > 0 {
				key, _ := queue.Get()
				got = append(got, key)
			}
			require.ElementsMatch(t, test.want, got, "a budget's event concerns the Deployment of its name and the one that controls it")
		})
	}
}

// handlerRecorder is an informer that only keeps the handler it is given.
type handlerRecorder struct {
	cache.SharedIndexInformer
	handler cache.ResourceEventHandler
}

func (r *handlerRecorder) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	r.handler = handler
	return r.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}

func TestAnUpdateCountsOldAndNew(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	defer queue.ShutDown()
	informer := func() *handlerRecorder {
		return &handlerRecorder{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, nil, 0, nil)}
	}
	budgets := informer()
	_, err := New(klog.Background(), Config{Deployments: informer(), Budgets: budgets, Queue: queue, Workers: 1})
	require.NoError(t, err)

	old, new := webBudget(ownedByOther("Deployment", "api", "uid")), webBudget(noOwner)
	budgets.handler.OnUpdate(old, new)
	var keys []string
	for queue.Len() > 0 {
		key, _ := queue.Get()
		keys = append(keys, key.Name)
	}
	slices.Sort(keys)
	require.Equal(t, []string{"api", "web"}, keys, "the edit cut the owner reference: only the old object still knows the owner")
}

func TestNewRefuses(t *testing.T) {
	_, err := New(klog.Background(), Config{})
	require.EqualError(t, err, "making the controller: 0 workers cannot do any work, at least 1 is needed")

	stopped := cache.NewSharedIndexInformer(&cache.ListWatch{}, &appsv1.Deployment{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopped.RunWithContext(ctx)
	_, err = New(klog.Background(), Config{Workers: 1, Deployments: stopped, Budgets: stopped})
	require.ErrorContains(t, err, "making the controller: adding an event handler: ")
}
