package controllerruntime

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/realapi"
)

// Without -kubeconfig, the API server is the fake one, on a socket.
func TestReal_manager_keeps_budgets(t *testing.T) {
	config, _ := realapi.Server(t, fakeapi.Start)
	direct, err := client.New(config, client.Options{}) // it has no cache
	require.NoError(t, err)
	deployment := realapi.Deployment("controller-runtime", "controller-runtime", 3)
	deployment.Namespace = "default"
	require.NoError(t, direct.Create(t.Context(), deployment))
	t.Cleanup(func() {
		err := direct.Delete(context.Background(), deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))
		require.NoError(t, err)
	})
	scale := func(replicas int32) {
		before := client.MergeFrom(deployment.DeepCopy())
		deployment.Spec.Replicas = &replicas
		require.NoError(t, direct.Patch(t.Context(), deployment, before))
	}
	key := client.ObjectKeyFromObject(deployment)
	// want waits for the budget with a number, -1 for none, and returns it.
	want := func(minAvailable int, why string) *policyv1.PodDisruptionBudget {
		t.Helper()
		var budget policyv1.PodDisruptionBudget
		require.Eventually(t, func() bool {
			budget = policyv1.PodDisruptionBudget{}
			err := direct.Get(t.Context(), key, &budget)
			if apierrors.IsNotFound(err) {
				return minAvailable == -1
			}
			return err == nil && budget.Spec.MinAvailable.IntValue() == minAvailable
		}, time.Minute, 20*time.Millisecond, why)
		return &budget
	}

	made := &constructed{}
	ended := start(t, config, made)
	budget := want(2, "the first list")
	first := budget.UID
	edited := budget.DeepCopy()
	edited.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
	require.NoError(t, direct.Patch(t.Context(), edited, client.MergeFrom(budget)))
	budget = want(2, "an edit is repaired: Owns maps the budget to its Deployment")
	require.Equal(t, first, budget.UID)
	require.NoError(t, direct.Delete(t.Context(), budget))
	require.Eventually(t, func() bool { return want(2, "a deleted budget comes back").UID != first }, time.Minute,
		20*time.Millisecond)
	scale(5)
	want(4, "the Deployment is scaled")
	scale(1)
	want(-1, "a Deployment with one replica needs no budget")
	require.ElementsMatch(t, []string{"Deployment", "PodDisruptionBudget"}, made.kinds, "informers on our layers")
	require.NoError(t, ended())
}
