// budget_test.go tests the pure functions: what is wanted, what differs, whose it is.

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestWantsBudget(t *testing.T) {
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		want       bool
	}{
		"nil replicas mean one":               {web(func(d *appsv1.Deployment) { d.Spec.Replicas = nil }), false},
		"none":                                {web(replicas(0)), false},
		"one":                                 {web(replicas(1)), false},
		"two":                                 {web(replicas(2)), true},
		"opted out":                           {web(annotated("disabled")), false},
		"another value is not an opt-out":     {web(annotated("enabled")), true},
		"an empty annotation is no opt-out":   {web(annotated("")), true},
		"the annotation cannot ask for a few": {web(replicas(1), annotated("enabled")), false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, wantsBudget(test.deployment),
				"a budget is for 2 or more desired replicas (nil is 1), unless the annotation says %q", OptOutValue)
		})
	}
}

func TestNewBudget(t *testing.T) {
	deployment := web(replicas(5))
	budget := NewBudget(deployment)

	require.Equal(t, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default",
			Name:      "web",
			Labels:    map[string]string{"app.kubernetes.io/managed-by": "pdb-controller"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web-uid",
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(4)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, budget)

	budget.Spec.Selector.MatchLabels["app"] = "changed"
	require.Equal(t, "web", deployment.Spec.Selector.MatchLabels["app"],
		"the new budget must not share its selector's map with the Deployment, which belongs to the cache")
}

func TestConformRepairs(t *testing.T) {
	expressions := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web"},
	}}}
	const (
		minAvailable = "minAvailable to 2"
		selector     = "selector to app=web"
		owner        = "owner to Deployment web"
		label        = "label app.kubernetes.io/managed-by to pdb-controller"
	)
	for name, test := range map[string]struct {
		spoil   func(*policyv1.PodDisruptionBudget)
		changes []string
	}{
		"minAvailable edited":       {func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(1)) }, []string{minAvailable}},
		"minAvailable a percentage": {func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromString("2%")) }, []string{minAvailable}},
		"maxUnavailable instead": {func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, ptr.To(intstr.FromInt32(2))
		}, []string{minAvailable, "maxUnavailable to none"}},
		"selector edited": {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = "db" },
			[]string{selector}},
		"selector cleared to nothing": {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil }, []string{selector}},
		"selector cleared to all": {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} },
			[]string{selector}},
		"selector by expressions": {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = expressions.DeepCopy() },
			[]string{selector}},
		"owner cut": {noOwner, []string{owner}},
		"owner no longer controlling": {func(b *policyv1.PodDisruptionBudget) { b.OwnerReferences[0].Controller = nil },
			[]string{owner}},
		"owner no longer blocking": {func(b *policyv1.PodDisruptionBudget) { b.OwnerReferences[0].BlockOwnerDeletion = ptr.To(false) }, []string{owner}},
		"label cut":                {noLabel, []string{label}},
		"label edited": {func(b *policyv1.PodDisruptionBudget) { b.Labels[ManagedByLabel] = "me" },
			[]string{label}},
	} {
		t.Run(name, func(t *testing.T) {
			budget := webBudget(test.spoil)
			require.Equal(t, test.changes, Conform(budget, web()), "what was set is what the Event will say")
			require.Equal(t, webBudget(), budget, "after the repair the budget must be the one that would have been created")
			require.Empty(t, Conform(budget, web()), "a repaired budget must need no further repair, or the repairs never end")
		})
	}
}

func TestConformLeavesTheRestAlone(t *testing.T) {
	evict := policyv1.AlwaysAllow
	budget := webBudget(func(b *policyv1.PodDisruptionBudget) {
		b.Labels["team"] = "shop"
		b.Annotations = map[string]string{"note": "keep"}
		b.Finalizers = []string{"example.com/wait"}
		b.Spec.UnhealthyPodEvictionPolicy = &evict
		b.Status.CurrentHealthy = 3
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x-uid"}
		b.OwnerReferences = append(b.OwnerReferences, other)
	})
	before := budget.DeepCopy()
	require.Empty(t, Conform(budget, web()), "what the controller never set is no drift: repairing it would fight with "+
		"its owner")
	require.Equal(t, before, budget)

	budget.OwnerReferences = budget.OwnerReferences[1:]
	require.Len(t, Conform(budget, web()), 1)
	require.Len(t, budget.OwnerReferences, 2, "an owner that somebody else added must survive the repair of ours")
	require.Equal(t, "x", budget.OwnerReferences[0].Name)
}

func TestClaimOn(t *testing.T) {
	for name, test := range map[string]struct {
		budget *policyv1.PodDisruptionBudget
		want   claim
	}{
		"as created":          {webBudget(), ours},
		"label cut":           {webBudget(noLabel), ours},
		"owner cut":           {webBudget(noOwner), ours},
		"owner and label cut": {webBudget(noOwner, noLabel), foreign},
		"made by hand": {webBudget(noOwner,
			func(b *policyv1.PodDisruptionBudget) { b.Labels = map[string]string{"app": "web"} }), foreign},
		"controlled by something else":           {webBudget(ownedByOther("StatefulSet", "web", "s-uid")), foreign},
		"controlled by another Deployment":       {webBudget(ownedByOther("Deployment", "api", "api-uid")), foreign},
		"controlled by our predecessor":          {webBudget(ownedByOther("Deployment", "web", "old-uid")), leftover},
		"controlled by another kind of our name": {webBudget(ownedByOther("DaemonSet", "web", "old-uid")), foreign},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, claimOn(test.budget, web()),
				"ours (%d) is controlled by this very Deployment, by UID, or by nobody and labelled; leftover (%d) is an "+
					"earlier one's; all else is foreign (%d)",
				ours, leftover, foreign)
		})
	}
}
