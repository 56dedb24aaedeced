package controller_test

// Task 6: one step of the controller, on caches that the test fills, and a server that may be ahead of them.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

// cacheOf returns an informer that never runs: the test fills its store.
func cacheOf(example runtime.Object) cache.SharedIndexInformer {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, byNamespace)
}

// inWords returns an object as kubectl shows it.
func inWords(t *guard.T, obj any) string {
	text, err := yaml.Marshal(obj)
	require.NoError(t, err, "the error of yaml.Marshal")
	return string(text)
}

// owners names a budget's owners, for the steps of a failing test.
func owners(budget *policyv1.PodDisruptionBudget) string {
	if len(budget.OwnerReferences) == 0 {
		return "no owner"
	}
	var all []string
	for _, o := range budget.OwnerReferences {
		all = append(all, fmt.Sprintf("%s %s (%s)", o.Kind, o.Name, o.UID))
	}
	return "owner " + strings.Join(all, ", ")
}

// noEvent is the rule of each step that changes nothing.
const noEvent = "An Event reports a change of the controller: without a change there is none."

// step is one call of Reconcile for default/web. A nil object is not in the cache.
type step struct {
	deployment *appsv1.Deployment
	budget     *policyv1.PodDisruptionBudget
	server     *budgetServer
	events     eventLog
}

// run makes the step, and checks what holds for every step: the caches are as before. Afterwards the test's rule is the
// given one.
func (s *step) run(t *guard.T, rule string) error {
	t.Helper()
	deployments, budgets := cacheOf(&appsv1.Deployment{}), cacheOf(&policyv1.PodDisruptionBudget{})
	if s.deployment != nil {
		require.NoError(t, deployments.GetStore().Add(s.deployment), "the error of Add")
		t.Did("in the cache: a Deployment with %d replicas, annotations %v",
			*s.deployment.Spec.Replicas, s.deployment.Annotations)
	}
	if s.budget != nil {
		require.NoError(t, budgets.GetStore().Add(s.budget), "the error of Add")
		t.Did("in the cache: a budget with minAvailable %v, labels %v, %s",
			s.budget.Spec.MinAvailable, s.budget.Labels, owners(s.budget))
	}
	if s.server == nil {
		s.server = newBudgetServer()
		if s.budget != nil {
			s.server = newBudgetServer(s.budget)
		}
	}
	deploymentBefore, budgetBefore := s.deployment.DeepCopy(), s.budget.DeepCopy()

	c, err := controller.New(klog.Background(), controller.Config{
		Deployments: deployments, Budgets: budgets, Client: s.server.client, Recorder: &s.events, Workers: 1,
	})
	require.NoError(t, err, "the error of New")
	t.Did("Reconcile default/web")
	err = c.Reconcile(t.Context(), cache.NewObjectName("default", "web"))

	t.Rule("Cached objects are shared with every other reader and must never be changed: copy first.")
	require.Equal(t, inWords(t, deploymentBefore), inWords(t, s.deployment), "the Deployment in the cache")
	require.Equal(t, inWords(t, budgetBefore), inWords(t, s.budget), "the budget in the cache")
	t.Rule("%s", rule)
	return err
}

func TestTask6_One_step(t *testing.T) {
	drifted := func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0)) }
	going := func(b *policyv1.PodDisruptionBudget) { b.DeletionTimestamp = ptr.To(metav1.Now()) }
	otherOwner := ownedByOther("StatefulSet", "db", "db-uid")
	var (
		create, created  = []string{"create default/web"}, []string{"default/web Normal BudgetCreated"}
		update, repaired = []string{"update default/web"}, []string{"default/web Normal BudgetRepaired"}
		remove, removed  = []string{"delete default/web"}, []string{"default/web Normal BudgetRemoved"}
		conflict         = []string{"default/web Warning BudgetConflict"}
	)
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		budget     *policyv1.PodDisruptionBudget
		calls      []string
		events     []string
		rule       string
	}{
		"creates what is missing": {web(), nil, create, created,
			"A Deployment that wants a budget and has none gets one."},
		"leaves alone what is right": {web(), webBudget(), nil, nil,
			"A budget that is right is not written: each write is an event that comes back here."},
		"repairs an edit": {web(), webBudget(drifted), update, repaired,
			"A budget of ours that is wrong is repaired: here its spec was edited."},
		"follows a scale-up": {web(replicas(6)), webBudget(), update, repaired,
			"A budget of ours that is wrong is repaired: minAvailable is one less than the replicas."},
		"repairs a cut owner": {web(), webBudget(noOwner), update, repaired,
			"A budget with our label is ours, and is repaired if its owner reference was cut."},
		"repairs a cut label": {web(), webBudget(noLabel), update, repaired,
			"A budget that the Deployment controls is ours, and is repaired if its label was cut."},
		"removes after a scale-down": {web(replicas(1)), webBudget(), remove, removed,
			"A budget of ours is removed if none is wanted: with one replica it would block every drain."},
		"removes after an opt-out": {web(annotated("disabled")), webBudget(), remove, removed,
			"A budget of ours is removed if none is wanted: the annotation opts out."},
		"removes even what drifted": {web(replicas(1)), webBudget(drifted, noOwner), remove, removed,
			"A budget of ours is removed if none is wanted: its label says that it is ours, even if it was edited."},
		"wants none and has none": {web(replicas(1)), nil, nil, nil,
			"A Deployment of one replica wants no budget, so there is nothing to do."},
		"opted out and has none": {web(annotated("disabled")), nil, nil, nil,
			"A Deployment that opts out wants no budget, so there is nothing to do."},
		"no Deployment, no budget": {nil, nil, nil, nil,
			"The key of a deleted Deployment is not an error."},
		"no Deployment, a budget": {nil, webBudget(), nil, nil,
			"The budget of a deleted Deployment is left to the garbage collector, or was orphaned on purpose."},
		"Deployment going, none": {web(beingDeleted), nil, nil, nil,
			"A Deployment that is being deleted gets no budget: that would hold up a foreground deletion."},
		"Deployment going, drifted": {web(beingDeleted), webBudget(drifted), nil, nil,
			"The budget of a Deployment that is being deleted is left to the garbage collector."},
		"Deployment going, orphaning": {web(beingDeleted), webBudget(noOwner), nil, nil,
			"The garbage collector cuts the owner reference when asked to orphan: a repair would undo that."},
		"budget going": {web(), webBudget(going, drifted), nil, nil,
			"A budget that is being deleted is left alone: an update cannot bring it back, and its end brings the key back."},
		"budget going, none wanted": {web(replicas(1)), webBudget(going), nil, nil,
			"A budget that is being deleted is left alone: it needs no second deletion."},
		"foreign in the way": {web(), webBudget(noOwner, noLabel, drifted), nil, conflict,
			"A budget that is not ours is never touched, and an Event tells the Deployment's owner that it is in the way."},
		"foreign, controlled": {web(), webBudget(otherOwner), nil, conflict,
			"A budget that another object controls is never touched, even with our label on it."},
		"foreign, none wanted": {web(replicas(1)), webBudget(noOwner, noLabel), nil, nil,
			"A budget that is not ours is never touched: none is wanted, so it is not in the way."},
		"foreign, opted out": {web(annotated("disabled")), webBudget(noOwner, noLabel), nil, nil,
			"A budget that is not ours is never touched: a Deployment that opts out may have one."},
		"previous Deployment's budget": {web(), webBudget(ownedByOther("Deployment", "web", "old-uid")), nil, nil,
			"A budget of an earlier Deployment is left to the garbage collector; its end brings the key back."},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, test.rule, func(t *guard.T) {
				s := step{deployment: test.deployment, budget: test.budget}
				require.NoError(t, s.run(t, test.rule), "the error of Reconcile")
				require.Equal(t, test.calls, s.server.callLog(), "writes to the server")
				require.Equal(t, test.events, s.events.list(), "Events")
				switch {
				case test.events == nil, test.events[0] == conflict[0]:
					require.Equal(t, inWords(t, test.budget), inWords(t, s.server.get()), "the budget on the server")
				case test.events[0] == removed[0]:
					require.Nil(t, s.server.get(), "the budget on the server")
				default:
					changes := controller.Conform(s.server.get(), test.deployment)
					require.Empty(t, changes, "changes that the budget on the server still needs")
				}
			})
		})
	}
}

func TestTask6_Namespaces_are_worlds_of_their_own(t *testing.T) {
	guard.Test(t, "A budget of the same name in another namespace is another budget.", func(t *guard.T) {
		deployments, budgets := cacheOf(&appsv1.Deployment{}), cacheOf(&policyv1.PodDisruptionBudget{})
		for _, namespace := range []string{"default", "other"} {
			err := deployments.GetStore().Add(web(func(d *appsv1.Deployment) { d.Namespace = namespace }))
			require.NoError(t, err, "the error of Add")
		}
		require.NoError(t, budgets.GetStore().Add(webBudget()), "the error of Add")
		server := newBudgetServer(webBudget())
		c, err := controller.New(klog.Background(), controller.Config{
			Deployments: deployments, Budgets: budgets, Client: server.client, Recorder: &eventLog{}, Workers: 1,
		})
		require.NoError(t, err, "the error of New")
		t.Did("in the cache: the Deployments default/web and other/web, and a budget default/web")
		t.Did("Reconcile other/web, and default/web")
		other, own := cache.NewObjectName("other", "web"), cache.NewObjectName("default", "web")
		require.NoError(t, c.Reconcile(t.Context(), other), "the error of Reconcile other/web")
		require.NoError(t, c.Reconcile(t.Context(), own), "the error of Reconcile default/web")
		require.Equal(t, []string{"create other/web"}, server.callLog(), "writes to the server")
	})
}

func TestTask6_Events_say_what_was_done(t *testing.T) {
	const rule = "An Event says what the controller has done, and why."
	inTheWay := func(whose string) string {
		return "PodDisruptionBudget web is not this Deployment's (" + whose + ") and is left as it is; " +
			`delete or rename it, or set the annotation client-go-workshop/pdb to "disabled"`
	}
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		budget     *policyv1.PodDisruptionBudget
		want       string
	}{
		"created": {web(), nil, "Created PodDisruptionBudget web with minAvailable 2"},
		"repaired": {web(replicas(4)), webBudget(noLabel), "Repaired PodDisruptionBudget web: " +
			"set minAvailable to 3, label app.kubernetes.io/managed-by to pdb-controller"},
		"shrunk": {web(replicas(1)), webBudget(), "Removed PodDisruptionBudget web: spec.replicas is 1"},
		"opted": {web(annotated("disabled")), webBudget(),
			`Removed PodDisruptionBudget web: the annotation client-go-workshop/pdb is "disabled"`},
		"foreign": {web(), webBudget(ownedByOther("StatefulSet", "db", "db-uid")), inTheWay("StatefulSet db controls it")},
		"by hand": {web(), webBudget(noOwner, noLabel), inTheWay("nothing controls it")},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, rule, func(t *guard.T) {
				s := step{deployment: test.deployment, budget: test.budget}
				require.NoError(t, s.run(t, rule), "the error of Reconcile")
				require.Equal(t, []string{test.want}, s.events.messages, "the messages of the Events")
			})
		})
	}
}

// In each of these the cache is one version behind the server.
func TestTask6_Cache_that_is_behind_does_no_harm(t *testing.T) {
	newer := webBudget(func(b *policyv1.PodDisruptionBudget) {
		b.ResourceVersion = "8"
		b.Spec.MinAvailable = ptr.To(intstr.FromInt32(9))
	})
	recreated := webBudget(func(b *policyv1.PodDisruptionBudget) { b.UID = "its-successor" })
	for name, test := range map[string]struct {
		deployment     *appsv1.Deployment
		cached, stored *policyv1.PodDisruptionBudget
		refused        metav1.StatusReason
		rule           string
	}{
		"create meets one that exists": {web(), nil, newer, metav1.StatusReasonAlreadyExists,
			"A budget that the cache has not seen may not be ours: it stays as it is."},
		"update meets a newer version": {web(), webBudget(noLabel), newer, metav1.StatusReasonConflict,
			"An update carries the resourceVersion it was decided on, so a newer version is not overwritten."},
		"delete meets a newer version": {web(replicas(1)), webBudget(), newer, metav1.StatusReasonConflict,
			"A deletion takes preconditions, this UID and this version, so a newer version is not deleted."},
		"delete meets a successor": {web(replicas(1)), webBudget(), recreated, metav1.StatusReasonConflict,
			"A deletion takes preconditions, this UID and this version, so a successor is not deleted."},
		"update meets nothing": {web(), webBudget(noLabel), nil, metav1.StatusReasonNotFound,
			"A budget that is gone is created when the cache knows that, and not before."},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, test.rule, func(t *guard.T) {
				s := step{deployment: test.deployment, budget: test.cached, server: newBudgetServer()}
				if test.stored != nil {
					s.server = newBudgetServer(test.stored)
				}
				err := s.run(t, test.rule)
				t.Rule("Reconcile returns the server's refusal, wrapped (%%w), so that the key is tried again. %s", test.rule)
				require.Error(t, err, "the error of Reconcile")
				require.Equal(t, test.refused, apierrors.ReasonForError(err), "the reason of Reconcile's error (%v)", err)
				t.Rule("%s", test.rule)
				require.Equal(t, inWords(t, test.stored), inWords(t, s.server.get()), "the budget on the server")
				t.Rule(noEvent)
				require.Empty(t, s.events.list(), "Events")
				t.Rule("A step makes one attempt: a second one would decide on the same stale cache.")
				require.Len(t, s.server.callLog(), 1, "writes to the server")
			})
		})
	}

	t.Run("delete meets nothing", func(t *testing.T) {
		const rule = "A budget that is gone already needs no deletion: an error would only make the key come back."
		guard.Test(t, rule, func(t *guard.T) {
			s := step{deployment: web(replicas(1)), budget: webBudget(), server: newBudgetServer()}
			require.NoError(t, s.run(t, rule), "the error of Reconcile")
			t.Rule(noEvent)
			require.Empty(t, s.events.list(), "Events")
		})
	})
}

func TestTask6_Failures_are_returned(t *testing.T) {
	const rule = "Reconcile returns an error that wraps the failure, so that the worker can tell a conflict from the rest."
	down := errors.New("connection refused")
	for name, test := range map[string]*step{
		"create": {deployment: web()},
		"update": {deployment: web(replicas(4)), budget: webBudget()},
		"delete": {deployment: web(replicas(1)), budget: webBudget()},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, rule, func(t *guard.T) {
				s := test
				s.server = newBudgetServer()
				s.server.before = func(context.Context, string) error { return down }
				err := s.run(t, rule)
				require.ErrorIs(t, err, down, "the error of Reconcile")
				t.Rule("An error says what was attempted, on what, and what happened.")
				require.ErrorContains(t, err, "default/web", "the error of Reconcile")
				t.Rule(noEvent)
				require.Empty(t, s.events.list(), "Events")
			})
		})
	}
}

func TestTask6_Forbidden_for_another_reason_is_an_error(t *testing.T) {
	const rule = "A 403 is an error, unless the namespace is going away: a missing role may be there in a minute."
	guard.Test(t, rule, func(t *guard.T) {
		forbidden := apierrors.NewForbidden(budgetResource, "web", errors.New("no role allows it"))
		s := step{deployment: web(), server: newBudgetServer()}
		s.server.before = func(context.Context, string) error { return forbidden }
		require.ErrorIs(t, s.run(t, rule), forbidden, "the error of Reconcile")
		t.Rule(noEvent)
		require.Empty(t, s.events.list(), "Events")
	})
}

func TestTask6_Namespace_on_its_way_out_is_left_alone(t *testing.T) {
	const rule = "Nothing can be created in a namespace that is going away: to try again is noise."
	guard.Test(t, rule, func(t *guard.T) {
		s := step{deployment: web(), server: newBudgetServer()}
		s.server.before = func(context.Context, string) error {
			err := apierrors.NewForbidden(budgetResource, "web", errors.New("the namespace is being terminated"))
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return err
		}
		require.NoError(t, s.run(t, rule), "the error of Reconcile")
		t.Rule(noEvent)
		require.Empty(t, s.events.list(), "Events")
	})
}
