//go:build e2e

// Making and changing objects, and waiting for what should become of them.
// Everything that waits asks again until a deadline; nothing just sleeps.

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/utils/ptr"
)

const (
	namespace        = "default"
	optOutAnnotation = "client-go-workshop/pdb"
)

// within is how long a test waits for anything: an informer that could not list
// waits for up to a minute, and other tests may keep all processors busy.
const within = 3 * time.Minute

// eventually asks until the answer is nil and fails the test with the last
// answer when it is not within that time.
func eventually(t *testing.T, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	latest := errors.New("there was no answer at all")
	for {
		answer := ask(ctx)
		if answer == nil {
			return
		}
		if ctx.Err() == nil {
			latest = answer
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("still so after %s: %v", within, latest)
		}
	}
}

func (c *cluster) budgets() policyclient.PodDisruptionBudgetInterface {
	return c.client.PolicyV1().PodDisruptionBudgets(namespace)
}

func (c *cluster) createDeployment(t *testing.T, name string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := c.client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err, "creating Deployment %s", name)
}

func (c *cluster) deleteDeployment(t *testing.T, name string) {
	t.Helper()
	err := c.client.AppsV1().Deployments(namespace).Delete(t.Context(), name,
		metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
	require.NoError(t, err, "deleting Deployment %s", name)
}

func (c *cluster) scale(t *testing.T, name string, replicas int32) {
	t.Helper()
	c.patchDeployment(t, name, map[string]any{"spec": map[string]any{"replicas": replicas}})
}

// annotate sets an annotation, or removes it if value is empty.
func (c *cluster) annotate(t *testing.T, name, key, value string) {
	t.Helper()
	annotations := map[string]any{key: value}
	if value == "" {
		annotations[key] = nil
	}
	c.patchDeployment(t, name, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

func (c *cluster) patchDeployment(t *testing.T, name string, patch map[string]any) {
	t.Helper()
	content, err := json.Marshal(patch)
	require.NoError(t, err)
	_, err = c.client.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.MergePatchType, content,
		metav1.PatchOptions{})
	require.NoError(t, err, "patching Deployment %s", name)
}

func (c *cluster) awaitReady(t *testing.T, name string, replicas int32) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		deployment, err := c.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && deployment.Status.ReadyReplicas != replicas {
			err = fmt.Errorf("Deployment %s has %d of %d replicas Ready", name, deployment.Status.ReadyReplicas, replicas)
		}
		return err
	})
}

func (c *cluster) budget(t *testing.T, name string) *policyv1.PodDisruptionBudget {
	t.Helper()
	budget, err := c.budgets().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err, "reading budget %s", name)
	return budget
}

func (c *cluster) deleteBudget(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, c.budgets().Delete(t.Context(), name, metav1.DeleteOptions{}), "deleting budget %s", name)
}

func (c *cluster) editMinAvailable(t *testing.T, name string, value int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"minAvailable":%d}}`, value)
	_, err := c.budgets().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err, "editing budget %s", name)
}

func (c *cluster) awaitBudget(t *testing.T, name string, minAvailable int) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		budget, err := c.budgets().Get(ctx, name, metav1.GetOptions{})
		if err == nil && (budget.Spec.MinAvailable == nil || budget.Spec.MinAvailable.IntValue() != minAvailable) {
			err = fmt.Errorf("budget %s has minAvailable %v, want %d", name, budget.Spec.MinAvailable, minAvailable)
		}
		return err
	})
}

// awaitNewBudget waits for a budget that is not the one with the old UID.
func (c *cluster) awaitNewBudget(t *testing.T, name string, old types.UID) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		budget, err := c.budgets().Get(ctx, name, metav1.GetOptions{})
		if err == nil && budget.UID == old {
			err = fmt.Errorf("budget %s is still the old one", name)
		}
		return err
	})
}

func (c *cluster) awaitNoBudget(t *testing.T, name string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		_, err := c.budgets().Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("budget %s is still there", name)
	})
}

// awaitDisruptionsAllowed waits for the status that the real disruption
// controller computes: it does so only for a budget whose selector is right.
func (c *cluster) awaitDisruptionsAllowed(t *testing.T, name string, want int32) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		budget, err := c.budgets().Get(ctx, name, metav1.GetOptions{})
		if err == nil && budget.Status.DisruptionsAllowed != want {
			err = fmt.Errorf("budget %s allows %d disruptions, want %d", name, budget.Status.DisruptionsAllowed, want)
		}
		return err
	})
}

// requireOwned checks what garbage collection and repair rest on.
func (c *cluster) requireOwned(t *testing.T, name string) {
	t.Helper()
	deployment, err := c.client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	budget := c.budget(t, name)
	owner := metav1.GetControllerOf(budget)
	require.NotNil(t, owner, "the budget must have an owner reference with controller: true")
	require.Equal(t, "Deployment", owner.Kind)
	require.Equal(t, deployment.UID, owner.UID, "the owner must be this very Deployment, not just one of its name")
	require.Equal(t, deployment.Spec.Selector, budget.Spec.Selector, "the budget must protect the Deployment's pods")
}

// requireLeaseReleased checks that a successor would not have to wait.
func (c *cluster) requireLeaseReleased(t *testing.T, namespace string) {
	t.Helper()
	require.Empty(t, c.leaseHolder(t, namespace), "a clean stop gives the lease back")
}

func (c *cluster) leaseHolder(t *testing.T, namespace string) string {
	t.Helper()
	leases, err := c.client.CoordinationV1().Leases(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, leases.Items, 1, "the controller elects its leader with one Lease")
	return ptr.Deref(leases.Items[0].Spec.HolderIdentity, "")
}
