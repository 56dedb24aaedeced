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
	tombstone := func(key string, obj any) cache.DeletedFinalStateUnknown {
		return cache.DeletedFinalStateUnknown{Key: key, Obj: obj}
	}
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
		want   []string
	}{
		"a Deployment":                         {web(), []string{"default/web"}},
		"a Deployment's tombstone":             {tombstone("default/web", web()), []string{"default/web"}},
		"a budget of ours, once":               {webBudget(), []string{"default/web"}},
		"a budget of another Deployment":       {of("api"), []string{"default/web", "default/api"}},
		"a budget in another namespace":        {elsewhere, []string{"other/web", "other/api"}},
		"its tombstone":                        {tombstone("default/web", of("api")), []string{"default/web", "default/api"}},
		"a tombstone without an object":        {tombstone("default/web", nil), []string{"default/web"}},
		"another version of the same kind":     {beta, []string{"default/web", "default/api"}},
		"a Deployment of another group":        {notApps, []string{"default/web"}},
		"a Deployment that does not control":   {notController, []string{"default/web"}},
		"a budget of something else":           {stranger, []string{"default/web"}},
		"a budget of nobody":                   {webBudget(noOwner, noLabel), []string{"default/web"}},
		"what is no object, without a failure": {"nonsense", nil},
		"a tombstone with a broken key":        {tombstone("a/b/c", nil), nil},
	} {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, "A budget's event concerns the Deployment of its name, and the Deployment that "+
				"controls it.", func(t *guard.T) {
				queue, _, budgets := wired(t)
				t.Did("the handler is called with %s", title)
				if _, ok := test.object.(cache.DeletedFinalStateUnknown); ok {
					budgets.handler.OnDelete(test.object)
				} else {
					budgets.handler.OnAdd(test.object, false)
				}
				require.ElementsMatch(t, test.want, keysOf(queue), "keys in the queue")
			})
		})
	}
}

// wired makes a controller whose handlers the test calls.
func wired(t *guard.T) (queue keyQueue, deployments, budgets *handlerRecorder) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()
	queue = below.NewWorkQueue(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{})
	t.Cleanup(queue.ShutDown)
	deployments = &handlerRecorder{SharedIndexInformer: cacheOf(&appsv1.Deployment{})}
	budgets = &handlerRecorder{SharedIndexInformer: cacheOf(&policyv1.PodDisruptionBudget{})}
	_, err := controller.New(klog.Background(), controller.Config{
		Deployments: deployments, Budgets: budgets, Queue: queue, Workers: 1,
	})
	require.NoError(t, err, "the error of New")
	return queue, deployments, budgets
}

type keyQueue = workqueue.TypedRateLimitingInterface[cache.ObjectName]

// keysOf empties a queue and returns its keys, as namespace/name.
func keysOf(queue keyQueue) (keys []string) {
	for queue.Len() > 0 {
		key, _ := queue.Get()
		keys = append(keys, key.Namespace+"/"+key.Name)
	}
	return keys
}

// handlerRecorder is an informer that keeps the handler it is given, and never calls it.
type handlerRecorder struct {
	cache.SharedIndexInformer
	handler cache.ResourceEventHandler
}

func (r *handlerRecorder) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	r.handler = handler
	return r.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}

func TestTask7_Update_counts_old_and_new(t *testing.T) {
	guard.Test(t, "An event concerns the Deployments of both states: if an edit cut the owner reference, only the "+
		"old state knows it.", func(t *guard.T) {
		queue, _, budgets := wired(t)
		old, new := webBudget(ownedByOther("Deployment", "api", "uid")), webBudget(noOwner)
		t.Did("a user cuts the owner reference of a budget of api")
		budgets.handler.OnUpdate(old, new)
		require.ElementsMatch(t, []string{"default/api", "default/web"}, keysOf(queue), "keys in the queue")
	})
}

func TestTask7_Handlers_do_no_work(t *testing.T) {
	guard.Test(t, "A handler only puts the key into the queue, where ten are one: the work is for "+
		"the workers.", func(t *guard.T) {
		queue, deployments, _ := wired(t)
		t.Did("the same Deployment changes ten times, and no worker runs")
		for range 10 {
			deployments.handler.OnUpdate(web(), web(replicas(5)))
		}
		require.Len(t, keysOf(queue), 1, "keys in the queue")
	})
}

func TestTask7_New_refuses_what_cannot_work(t *testing.T) {
	guard.Test(t, "New refuses a Config that cannot work.", func(t *guard.T) {
		_, err := controller.New(klog.Background(), controller.Config{})
		require.EqualError(t, err, "making the controller: 0 workers cannot do any work, at least 1 is needed",
			"the error of New without workers")
		stopped := cacheOf(&appsv1.Deployment{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stopped.RunWithContext(ctx)
		_, err = controller.New(klog.Background(), controller.Config{Workers: 1, Deployments: stopped, Budgets: stopped})
		require.ErrorContains(t, err, "making the controller: adding an event handler: ",
			"the error of New with an informer that has stopped")
		queue, deployments, _ := wired(t)
		deployments.handler.OnAdd(web(), true)
		t.Rule("The handlers of New put keys into the queue.")
		require.Len(t, keysOf(queue), 1, "keys in the queue")
	})
}
