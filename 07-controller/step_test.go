package controller_test

// This file has one step of the controller: a call of Reconcile, on caches that the test fills, and a server that may
// be ahead of them. Beside default/web, which the step is about, there are a Deployment of the same name in another
// namespace and another Deployment in the same one, each with its budget. No step may touch them.

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
)

// step is one call of Reconcile for default/web. A nil object is not in the cache.
type step struct {
	deployment *appsv1.Deployment
	budget     *policyv1.PodDisruptionBudget
	// more are other budgets, in the cache and on the server.
	more []*policyv1.PodDisruptionBudget
	// server has the cached budgets unless the test gives it others.
	server *budgetServer
	events eventLog
	// ctx is the context of Reconcile, t.Context() by default.
	ctx context.Context
}

// neighbours are two Deployments that default/web has nothing to do with.
func neighbours() []*appsv1.Deployment {
	return []*appsv1.Deployment{web(inNamespace("other"), replicas(7)), web(called("api"))}
}

// run makes the controller, calls Reconcile, and checks what no step may change. Afterwards the test's rule is the
// given one.
func (s *step) run(t *guard.T, rule string) error {
	t.Helper()
	deployments, budgets := cacheOf(&appsv1.Deployment{}), cacheOf(&policyv1.PodDisruptionBudget{})
	add := func(informer cache.SharedIndexInformer, obj any) {
		require.NoError(t, informer.GetStore().Add(obj), "the error of Add")
	}
	if s.deployment != nil {
		add(deployments, s.deployment)
		t.Did("in the cache: a Deployment with %d replicas, annotations %v%s",
			*s.deployment.Spec.Replicas, s.deployment.Annotations, going(s.deployment))
	}
	cached := s.more
	if s.budget != nil {
		cached = append([]*policyv1.PodDisruptionBudget{s.budget}, s.more...)
	}
	for _, b := range cached {
		add(budgets, b)
		t.Did("in the cache: a budget %s with minAvailable %v, labels %v, %s%s",
			b.Name, b.Spec.MinAvailable, b.Labels, owners(b), going(b))
	}
	if s.server == nil {
		s.server = newBudgetServer(cached...)
	}
	for _, d := range neighbours() {
		add(deployments, d)
		add(budgets, budgetOf(d))
		s.server.put(budgetOf(d))
	}
	deploymentsBefore, budgetsBefore := snapshot(deployments), snapshot(budgets)
	elsewhere := s.server.others()

	c, err := controller.New(klog.Background(), controller.Config{
		Deployments: deployments, Budgets: budgets, Client: s.server.client, Recorder: &s.events, Workers: 1,
	})
	require.NoError(t, err, "the error of New")
	t.Did("Reconcile default/web")
	if s.ctx == nil {
		s.ctx = t.Context()
	}
	err = c.Reconcile(s.ctx, cache.NewObjectName("default", "web"))

	t.Rule("Reconcile never changes a cached object: it is shared with every other reader, so copy it first.")
	requireSame(t, deploymentsBefore, snapshot(deployments), "the Deployment in the cache")
	requireSame(t, budgetsBefore, snapshot(budgets), "the budget in the cache")
	t.Rule("Reconcile corrects the budget of one Deployment with at most one write: it leaves all others alone.")
	requireSame(t, elsewhere, s.server.others(), "another budget on the server")
	require.LessOrEqual(t, len(s.server.callLog()), 1, "writes to the server")
	t.Rule("%s", rule)
	return err
}

// cacheOf returns an informer that never runs: the test fills its store.
func cacheOf(example runtime.Object) cache.SharedIndexInformer {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, byNamespace)
}

// snapshot returns copies of the objects in an informer's store, by key.
func snapshot(informer cache.SharedIndexInformer) map[string]runtime.Object {
	all := map[string]runtime.Object{}
	for _, key := range informer.GetStore().ListKeys() {
		obj, _, _ := informer.GetStore().GetByKey(key)
		all[key] = obj.(runtime.Object).DeepCopyObject()
	}
	return all
}

// others returns copies of all budgets on the server but default/web, by key.
func (s *budgetServer) others() map[string]runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]runtime.Object{}
	for key, budget := range s.budgets {
		if key.String() != "default/web" {
			all[key.String()] = budget.DeepCopy()
		}
	}
	return all
}

// requireSame requires that objects have not changed.
func requireSame(t *guard.T, before, now map[string]runtime.Object, what string) {
	t.Helper()
	keys := maps.Clone(before)
	maps.Copy(keys, now)
	for _, key := range sortedKeys(keys) {
		if !equality.Semantic.DeepEqual(before[key], now[key]) {
			require.Equal(t, inWords(t, before[key]), inWords(t, now[key]), "%s", what)
		}
	}
}

// inWords returns an object as kubectl shows it.
func inWords(t *guard.T, obj any) string {
	text, err := yaml.Marshal(obj)
	require.NoError(t, err, "the error of yaml.Marshal")
	return string(text)
}

// going says, for the steps of a failing test, that an object is being deleted.
func going(object metav1.Object) string {
	if object.GetDeletionTimestamp() == nil {
		return ""
	}
	return ", being deleted"
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
