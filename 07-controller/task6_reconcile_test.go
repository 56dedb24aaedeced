package controller_test

// Task 6: one step of the controller. What it writes, and what it leaves alone.

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

var (
	create, created  = []string{"create default/web"}, []string{"default/web Normal BudgetCreated"}
	update, repaired = []string{"update default/web"}, []string{"default/web Normal BudgetRepaired"}
	remove, removed  = []string{"delete default/web"}, []string{"default/web Normal BudgetRemoved"}
	conflict         = []string{"default/web Warning BudgetConflict"}
)

// case6 is a step, and what it does.
type case6 struct {
	deployment *appsv1.Deployment
	budget     *policyv1.PodDisruptionBudget
	calls      []string
	events     []string
	rule       string
}

// run takes the step. Apart from more, the budgets in the way, it needs nothing but the case.
func (c case6) run(t *testing.T, more ...*policyv1.PodDisruptionBudget) {
	guard.Test(t, c.rule, func(t *guard.T) {
		s := step{deployment: c.deployment, budget: c.budget, more: more}
		before := c.budget.DeepCopy()
		require.NoError(t, s.run(t, c.rule), "the error of Reconcile")
		require.Equal(t, c.calls, s.server.callLog(), "writes to the server")
		if len(c.calls) > 0 {
			t.Rule("Each successful write records one Event.")
		}
		require.Equal(t, c.events, s.events.list(), "Events")
		t.Rule("%s", c.rule)
		now := s.server.get()
		switch {
		case len(c.calls) == 0:
			require.Equal(t, inWords(t, before), inWords(t, now), "the budget on the server")
		case c.calls[0] == remove[0] && now != nil:
			require.NotNil(t, now.DeletionTimestamp, "the deletion timestamp of the budget on the server")
		case c.calls[0] == create[0]:
			want := controller.NewBudget(c.deployment)
			want.UID, want.ResourceVersion = now.UID, now.ResourceVersion
			require.Equal(t, inWords(t, want), inWords(t, now), "the budget on the server")
		case c.calls[0] == update[0]:
			t.Rule("repair updates a budget of ours to what Conform says, and changes nothing else in " +
				"it: its other labels, annotations, finalizers, owners and fields belong to other " +
				"programs.")
			controller.Conform(before, c.deployment)
			before.ResourceVersion = now.ResourceVersion
			require.Equal(t, inWords(t, before), inWords(t, now), "the budget on the server")
		}
	})
}

func TestTask6_One_step(t *testing.T) {
	drifted := func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0)) }
	going := func(b *policyv1.PodDisruptionBudget) { b.DeletionTimestamp = ptr.To(metav1.Now()) }
	wide := func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }
	apart := func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels = map[string]string{"app": "db"} }
	both := func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1)) }
	otherOwner := ownedByOther("StatefulSet", "db", "db-uid")
	paused := func(d *appsv1.Deployment) { d.Spec.Paused = true }
	noPods := func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation + 1} }
	for _, test := range []struct { // in the order of the README's table
		name string
		case6
	}{
		{"creates what is missing", case6{web(), nil, create, created,
			"Reconcile creates a budget for a Deployment that wants one and has none."}},
		{"creates with two replicas", case6{web(replicas(2)), nil, create, created,
			"Reconcile creates a budget for a Deployment that wants one and has none: two replicas are enough."}},
		{"another annotation", case6{web(annotated("enabled")), nil, create, created,
			"Reconcile creates a budget for a Deployment that wants one and has none: only one value opts out."}},
		{"a paused rollout", case6{web(paused), nil, create, created,
			"Reconcile creates a budget for a Deployment that wants one and has none: a drain evicts Pods during a " +
				"pause too."}},
		{"no Pods yet", case6{web(noPods), nil, create, created,
			"Reconcile creates a budget for a Deployment that wants one and has none: spec.replicas decides."}},
		{"leaves alone what is right", case6{web(), webBudget(), nil, nil,
			"Reconcile does not write a budget that is right: each write is an event that comes back here."}},
		{"sends no repair of nothing", case6{web(replicas(2)), budgetOf(web(replicas(2))), nil, nil,
			"If the budget is right, repair sends nothing."}},
		{"repairs an edit", case6{web(), webBudget(drifted), update, repaired,
			"Reconcile repairs a budget of ours that is wrong: a user has edited its spec."}},
		{"repairs a wide selector", case6{web(), webBudget(wide), update, repaired,
			"Reconcile repairs a budget of ours that is wrong: its selector selects every Pod."}},
		{"repairs in a pause", case6{web(paused), webBudget(drifted), update, repaired,
			"Reconcile repairs a budget of ours that is wrong: a drain evicts Pods during a pause too."}},
		{"repairs maxUnavailable", case6{web(), webBudget(both), update, repaired,
			"Reconcile repairs a budget of ours that is wrong: it has maxUnavailable."}},
		{"follows a scale-up", case6{web(replicas(6)), webBudget(), update, repaired,
			"Reconcile repairs a budget of ours that is wrong: minAvailable is one less than the replicas."}},
		{"repairs a cut owner", case6{web(), webBudget(noOwner), update, repaired,
			"Reconcile repairs a budget of ours that is wrong: with our label it is ours, although its " +
				"owner reference was cut."}},
		{"repairs without any owner", case6{web(), webBudget(noOwner, noOtherOwner), update, repaired,
			"Reconcile repairs a budget of ours that is wrong: with our label it is ours, although its " +
				"owner references were cut."}},
		{"repairs a cut label", case6{web(), webBudget(noLabel), update, repaired,
			"Reconcile repairs a budget of ours that is wrong: the Deployment controls it, so it is ours " +
				"even without the label."}},
		{"removes after a scale-down", case6{web(replicas(1)), webBudget(), remove, removed,
			"Reconcile removes a budget of ours that the Deployment does not want: it would block every drain."}},
		{"removes at zero", case6{web(replicas(0)), webBudget(), remove, removed,
			"Reconcile removes a budget of ours that the Deployment does not want: there are no replicas."}},
		{"removes after an opt-out", case6{web(annotated("disabled")), webBudget(), remove, removed,
			"Reconcile removes a budget of ours that the Deployment does not want: the annotation opts out."}},
		{"removes even what drifted", case6{web(replicas(1)), webBudget(drifted, noOwner), remove, removed,
			"Reconcile removes a budget of ours that the Deployment does not want: with our label it is ours."}},
		{"wants none and has none", case6{web(replicas(1)), nil, nil, nil,
			"A nil error means that there is nothing to do until the next event: one replica wants no budget."}},
		{"opted out and has none", case6{web(annotated("disabled")), nil, nil, nil,
			"A nil error means that there is nothing to do until the next event: the Deployment opts out."}},
		{"Deployment going, none", case6{web(beingDeleted), nil, nil, nil,
			"Reconcile writes nothing for a Deployment that is being deleted: a new budget would delay " +
				"its deletion."}},
		{"Deployment going, drifted", case6{web(beingDeleted), webBudget(drifted), nil, nil,
			"Reconcile writes nothing for a Deployment that is being deleted: the garbage collector " +
				"deletes its budget."}},
		{"Deployment going, unwanted", case6{web(beingDeleted, replicas(1)), webBudget(), nil, nil,
			"Reconcile writes nothing for a Deployment that is being deleted: the garbage collector " +
				"deletes its budget."}},
		{"Deployment going, orphaning", case6{web(beingDeleted), webBudget(noOwner), nil, nil,
			"Reconcile writes nothing for a Deployment that is being deleted: the garbage collector cuts " +
				"the owner reference to orphan the budget, and a repair would undo that."}},
		{"budget going", case6{web(), webBudget(going, drifted), nil, nil,
			"Reconcile does not write to a budget that is being deleted: an update cannot bring it back, " +
				"and its delete event brings the key back."}},
		{"budget going, none wanted", case6{web(replicas(1)), webBudget(going), nil, nil,
			"Reconcile does not write to a budget that is being deleted: it needs no second deletion."}},
		{"budget going, Deployment gone", case6{nil, webBudget(going), nil, nil,
			"Reconcile does not write to a budget that is being deleted: it needs no second deletion."}},
		{"foreign in the way", case6{web(), webBudget(noOwner, noLabel, drifted), nil, conflict,
			"If a Deployment wants a budget, and a foreign one has its name, Reconcile records " +
				"a BudgetConflict Event."}},
		{"foreign, of other Pods", case6{web(), webBudget(noOwner, noLabel, apart), nil, conflict,
			"If a Deployment wants a budget, and a foreign one has its name, Reconcile records " +
				"a BudgetConflict Event, whatever Pods that budget selects."}},
		{"foreign, controlled", case6{web(), webBudget(otherOwner), nil, conflict,
			"Reconcile never writes to a foreign budget: another object controls it, even with our label " +
				"on it."}},
		{"foreign, none wanted", case6{web(replicas(1)), webBudget(noOwner, noLabel), nil, nil,
			"Reconcile never writes to a foreign budget: none is wanted, so it is not in the way."}},
		{"foreign, opted out", case6{web(annotated("disabled")), webBudget(noOwner, noLabel), nil, nil,
			"Reconcile never writes to a foreign budget: a Deployment that opts out may have one."}},
		{"previous Deployment's budget", case6{web(), webBudget(ownedByOther("Deployment", "web", "old-uid")), nil, nil,
			"Reconcile leaves the budget of an earlier Deployment to the garbage collector: its delete " +
				"event brings the key back."}},
		{"previous, none wanted", case6{web(replicas(1)), webBudget(ownedByOther("Deployment", "web", "old-uid")), nil, nil,
			"Reconcile leaves the budget of an earlier Deployment to the garbage collector: its delete " +
				"event brings the key back."}},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t) })
	}
}

func TestTask6_Deployment_that_is_gone(t *testing.T) {
	byOther := ownedByOther("StatefulSet", "db", "db-uid")
	sameName := ownedByOther("StatefulSet", "web", "db-uid")
	const stays = "Every other budget of a Deployment that is gone stays: "
	for name, test := range guard.InOrder(map[string]case6{
		"no budget": {nil, nil, nil, nil, "A nil error means that there is nothing to do until the next event: the key " +
			"of a deleted Deployment is not an error."},
		"its only owner": {nil, webBudget(noOtherOwner), nil, nil, stays + "the garbage collector takes it, since its " +
			"only owner is gone."},
		"kept by another owner": {nil, webBudget(), remove, removed,
			"For a Deployment that is gone, Reconcile removes a budget of ours that another owner keeps: " +
				"the garbage collector leaves an object until its last owner is gone."},
		"the dead owner cut already": {nil, webBudget(noOwner), remove, removed,
			"For a Deployment that is gone, Reconcile removes a budget of ours that another owner keeps: " +
				"the garbage collector has cut the reference to the Deployment."},
		"orphaned on purpose": {nil, webBudget(noOwner, noOtherOwner), nil, nil, stays + "without an owner it was orphaned " +
			"on purpose."},
		"not made by us":                {nil, webBudget(noLabel), nil, nil, stays + "it does not have our label."},
		"a user's":                      {nil, webBudget(noOwner, noLabel), nil, nil, stays + "it is a user's."},
		"another controller":            {nil, webBudget(byOther), nil, nil, stays + "another object controls it."},
		"another controller, same name": {nil, webBudget(sameName), nil, nil, stays + "another object controls it."},
		"of another Deployment": {nil, webBudget(ownedByOther("Deployment", "api", "api-uid")), nil, nil,
			stays + "another Deployment controls it."},
	}) {
		t.Run(name, func(t *testing.T) { test.run(t) })
	}
}

func TestTask6_Equal_names_in_two_namespaces(t *testing.T) {
	guard.Test(t, "Reconcile corrects the budget of one Deployment with at most one write: a budget of the same "+
		"name in another namespace is another budget.", func(t *guard.T) {
		deployments, budgets := cacheOf(&appsv1.Deployment{}), cacheOf(&policyv1.PodDisruptionBudget{})
		for _, d := range []*appsv1.Deployment{web(), web(inNamespace("other"), replicas(6))} {
			require.NoError(t, deployments.GetStore().Add(d), "the error of Add")
		}
		require.NoError(t, budgets.GetStore().Add(webBudget()), "the error of Add")
		server := newBudgetServer(webBudget())
		events := eventLog{}
		c, err := controller.New(klog.Background(), controller.Config{
			Deployments: deployments, Budgets: budgets, Client: server.client, Recorder: &events, Workers: 1,
		})
		require.NoError(t, err, "the error of New")
		t.Did("in the cache: the Deployments default/web and other/web, and a budget default/web")
		t.Did("Reconcile other/web, and default/web")
		other, own := cache.NewObjectName("other", "web"), cache.NewObjectName("default", "web")
		require.NoError(t, c.Reconcile(t.Context(), other), "the error of Reconcile other/web")
		require.NoError(t, c.Reconcile(t.Context(), own), "the error of Reconcile default/web")
		require.Equal(t, []string{"create other/web"}, server.callLog(), "writes to the server")
		require.Equal(t, []string{"other/web Normal BudgetCreated"}, events.list(), "Events")
		require.Equal(t, 5, server.at("other", "web").Spec.MinAvailable.IntValue(), "minAvailable of other/web")
	})
}

func TestTask6_Steps_run_side_by_side(t *testing.T) {
	guard.Test(t, "Reconcile may run for different keys at once: no write waits for another one.", func(t *guard.T) {
		deployments, budgets := cacheOf(&appsv1.Deployment{}), cacheOf(&policyv1.PodDisruptionBudget{})
		names := []string{"web", "api"}
		for _, name := range names {
			require.NoError(t, deployments.GetStore().Add(web(called(name))), "the error of Add")
		}
		server, met := newBudgetServer(), make(chan struct{}, len(names))
		server.before = func(ctx context.Context, _ string) error { // each write waits for the other one
			met <- struct{}{}
			for len(met) < len(names) {
				time.Sleep(time.Second)
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			return nil
		}
		c, err := controller.New(klog.Background(), controller.Config{
			Deployments: deployments, Budgets: budgets, Client: server.client, Recorder: &eventLog{}, Workers: 1,
		})
		require.NoError(t, err, "the error of New")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		errs := make(chan error, len(names))
		for _, name := range names {
			t.Did("Reconcile default/%s", name)
			t.Go(func() { errs <- c.Reconcile(ctx, cache.NewObjectName("default", name)) })
		}
		for range names {
			require.NoError(t, <-errs, "the error of Reconcile")
		}
	})
}
