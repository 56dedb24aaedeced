package controller_test

// Task 6: one step of the controller, on caches filled by hand, and a server that may know more than they do.

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

// cacheOf returns an informer that never runs; its store is filled by hand.
func cacheOf(example runtime.Object) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// inWords is an object as kubectl shows it.
func inWords(t *guard.T, obj any) string {
	text, err := yaml.Marshal(obj)
	require.NoError(t, err)
	return string(text)
}

// owners names a budget's owners, for the story of a failing test.
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

// step is one call of Reconcile for default/web. A nil object is not in the cache.
type step struct {
	deployment *appsv1.Deployment
	budget     *policyv1.PodDisruptionBudget
	server     *budgetServer
	events     eventLog
}

// run makes the step, and checks what holds for every step: the caches are as before.
func (s *step) run(t *guard.T) error {
	t.Helper()
	deployments, budgets := cacheOf(&appsv1.Deployment{}), cacheOf(&policyv1.PodDisruptionBudget{})
	if s.deployment != nil {
		require.NoError(t, deployments.GetStore().Add(s.deployment))
		t.Did("in the cache: a Deployment with %d replicas, annotations %v", *s.deployment.Spec.Replicas, s.deployment.Annotations)
	}
	if s.budget != nil {
		require.NoError(t, budgets.GetStore().Add(s.budget))
		t.Did("in the cache: a budget with minAvailable %v, labels %v, %s", s.budget.Spec.MinAvailable, s.budget.Labels, owners(s.budget))
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
	require.NoError(t, err)
	t.Did("Reconcile default/web")
	err = c.Reconcile(t.Context(), cache.NewObjectName("default", "web"))

	const rule = "cached objects are shared with every other reader and must never be changed: copy first"
	require.Equal(t, inWords(t, deploymentBefore), inWords(t, s.deployment), rule)
	require.Equal(t, inWords(t, budgetBefore), inWords(t, s.budget), rule)
	return err
}

func TestTask6_One_step(t *testing.T) {
	drifted := func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0)) }
	going := func(b *policyv1.PodDisruptionBudget) { b.DeletionTimestamp = ptr.To(metav1.Now()) }
	var (
		created  = []string{"default/web Normal BudgetCreated"}
		repaired = []string{"default/web Normal BudgetRepaired"}
		removed  = []string{"default/web Normal BudgetRemoved"}
		conflict = []string{"default/web Warning BudgetConflict"}
	)
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		budget     *policyv1.PodDisruptionBudget
		calls      []string
		events     []string
		rule       string
	}{
		"creates what is missing":      {web(), nil, []string{"create default/web"}, created, "a Deployment with 3 replicas needs a budget"},
		"leaves alone what is right":   {web(), webBudget(), nil, nil, "nothing differs, so nothing may be written: each write makes an event that comes back here"},
		"repairs an edit":              {web(), webBudget(drifted), []string{"update default/web"}, repaired, "somebody edited the spec"},
		"follows a scale-up":           {web(replicas(6)), webBudget(), []string{"update default/web"}, repaired, "minAvailable is replicas-1"},
		"repairs a cut owner":          {web(), webBudget(noOwner), []string{"update default/web"}, repaired, "our label says that it is ours"},
		"repairs a cut label":          {web(), webBudget(noLabel), []string{"update default/web"}, repaired, "the owner reference says that it is ours"},
		"removes after a scale-down":   {web(replicas(1)), webBudget(), []string{"delete default/web"}, removed, "with one replica left the old budget would block every drain"},
		"removes after an opt-out":     {web(annotated("disabled")), webBudget(), []string{"delete default/web"}, removed, "the annotation opts out"},
		"removes even what drifted":    {web(replicas(1)), webBudget(drifted, noOwner), []string{"delete default/web"}, removed, "it is ours by its label"},
		"wants none and has none":      {web(replicas(1)), nil, nil, nil, "nothing to do"},
		"opted out and has none":       {web(annotated("disabled")), nil, nil, nil, "nothing to do"},
		"no Deployment, no budget":     {nil, nil, nil, nil, "the key of a deleted Deployment is no error"},
		"no Deployment, a budget":      {nil, webBudget(), nil, nil, "the garbage collector takes it by its owner reference, or it was orphaned on purpose"},
		"Deployment going, none":       {web(beingDeleted), nil, nil, nil, "a budget made now would hold up a foreground deletion"},
		"Deployment going, drifted":    {web(beingDeleted), webBudget(drifted), nil, nil, "it is left to the garbage collector"},
		"Deployment going, orphaning":  {web(beingDeleted), webBudget(noOwner), nil, nil, "the garbage collector cuts the owner when asked to orphan: taking it back would undo that"},
		"budget going":                 {web(), webBudget(going, drifted), nil, nil, "wait for it to be gone; an update cannot bring it back"},
		"budget going, none wanted":    {web(replicas(1)), webBudget(going), nil, nil, "it is being deleted already"},
		"foreign in the way":           {web(), webBudget(noOwner, noLabel, drifted), nil, conflict, "a budget of somebody else must never be touched, and the Deployment's owner should know"},
		"foreign, controlled":          {web(), webBudget(ownedByOther("StatefulSet", "db", "db-uid")), nil, conflict, "likewise, even with our label on it"},
		"foreign, none wanted":         {web(replicas(1)), webBudget(noOwner, noLabel), nil, nil, "it is nobody's in the way if no budget is wanted"},
		"foreign, opted out":           {web(annotated("disabled")), webBudget(noOwner, noLabel), nil, nil, "opting out is how to keep one's own budget in peace"},
		"previous Deployment's budget": {web(), webBudget(ownedByOther("Deployment", "web", "old-uid")), nil, nil, "the garbage collector is about to take it, then we make our own"},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "", func(t *guard.T) {
				s := step{deployment: test.deployment, budget: test.budget}
				t.Rule("%s", test.rule)
				require.NoError(t, s.run(t))
				t.Rule("wrong writes. %s", test.rule)
				require.Equal(t, test.calls, s.server.callLog())
				t.Rule("wrong Events. %s", test.rule)
				require.Equal(t, test.events, s.events.list())
				switch {
				case test.events == nil, test.events[0] == conflict[0]:
					t.Rule("the budget on the server must be as before. %s", test.rule)
					require.Equal(t, inWords(t, test.budget), inWords(t, s.server.get()))
				case test.events[0] == removed[0]:
					t.Rule("%s", test.rule)
					require.Nil(t, s.server.get())
				default:
					t.Rule("the budget on the server must be right now. %s", test.rule)
					require.Empty(t, controller.Conform(s.server.get(), test.deployment))
				}
			})
		})
	}
}

func TestTask6_Namespaces_are_worlds_of_their_own(t *testing.T) {
	guard.Test(t, "nothing stands in the way", func(t *guard.T) {
		deployments, budgets := cacheOf(&appsv1.Deployment{}), cacheOf(&policyv1.PodDisruptionBudget{})
		for _, namespace := range []string{"default", "other"} {
			require.NoError(t, deployments.GetStore().Add(web(func(d *appsv1.Deployment) { d.Namespace = namespace })))
		}
		require.NoError(t, budgets.GetStore().Add(webBudget()))
		server := newBudgetServer(webBudget())
		c, err := controller.New(klog.Background(), controller.Config{Deployments: deployments, Budgets: budgets, Client: server.client, Recorder: &eventLog{}, Workers: 1})
		require.NoError(t, err)
		t.Did("in the cache: the Deployments default/web and other/web, and a budget default/web")
		t.Did("Reconcile other/web, and default/web")
		require.NoError(t, c.Reconcile(t.Context(), cache.NewObjectName("other", "web")))
		t.Rule("all is right there")
		require.NoError(t, c.Reconcile(t.Context(), cache.NewObjectName("default", "web")))
		t.Rule("a budget of the same name in another namespace is another budget")
		require.Equal(t, []string{"create other/web"}, server.callLog())
	})
}

func TestTask6_Events_say_what_was_done(t *testing.T) {
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		budget     *policyv1.PodDisruptionBudget
		want       string
	}{
		"created":  {web(), nil, "Created PodDisruptionBudget web with minAvailable 2"},
		"repaired": {web(replicas(4)), webBudget(noLabel), "Repaired PodDisruptionBudget web: set minAvailable to 3, label app.kubernetes.io/managed-by to pdb-controller"},
		"shrunk":   {web(replicas(1)), webBudget(), "Removed PodDisruptionBudget web: spec.replicas is 1"},
		"opted":    {web(annotated("disabled")), webBudget(), `Removed PodDisruptionBudget web: the annotation client-go-workshop/pdb is "disabled"`},
		"foreign": {web(), webBudget(ownedByOther("StatefulSet", "db", "db-uid")),
			`PodDisruptionBudget web is not this Deployment's (StatefulSet db controls it) and is left as it is; delete or rename it, or set the annotation client-go-workshop/pdb to "disabled"`},
		"by hand": {web(), webBudget(noOwner, noLabel),
			`PodDisruptionBudget web is not this Deployment's (nothing controls it) and is left as it is; delete or rename it, or set the annotation client-go-workshop/pdb to "disabled"`},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "nothing stands in the way", func(t *guard.T) {
				s := step{deployment: test.deployment, budget: test.budget}
				require.NoError(t, s.run(t))
				t.Rule("who reads Events learns what was done, and why")
				require.Equal(t, []string{test.want}, s.events.messages)
			})
		})
	}
}

// The cache is one version behind the server in each of these.
func TestTask6_Cache_that_is_behind_does_no_harm(t *testing.T) {
	newer := webBudget(func(b *policyv1.PodDisruptionBudget) {
		b.ResourceVersion = "8"
		b.Spec.MinAvailable = ptr.To(intstr.FromInt32(9))
	})
	recreated := webBudget(func(b *policyv1.PodDisruptionBudget) { b.UID = "its-successor" })
	for name, test := range map[string]struct {
		deployment     *appsv1.Deployment
		cached, stored *policyv1.PodDisruptionBudget
		refused        func(error) bool
		rule           string
	}{
		"create meets one that exists": {web(), nil, newer, apierrors.IsAlreadyExists, "the budget may be foreign: look at it before anything else"},
		"update meets a newer version": {web(), webBudget(noLabel), newer, apierrors.IsConflict, "an update carries the resourceVersion it was decided on"},
		"delete meets a newer version": {web(replicas(1)), webBudget(), newer, apierrors.IsConflict, "a delete carries the resourceVersion as a precondition"},
		"delete meets a successor":     {web(replicas(1)), webBudget(), recreated, apierrors.IsConflict, "a delete carries the UID as a precondition"},
		"update meets nothing":         {web(), webBudget(noLabel), nil, apierrors.IsNotFound, "it must be created again once the cache knows"},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "no Event for what did not happen", func(t *guard.T) {
				s := step{deployment: test.deployment, budget: test.cached, server: newBudgetServer()}
				if test.stored != nil {
					s.server = newBudgetServer(test.stored)
				}
				err := s.run(t)
				t.Rule("got error %v: what the server said must be returned, wrapped (%%w), so that the key is tried "+
					"again and a conflict is known as one. %s", err, test.rule)
				require.True(t, test.refused(err))
				t.Rule("what the cache has not seen must not be overwritten. %s", test.rule)
				require.Equal(t, inWords(t, test.stored), inWords(t, s.server.get()))
				t.Rule("no Event for what did not happen")
				require.Empty(t, s.events.list())
				t.Rule("no second attempt on the same stale state")
				require.Len(t, s.server.callLog(), 1)
			})
		})
	}

	t.Run("delete meets nothing", func(t *testing.T) {
		guard.Test(t, "gone is what was wanted: no error, or it would be tried again for nothing", func(t *guard.T) {
			s := step{deployment: web(replicas(1)), budget: webBudget(), server: newBudgetServer()}
			require.NoError(t, s.run(t))
			t.Rule("somebody else removed it: no Event of ours")
			require.Empty(t, s.events.list())
		})
	})
}

func TestTask6_Failures_are_returned(t *testing.T) {
	down := errors.New("connection refused")
	for name, test := range map[string]*step{
		"create": {deployment: web()},
		"update": {deployment: web(replicas(4)), budget: webBudget()},
		"delete": {deployment: web(replicas(1)), budget: webBudget()},
	} {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "the worker needs the error to try again and to tell a conflict from the rest", func(t *guard.T) {
				s := test
				s.server = newBudgetServer()
				s.server.before = func(context.Context, string) error { return down }
				err := s.run(t)
				require.ErrorIs(t, err, down)
				t.Rule("an error says what was attempted, on what, and what happened")
				require.ErrorContains(t, err, "default/web")
				t.Rule("no Event for what did not happen")
				require.Empty(t, s.events.list())
			})
		})
	}
}

func TestTask6_Forbidden_for_another_reason_is_an_error(t *testing.T) {
	guard.Test(t, "a role that is missing, or a quota that is used up, may be mended in a minute; who takes every "+
		"403 for the end of the namespace never tries again", func(t *guard.T) {
		forbidden := apierrors.NewForbidden(budgetResource, "web", errors.New("no role allows it"))
		s := step{deployment: web(), server: newBudgetServer()}
		s.server.before = func(context.Context, string) error { return forbidden }
		require.ErrorIs(t, s.run(t), forbidden)
		t.Rule("nothing was done")
		require.Empty(t, s.events.list())
	})
}

func TestTask6_Namespace_on_its_way_out_is_left_alone(t *testing.T) {
	guard.Test(t, "nothing can be created in a namespace that is going away: trying again is noise", func(t *guard.T) {
		s := step{deployment: web(), server: newBudgetServer()}
		s.server.before = func(context.Context, string) error {
			err := apierrors.NewForbidden(budgetResource, "web", errors.New("the namespace is being terminated"))
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return err
		}
		require.NoError(t, s.run(t))
		t.Rule("nothing was done")
		require.Empty(t, s.events.list())
	})
}
