//go:build e2e

// Evictions on a real API server, which is what a budget is for: `kubectl drain` evicts Pods.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// evictPod evicts one Pod of a Deployment, and returns the server's answer.
func (c *cluster) evictPod(ctx context.Context, name string) error {
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return err
	}
	if len(pods.Items) == 0 {
		return errors.New("there is no Pod to evict")
	}
	return c.client.CoreV1().Pods(namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pods.Items[0].Name},
	})
}

// requireEviction requires that a Pod can be evicted. The server refuses until the disruption controller has counted.
func (c *cluster) requireEviction(t *testing.T, name string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error { return c.evictPod(ctx, name) })
}

// createForeignBudget creates a budget that another program could have created for a Deployment's Pods.
func (c *cluster) createForeignBudget(t *testing.T, name, deployment string) {
	t.Helper()
	_, err := c.budgets().Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": deployment}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err, "creating budget %s", name)
}

// awaitWarning waits for a Warning Event of a Deployment.
func (c *cluster) awaitWarning(t *testing.T, deployment, reason string) *corev1.Event {
	t.Helper()
	var found *corev1.Event
	eventually(t, func(ctx context.Context) error {
		list, err := c.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.kind=Deployment,involvedObject.name=" + deployment + ",reason=" + reason,
		})
		if err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Type == corev1.EventTypeWarning {
				found = &event
				return nil
			}
		}
		return fmt.Errorf("Deployment %s has no Warning %s", deployment, reason)
	})
	return found
}
