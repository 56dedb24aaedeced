package controller_test

// Task 7: the machine. Which keys an event puts into the queue.

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask7_Event_leads_to_a_name(t *testing.T) {
	tombstone := func(key string, obj any) cache.DeletedFinalStateUnknown {
		return cache.DeletedFinalStateUnknown{Key: key, Obj: obj}
	}
	pods := func(app string) map[string]string { return map[string]string{"app": app} }
	elsewhereByHand := handmade("by-hand", pods("web"))
	elsewhereByHand.Namespace = "other"
	labelled := handmade("by-hand", pods("web"), ownedByOther("StatefulSet", "db", "db-uid"))
	labelled.Labels = map[string]string{controller.ManagedByLabel: controller.ManagedByValue}
	going := handmade("by-hand", pods("web"), ownedByOther("Deployment", "api", "uid"))
	going.DeletionTimestamp = ptr.To(metav1.Now())
	stranger := webBudget(ownedByOther("StatefulSet", "db", "db-uid"))
	of := func(owner string) *policyv1.PodDisruptionBudget {
		return webBudget(ownedByOther("Deployment", owner, "uid"))
	}
	beta := of("api")
	beta.OwnerReferences[1].APIVersion = "apps/v1beta1"
	notApps := of("api")
	notApps.OwnerReferences[1].APIVersion = "example.com/v1"
	notController := of("api")
	notController.OwnerReferences[1].Controller = nil
	elsewhere := of("api")
	elsewhere.Namespace = "other"

	const (
		byName     = "An event concerns the Deployment of the object's name."
		byOwner    = "A budget's event concerns the Deployment that controls the budget."
		bySelector = "A foreign budget also concerns the Deployments whose Pods it selects."
		ignored    = "A state that is not an object with a name is reported to utilruntime and ignored."
		once       = "Each key is added once, however many states name it."
	)
	// In the cache are the Deployments default/web, default/api and other/web.
	for title, test := range guard.InOrder(map[string]struct {
		object any
		want   []string
		rule   string
	}{
		"a Deployment":                  {web(), []string{"default/web"}, byName},
		"a Deployment elsewhere":        {web(inNamespace("other")), []string{"other/web"}, byName},
		"a Deployment's tombstone":      {tombstone("default/web", web()), []string{"default/web"}, byName},
		"a budget of ours":              {webBudget(), []string{"default/web"}, once},
		"a budget of ours, elsewhere":   {budgetOf(web(inNamespace("other"))), []string{"other/web"}, once},
		"a tombstone without an object": {tombstone("default/web", nil), []string{"default/web"}, byName},

		"a budget of another Deployment": {of("api"), []string{"default/web", "default/api"}, byOwner},
		"a budget in another namespace":  {elsewhere, []string{"other/web", "other/api"}, byOwner},
		"the tombstone of another Deployment's budget": {
			tombstone("default/web", of("api")), []string{"default/web", "default/api"}, byOwner},
		"a budget of a Deployment of another version":   {beta, []string{"default/web", "default/api"}, byOwner},
		"a budget of a Deployment of another group":     {notApps, []string{"default/web"}, byOwner},
		"a budget that its Deployment does not control": {notController, []string{"default/web"}, byOwner},
		"a budget of something else":                    {stranger, []string{"default/web"}, byOwner},
		"a budget without an owner":                     {webBudget(noOwner, noLabel), []string{"default/web"}, byOwner},

		"a user's budget for web's Pods": {handmade("by-hand", pods("web")),
			[]string{"default/by-hand", "default/web"}, bySelector},
		"the tombstone of a user's budget": {tombstone("default/by-hand", handmade("by-hand", pods("api"))),
			[]string{"default/by-hand", "default/api"}, bySelector},
		"a user's budget for all Pods": {handmade("by-hand", nil),
			[]string{"default/by-hand", "default/web", "default/api"}, bySelector},
		"a user's budget in another namespace": {elsewhereByHand, []string{"other/by-hand", "other/web"}, bySelector},
		"an operator's budget for web's Pods": {handmade("by-hand", pods("web"), ownedByOther("StatefulSet", "db", "db-uid")),
			[]string{"default/by-hand", "default/web"}, bySelector},
		"an operator's budget with our label": {labelled, []string{"default/by-hand", "default/web"}, bySelector},
		"another Deployment's budget for web's Pods": {handmade("by-hand", pods("web"), ownedByOther("Deployment", "api", "uid")),
			[]string{"default/by-hand", "default/api", "default/web"}, bySelector},
		"another Deployment's budget, being deleted": {going,
			[]string{"default/by-hand", "default/api", "default/web"}, bySelector},
		"a user's budget for other Pods": {handmade("by-hand", pods("db")), []string{"default/by-hand"}, bySelector},

		"a string":                      {"nonsense", nil, ignored},
		"a tombstone with a broken key": {tombstone("a/b/c", nil), nil, ignored},
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, test.rule, func(t *guard.T) {
				reported := 0
				defer replace(&utilruntime.ErrorHandlers, []utilruntime.ErrorHandler{
					func(context.Context, error, string, ...any) { reported++ },
				})()
				queue, deployments, budgets := wired(t)
				for _, d := range []*appsv1.Deployment{web(), web(called("api")), web(inNamespace("other"))} {
					require.NoError(t, deployments.GetStore().Add(d), "the error of Add")
				}
				t.Did("the handler is called with %s", title)
				if _, ok := test.object.(cache.DeletedFinalStateUnknown); ok {
					budgets.handler.OnDelete(test.object)
				} else {
					budgets.handler.OnAdd(test.object, false)
				}
				require.ElementsMatch(t, test.want, keysOf(queue), "keys in the queue")
				require.Equal(t, test.want == nil, reported == 1, "whether an error was reported to utilruntime")
			})
		})
	}
}

// wired makes a controller whose handlers the test calls.
func wired(t *guard.T) (queue *countingQueue, deployments, budgets *handlerRecorder) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()
	config := workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{}
	queue = &countingQueue{keyQueue: below.NewWorkQueue(limiter, config)}
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

// countingQueue counts the calls of Add.
type countingQueue struct {
	keyQueue
	adds int
}

func (q *countingQueue) Add(key cache.ObjectName) {
	q.adds++
	q.keyQueue.Add(key)
}

// keysOf empties a queue and returns its keys, as namespace/name.
func keysOf(queue keyQueue) (keys []string) {
	for queue.Len() > 0 {
		key, _ := queue.Get()
		keys = append(keys, key.Namespace+"/"+key.Name)
		queue.Done(key)
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
	const rule = "Both states count: the old one may name a Deployment that the new one does not"
	ofAPI := func() *policyv1.PodDisruptionBudget { return webBudget(ownedByOther("Deployment", "api", "uid")) }
	ofPods := handmade("by-hand", map[string]string{"app": "web"})
	ofNone := handmade("by-hand", nil, func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil })
	third := func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget { b.Generation = 3; return b }
	byOwner, bySelector := []string{"default/api", "default/web"}, []string{"default/by-hand", "default/web"}
	for title, test := range guard.InOrder(map[string]struct {
		old, new any
		want     []string
		why      string
	}{
		"the owner reference is cut":  {ofAPI(), webBudget(noOwner), byOwner, ", if an edit cut the owner reference."},
		"the owner reference is made": {webBudget(noOwner), ofAPI(), byOwner, ", and the new one may name one too."},
		"the owner reference is cut, and the generation stays": {third(ofAPI()), third(webBudget(noOwner)), byOwner,
			", also if an edit changed its metadata only."},
		"the selector is taken away": {ofPods, ofNone, bySelector, ", if an edit changed the selector."},
		"the selector is made":       {ofNone, ofPods, bySelector, ", and the new one may select more."},
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, rule+test.why, func(t *guard.T) {
				queue, deployments, budgets := wired(t)
				require.NoError(t, deployments.GetStore().Add(web()), "the error of Add")
				t.Did("a budget changes: %s", title)
				budgets.handler.OnUpdate(test.old, test.new)
				require.ElementsMatch(t, test.want, keysOf(queue), "keys in the queue")
			})
		})
	}
}

func TestTask7_Update_of_what_is_no_object(t *testing.T) {
	for title, states := range guard.InOrder(map[string][2]any{
		"old": {"nonsense", webBudget(ownedByOther("Deployment", "api", "uid"))},
		"new": {webBudget(ownedByOther("Deployment", "api", "uid")), "nonsense"},
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, "A state that is not an object with a name is reported to utilruntime and ignored: the other "+
				"state still counts.", func(t *guard.T) {
				reported := 0
				defer replace(&utilruntime.ErrorHandlers, []utilruntime.ErrorHandler{
					func(context.Context, error, string, ...any) { reported++ },
				})()
				queue, _, budgets := wired(t)
				t.Did("a budget changes, and its %s state is no object", title)
				budgets.handler.OnUpdate(states[0], states[1])
				require.ElementsMatch(t, []string{"default/api", "default/web"}, keysOf(queue), "keys in the queue")
				require.Equal(t, 1, reported, "errors reported to utilruntime")
			})
		})
	}
}

func TestTask7_Keys_of_an_event_come_once(t *testing.T) {
	guard.Test(t, "Each key is added once, however many states name it: otherwise a worker could process it "+
		"twice, the second time on a cache without the first write.", func(t *guard.T) {
		queue, deployments, budgets := wired(t)
		t.Did("web changes")
		deployments.handler.OnUpdate(web(), web(replicas(5)))
		require.Equal(t, 1, queue.adds, "calls of Add")
		t.Did("its budget changes")
		budgets.handler.OnUpdate(webBudget(), webBudget(noLabel))
		require.Equal(t, 2, queue.adds, "calls of Add")
	})
}

func TestTask7_Handlers_do_no_work(t *testing.T) {
	guard.Test(t, "enqueue adds to the queue the keys of the Deployments that an event concerns, and does "+
		"nothing else: ten events of one Deployment are one key, and the work is for the "+
		"workers.", func(t *guard.T) {
		queue, deployments, _ := wired(t)
		t.Did("AddRateLimited default/web, twice")
		queue.AddRateLimited(webKey)
		queue.AddRateLimited(webKey)
		t.Did("the same Deployment changes ten times, and no worker runs")
		for range 10 {
			deployments.handler.OnUpdate(web(), web(replicas(5)))
		}
		require.Len(t, keysOf(queue), 1, "keys in the queue")
		require.Equal(t, 2, queue.NumRequeues(webKey), "NumRequeues of default/web")
	})
}

func TestTask7_New_refuses_what_cannot_work(t *testing.T) {
	guard.Test(t, "New refuses a Config that cannot work.", func(t *guard.T) {
		for _, workers := range []int{0, -1} {
			t.Did("New with %d workers", workers)
			_, err := controller.New(klog.Background(), controller.Config{Workers: workers})
			require.ErrorContains(t, err, "making the controller: "+strconv.Itoa(workers)+" workers cannot do any work",
				"the error of New with %d workers", workers)
		}
		stopped := cacheOf(&appsv1.Deployment{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stopped.RunWithContext(ctx)
		for which, config := range guard.InOrder(map[string]controller.Config{
			"Deployments": {Workers: 1, Deployments: stopped, Budgets: cacheOf(&policyv1.PodDisruptionBudget{})},
			"Budgets":     {Workers: 1, Deployments: cacheOf(&appsv1.Deployment{}), Budgets: stopped},
		}) {
			_, err := controller.New(klog.Background(), config)
			require.ErrorContains(t, err, "making the controller: adding an event handler: ",
				"the error of New with %s that have stopped", which)
		}
		indexed := cacheOf(&policyv1.PodDisruptionBudget{})
		t.Did("New twice with the same informers")
		for n, want := range []string{"<nil>", "making the controller: adding an index: "} {
			_, err := controller.New(klog.Background(),
				controller.Config{Workers: 1, Deployments: cacheOf(&appsv1.Deployment{}), Budgets: indexed})
			require.Contains(t, fmt.Sprint(err), want, "the error of New number %d: the index exists already", n+1)
		}
		queue, deployments, _ := wired(t)
		t.Did("New, and OnAdd of its handler of Deployments")
		deployments.handler.OnAdd(web(), true)
		t.Rule("The handlers of New add keys to the queue.")
		require.Len(t, keysOf(queue), 1, "keys in the queue")
	})
}
