package controller_test

// Task 7: the machine. The life of a budget, from the first list to the last event.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask7_Life_of_a_budget(t *testing.T) {
	guard.Test(t, "Then Config.Workers workers reconcile until ctx ends: each Deployment of two or more replicas has a "+
		"right budget.", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		t.Rule("Run waits until both caches are complete and the handlers have received them: the budget of the one " +
			"Deployment is right.")
		require.Empty(t, m.server.callLog(), "writes to the server before the first change")
		t.Rule("Then Config.Workers workers reconcile until ctx ends: each Deployment of two or more replicas has a " +
			"right budget.")
		m.then(func() { m.deployments.Add(web()) }, 2, "after the Deployment was created")
		m.then(m.edit(ofOthers), 2, "after others have added a label, an annotation, an owner and a field")
		m.then(m.edit(func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
		}), 2, "after the budget was edited")
		m.then(m.edit(noOwner), 2, "after the owner reference was cut")
		require.Len(t, m.server.get().OwnerReferences, 2, "owner references after one was cut")
		require.Equal(t, "shop", m.server.get().Labels["team"], "the label of another program")
		m.then(m.server.drop, 2, "after the budget was deleted")
		m.then(func() { m.apply(web(replicas(5))) }, 4, "after a scale-up to 5")
		m.then(func() { m.apply(web(replicas(1))) }, -1, "after a scale-down to 1")
		m.then(func() { m.apply(web(replicas(2))) }, 1, "after a scale-up to 2")
		m.then(func() { m.apply(web(replicas(2), annotated("disabled"))) }, -1, "after the Deployment opted out")
		m.then(func() { m.apply(web(replicas(2))) }, 1, "after the Deployment opted in again")
		t.Rule("Every other budget of a Deployment that is gone stays: the garbage collector takes it, since its only " +
			"owner is gone.")
		m.then(func() { m.deployments.Delete(web(replicas(2))) }, 1, "after the Deployment was deleted")

		t.Rule("Reconcile does not write a budget that is right: the controller's own writes come back as events.")
		require.Equal(t, []string{
			"create default/web", "update default/web", "update default/web", "create default/web", "update default/web",
			"delete default/web", "create default/web", "delete default/web", "create default/web",
		}, m.server.callLog(), "writes to the server")
		t.Rule("Each successful write records one Event.")
		require.Equal(t, []string{
			"default/web Normal BudgetCreated", "default/web Normal BudgetRepaired", "default/web Normal BudgetRepaired",
			"default/web Normal BudgetCreated", "default/web Normal BudgetRepaired", "default/web Normal BudgetRemoved",
			"default/web Normal BudgetCreated", "default/web Normal BudgetRemoved", "default/web Normal BudgetCreated",
		}, m.events.list(), "Events")
	})
}

func TestTask7_Equal_names_in_two_namespaces(t *testing.T) {
	guard.Test(t, "Reconcile corrects the budget of one Deployment with at most one write: a Deployment of an "+
		"equal name in another namespace is another one.", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 2, "after default/web was created")
		m.then(func() { m.apply(web(inNamespace("third"), replicas(9))) }, 2, "after third/web was created")
		require.Equal(t, 8, m.server.at("third", "web").Spec.MinAvailable.IntValue(), "minAvailable of third/web")
		m.then(func() { m.server.dropAt("third", "web") }, 2, "after the budget third/web was deleted")
		m.then(func() { m.apply(web(replicas(1))) }, -1, "after default/web was scaled to 1")
		require.NotNil(t, m.server.at("third", "web"), "the budget third/web")
		m.then(func() { m.apply(web(inNamespace("third"), replicas(5))) }, -1, "after third/web was scaled to 5")
		m.then(func() { m.apply(web(inNamespace("third"), replicas(1))) }, -1, "after third/web was scaled to 1")
		require.Equal(t, []string{"create default/web", "create third/web", "create third/web", "delete default/web",
			"update third/web", "delete third/web"}, m.server.callLog(), "writes to the server")
	})
}

func TestTask7_Finalizer_holds_a_budget(t *testing.T) {
	guard.Test(t, "Reconcile does not write to a budget that is being deleted: its delete event brings the key "+
		"back.", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 2, "after the Deployment was created")
		m.then(m.edit(func(b *policyv1.PodDisruptionBudget) { b.Finalizers = []string{"example.com/audit"} }), 2,
			"after another program has added a finalizer")
		m.then(func() { m.apply(web(replicas(1))) }, 2, "after a scale-down to 1, while the finalizer holds it")
		m.then(func() { m.apply(web(replicas(4))) }, 2, "after a scale-up to 4, while the finalizer holds it")
		m.then(m.server.drop, 3, "after the finalizer was removed")
		require.Equal(t, []string{"create default/web", "delete default/web", "create default/web"}, m.server.callLog(),
			"writes to the server")
	})
}

func TestTask7_Budget_that_another_owner_keeps(t *testing.T) {
	guard.Test(t, "For a Deployment that is gone, Reconcile removes a budget of ours that another owner keeps: "+
		"the garbage collector leaves an object until its last owner is gone.", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 2, "after the Deployment was created")
		m.then(m.edit(ofOthers), 2, "after another program has added an owner")
		m.then(func() { m.deployments.Delete(web()) }, -1, "after the Deployment was deleted")
	})
}

// A budget of a user comes and goes, which selects the Pods of web.
func TestTask7_Budget_in_the_way_comes_and_goes(t *testing.T) {
	const byHand = "by-hand"
	const both = "If ours exists beside such a budget, Reconcile removes ours."
	const back = "A foreign budget also concerns the Deployments whose Pods it selects: when the other one no " +
		"longer selects the Pods, ours is created again."
	guard.Test(t, both, func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		theirs := handmade(byHand, map[string]string{"app": "web"})
		m.then(func() { m.deployments.Add(web()) }, 2, "after the Deployment was created")
		m.then(func() { m.server.put(theirs) }, -1, "after a user has made another one that selects the same Pods")
		m.then(func() { m.apply(web(replicas(5))) }, -1, "after a scale-up, while the other one is there")

		t.Rule(back)
		narrow := handmade(byHand, map[string]string{"app": "web", "tier": "front"})
		m.then(func() { m.server.put(narrow) }, 4, "after the other one's selector was narrowed")
		t.Rule(both)
		m.then(func() { m.server.put(theirs) }, -1, "after the other one's selector was widened")
		t.Rule(back)
		m.then(func() { m.server.dropAt("default", byHand) }, 4, "after the other one was deleted")

		t.Rule("If a foreign budget selects the Deployment's Pods under another name, Reconcile creates none " +
			"and records a BudgetConflict Event.")
		wide := handmade("all", nil)
		m.then(func() { m.server.put(wide) }, -1, "after a user has made one for every Pod")
		m.then(func() { m.apply(web(called("api"))) }, -1, "after another Deployment was created")
		require.Nil(t, m.server.at("default", "api"), "the budget of the other Deployment")
		require.Contains(t, m.events.list(), "default/api Warning BudgetConflict", "Events")
		require.Contains(t, m.events.list(), "default/web Warning BudgetConflict", "Events")
		t.Rule("Reconcile never writes to a foreign budget.")
		for _, call := range m.server.callLog() {
			require.Contains(t, call, " default/web", "a write to the server")
		}
	})
}

func TestTask7_Restart_creates_nothing_twice(t *testing.T) {
	guard.Test(t, "processNext waits for a key and reconciles it: after a restart each Deployment is a key, and all "+
		"are right.", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget())
		})
		defer m.stop()
		require.Empty(t, m.server.callLog(), "writes to the server")
	})
}

func TestTask7_No_work_before_both_caches_are_complete(t *testing.T) {
	guard.Test(t, "Run waits until both caches are complete and the handlers have received them: a budget that is "+
		"not listed yet looks like one that is missing.", func(t *guard.T) {
		m := start(t, 0, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget())
			m.closed.Store(true)
		})
		defer m.stop()
		m.pass(24 * time.Hour)
		require.Equal(t, 2, m.queue.Len(), "keys in the queue before the budgets are listed")
		require.Empty(t, m.server.callLog(), "writes to the server before the budgets are listed")

		m.closed.Store(false)
		m.pass(2 * time.Minute) // the Reflector backs off
		require.Zero(t, m.queue.Len(), "keys in the queue after the budgets are listed")
		t.Rule("Reconcile does not write a budget that is right.")
		require.Empty(t, m.server.callLog(), "writes to the server after the budgets are listed")
	})
}

func TestTask7_Deletion_that_the_watch_missed_is_repaired(t *testing.T) {
	guard.Test(t, "enqueue adds to the queue the keys of the Deployments that an event concerns, and does "+
		"nothing else: a deletion that the watch missed is a tombstone, and the budget is created "+
		"again.", func(t *guard.T) {
		m := start(t, 0, nil)
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 2, "after the Deployment was created")

		m.server.mu.Lock()
		m.server.source.DeleteDropWatch(m.server.budgets[cache.NewObjectName("default", "web")].DeepCopy())
		delete(m.server.budgets, cache.NewObjectName("default", "web"))
		m.server.mu.Unlock()
		m.server.source.ResetWatch()
		m.pass(time.Minute) // the Reflector backs off, lists again and finds it missing
		m.then(nil, 2, "after a deletion that the watch has missed")
	})
}

func TestTask7_Foreign_budget_is_not_touched(t *testing.T) {
	guard.Test(t, "Reconcile never writes to a foreign budget.", func(t *guard.T) {
		foreign := webBudget(noOwner, noLabel, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
		})
		m := start(t, 0, func(m *machine) { m.server.put(foreign) })
		defer m.stop()
		m.then(func() { m.deployments.Add(web()) }, 0, "after the Deployment was created")
		m.pass(time.Hour)
		require.Empty(t, m.server.callLog(), "writes to the server")
		t.Rule("A nil error means that there is nothing to do until the next event: a foreign budget is one " +
			"Event and no retry.")
		require.Equal(t, []string{"default/web Warning BudgetConflict"}, m.events.list(), "Events")

		t.Rule("An event concerns the Deployment of the object's name: when the foreign budget is deleted, " +
			"ours is created.")
		m.then(m.server.drop, 2, "after the budget in the way was deleted")
	})
}

func TestTask7_Resync_looks_again(t *testing.T) {
	guard.Test(t, "A resync is a second look at every object: an update with an unchanged resourceVersion is not "+
		"filtered out.", func(t *guard.T) {
		m := start(t, 10*time.Minute, func(m *machine) {
			m.deployments.Add(web())
			m.server.put(webBudget(noOwner, noLabel)) // in the way: one Event for each look
		})
		defer m.stop()
		require.Len(t, m.events.list(), 1, "Events after the start")
		m.pass(35 * time.Minute)
		// Two informers resync, so each round is two looks, or one if the queue merged them.
		require.GreaterOrEqual(t, len(m.events.list()), 4, "Events in 35 minutes, with a resync every 10 minutes")
	})
}

// slowHandlers is an informer whose registrations have synced when the test says so.
type slowHandlers struct {
	cache.SharedIndexInformer
	received chan struct{}
}

type slowRegistration struct{ received chan struct{} }

func (s *slowHandlers) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	_, err := s.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
	return slowRegistration{s.received}, err
}

func (s slowRegistration) HasSynced() bool                     { return isClosed(s.received) }
func (s slowRegistration) HasSyncedChecker() cache.DoneChecker { return s }
func (s slowRegistration) Name() string                        { return "a slow handler" }
func (s slowRegistration) Done() <-chan struct{}               { return s.received }

func TestTask7_No_work_before_the_handlers_have_received_all(t *testing.T) {
	guard.Test(t, "Run waits until both caches are complete and the handlers have received them: the "+
		"registrations know, and the informers do not (#113985).", func(t *guard.T) {
		for _, which := range []string{"Deployments", "budgets"} {
			received := make(chan struct{})
			m := start(t, 0, func(m *machine) {
				m.configure = func(config *controller.Config) {
					if which == "budgets" {
						config.Budgets = &slowHandlers{config.Budgets, received}
					} else {
						config.Deployments = &slowHandlers{config.Deployments, received}
					}
				}
			})
			t.Did("the handler of %s is on its way through the first list", which)
			m.then(func() { m.deployments.Add(web()) }, -1, "before the handler of "+which+" has received the list")
			t.Did("the handler has received the list")
			close(received)
			m.pass(settleTime)
			m.then(nil, 2, "afterwards")
			m.stop()
		}
	})
}
