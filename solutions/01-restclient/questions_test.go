package restclient_test

// This file checks answers of docs/learn/questions.md that are about requests. The answers are the server's, so
// they are the same with every client.

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
)

// ask runs a test in a bubble, with a server that has the Deployment web.
func ask(t *testing.T, test func(t *testing.T, api *fakeapi.Server, client restclient.DeploymentInterface)) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.Start(t)
		labels := map[string]string{"app": "web"}
		api.Create(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Finalizers: []string{"example.com/wait"}},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](1),
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
				},
			},
		})
		config := api.Config()
		config.QPS = -1
		client, err := restclient.AppsV1For(config)
		require.NoError(t, err)
		test(t, api, restclient.NewDeployments(client, "default"))
	})
}

func TestQuestion_Update_does_not_write_the_status(t *testing.T) {
	ask(t, func(t *testing.T, _ *fakeapi.Server, client restclient.DeploymentInterface) {
		web, err := client.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		web.Spec.Replicas, web.Status.Replicas = ptr.To[int32](3), 3
		updated, err := client.Update(t.Context(), web, metav1.UpdateOptions{})
		require.NoError(t, err, "the server reports no error")
		require.EqualValues(t, 3, *updated.Spec.Replicas)
		require.Zero(t, updated.Status.Replicas, "and drops the status")

		updated.Spec.Replicas, updated.Status.Replicas = ptr.To[int32](5), 3
		updated, err = client.UpdateStatus(t.Context(), updated, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 3, *updated.Spec.Replicas, "the other way round, it drops the spec")
		require.EqualValues(t, 3, updated.Status.Replicas)
	})
}

func TestQuestion_Most_fields_cannot_be_selected(t *testing.T) {
	ask(t, func(t *testing.T, _ *fakeapi.Server, client restclient.DeploymentInterface) {
		list, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=web"})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		_, err = client.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.replicas=1"})
		require.ErrorContains(t, err, `"spec.replicas" is not a known field selector`)
		require.EqualValues(t, http.StatusBadRequest, apierrors.APIStatus(err.(*apierrors.StatusError)).Status().Code)
	})
}

func TestQuestion_The_generation_grows_with_the_spec_and_with_a_deletion(t *testing.T) {
	ask(t, func(t *testing.T, api *fakeapi.Server, client restclient.DeploymentInterface) {
		web, err := client.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 1, web.Generation)
		web.Labels = map[string]string{"note": "new"}
		web, err = client.Update(t.Context(), web, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 1, web.Generation, "not with a label, a finalizer or the status")
		web.Annotations = map[string]string{"note": "new"}
		web, err = client.Update(t.Context(), web, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 2, web.Generation, "with an annotation only of a Deployment")
		require.NoError(t, client.Delete(t.Context(), "web", metav1.DeleteOptions{}))
		web, err = client.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.NotNil(t, web.DeletionTimestamp)
		require.EqualValues(t, 3, web.Generation)

		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings",
			Finalizers: []string{"example.com/wait"}}}
		api.Create(settings)
		settings.Data = map[string]string{"new": "data"}
		api.Update(settings)
		api.Delete(settings)
		stored := api.Objects("configmaps")[0]
		require.NotNil(t, stored.GetDeletionTimestamp())
		require.Zero(t, stored.GetGeneration(), "a kind without a generation never has one")
	})
}
