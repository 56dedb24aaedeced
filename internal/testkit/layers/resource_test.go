package layers_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
)

func TestResource_reads_and_writes_in_each_set(t *testing.T) {
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			api := fakeapi.Start(t)
			config := api.Config()
			config.QPS = -1
			client, err := set.NewClient(config)
			require.NoError(t, err)
			scheme := runtime.NewScheme()
			require.NoError(t, appsv1.AddToScheme(scheme))
			metav1.AddToGroupVersion(scheme, metav1.Unversioned)
			deployments, err := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments"), scheme)
			require.NoError(t, err)
			writer := layers.WriterOf(deployments, "default", func() *appsv1.Deployment { return &appsv1.Deployment{} })

			d, err := writer.Create(t.Context(), deployment(), metav1.CreateOptions{})
			require.NoError(t, err)
			require.NotEmpty(t, d.UID)
			d.Spec.Replicas, d.Status.ReadyReplicas = new(int32), 7
			d, err = writer.Update(t.Context(), d, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.Equal(t, int32(0), d.Status.ReadyReplicas, "Update does not write the status")
			d.Status.ReadyReplicas, *d.Spec.Replicas = 1, 5
			d, err = writer.UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.Equal(t, int32(1), d.Status.ReadyReplicas)
			require.Equal(t, int32(0), *d.Spec.Replicas, "UpdateStatus does not write the spec")
			d, err = writer.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
				metav1.PatchOptions{})
			require.NoError(t, err)
			require.Equal(t, "b", d.Labels["a"])

			list, err := cache.ToListerWatcherWithContext(deployments.ListerWatcher("")).ListWithContext(
				context.Background(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, list.(*appsv1.DeploymentList).Items, 1)
			require.NoError(t, writer.Delete(t.Context(), "web", metav1.DeleteOptions{}))
			err = writer.Delete(t.Context(), "web", metav1.DeleteOptions{})
			require.True(t, apierrors.IsNotFound(err), "%v", err)
		})
	}
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx:1.29"}}
	return d
}
