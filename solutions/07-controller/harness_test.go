package controller

// This file makes the objects of the tests beside it, which are about what chapter 07 gives: what a right budget is.

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// web returns a Deployment default/web. The edits make it the one a test is about.
func web(edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid", ResourceVersion: "1"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
		},
	}
	for _, edit := range edits {
		edit(deployment)
	}
	return deployment
}

func replicas(n int32) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = &n }
}

func annotated(value string) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) {
		deployment.Annotations = map[string]string{"client-go-workshop/pdb": value}
	}
}

// webBudget returns the right budget for web(), as the server would hand it out. The
// edits spoil it.
func webBudget(edits ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	budget := NewBudget(web())
	budget.UID, budget.ResourceVersion = "budget-uid", "7"
	for _, edit := range edits {
		edit(budget)
	}
	return budget
}

func noOwner(budget *policyv1.PodDisruptionBudget) { budget.OwnerReferences = nil }
func noLabel(budget *policyv1.PodDisruptionBudget) { budget.Labels = nil }

func ownedByOther(kind, name string, uid types.UID) func(*policyv1.PodDisruptionBudget) {
	return func(budget *policyv1.PodDisruptionBudget) {
		budget.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: ptr.To(true),
		}}
	}
}
