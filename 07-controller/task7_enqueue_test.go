package controller_test

// Task 7: the machine. Which keys an event puts into the queue.

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask7_Event_leads_to_a_name(t *testing.T) {
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
	elsewhere := of("api")
	elsewhere.Namespace = "other"

	for title, test := range map[string]struct {
		object any
		want   []cache.ObjectName
	}{
		"a Deployment":                         {web(), []cache.ObjectName{name("web")}},
		"a Deployment's tombstone":             {cache.DeletedFinalStateUnknown{Key: "default/web", Obj: web()}, []cache.ObjectName{name("web")}},
		"a budget of ours, once":               {webBudget(), []cache.ObjectName{name("web")}},
		"a budget of another Deployment":       {of("api"), []cache.ObjectName{name("web"), name("api")}},
		"a budget in another namespace":        {elsewhere, []cache.ObjectName{cache.NewObjectName("other", "web"), cache.NewObjectName("other", "api")}},
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
			guard.Test(t, "a budget's event concerns the Deployment of its name and the one that controls it", func(t *guard.T) {
				queue, _, budgets := wired(t)
				t.Did("the handler is told of %s", title)
				if _, ok := test.object.(cache.DeletedFinalStateUnknown); ok {
					budgets.handler.OnDelete(test.object)
				} else {
					budgets.handler.OnAdd(test.object, false)
				}
				require.ElementsMatch(t, test.want, keysOf(queue))
			})
		})
	}
}

// wired is a controller whose handlers the test calls.
func wired(t *guard.T) (queue workqueue.TypedRateLimitingInterface[cache.ObjectName], deployments, budgets *handlerRecorder) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()
	queue = below.NewWorkQueue(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{})
	t.Cleanup(queue.ShutDown)
	deployments = &handlerRecorder{SharedIndexInformer: cacheOf(&appsv1.Deployment{})}
	budgets = &handlerRecorder{SharedIndexInformer: cacheOf(&policyv1.PodDisruptionBudget{})}
	_, err := controller.New(klog.Background(), controller.Config{Deployments: deployments, Budgets: budgets, Queue: queue, Workers: 1})
	require.NoError(t, err)
	return queue, deployments, budgets
}

// keysOf empties a queue.
func keysOf(queue workqueue.TypedRateLimitingInterface[cache.ObjectName]) (keys []cache.ObjectName) {
	for queue.Len() > 0 {
		key, _ := queue.Get()
		keys = append(keys, key)
	}
	return keys
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

func TestTask7_Update_counts_old_and_new(t *testing.T) {
	guard.Test(t, "only the old state still knows the owner, who has to look after it", func(t *guard.T) {
		queue, _, budgets := wired(t)
		old, new := webBudget(ownedByOther("Deployment", "api", "uid")), webBudget(noOwner)
		t.Did("somebody cuts the owner reference of a budget of api")
		budgets.handler.OnUpdate(old, new)
		require.ElementsMatch(t, []cache.ObjectName{cache.NewObjectName("default", "api"), cache.NewObjectName("default", "web")}, keysOf(queue))
	})
}

func TestTask7_Handlers_do_no_work(t *testing.T) {
	guard.Test(t, "a handler puts the name into the queue, where ten are one; the work is for the workers, who "+
		"look at the state", func(t *guard.T) {
		queue, deployments, _ := wired(t)
		t.Did("the same Deployment changes ten times, and nobody works")
		for range 10 {
			deployments.handler.OnUpdate(web(), web(replicas(5)))
		}
		require.Len(t, keysOf(queue), 1)
	})
}

func TestTask7_New_refuses_what_cannot_work(t *testing.T) {
	guard.Test(t, "said at once, and not by a queue that grows", func(t *guard.T) {
		_, err := controller.New(klog.Background(), controller.Config{})
		require.EqualError(t, err, "making the controller: 0 workers cannot do any work, at least 1 is needed")
		stopped := cacheOf(&appsv1.Deployment{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stopped.RunWithContext(ctx)
		_, err = controller.New(klog.Background(), controller.Config{Workers: 1, Deployments: stopped, Budgets: stopped})
		t.Rule("an informer that has stopped brings no events")
		require.ErrorContains(t, err, "making the controller: adding an event handler: ")
		queue, deployments, _ := wired(t)
		deployments.handler.OnAdd(web(), true)
		t.Rule("and one that can work listens")
		require.Len(t, keysOf(queue), 1)
	})
}
