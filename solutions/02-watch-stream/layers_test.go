package watchstream_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

// This file runs chapter 02 on the clients of chapter 01 and of client-go. One constructor accepts both.
func TestListWatch_on_the_client_of_chapter_01(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		synctest.Test(t, func(t *testing.T) {
			api := fakeapi.Start(t)
			config := api.Config()
			config.ContentType = contentType
			ours, err := restclient.AppsV1For(config)
			require.NoError(t, err)
			ours.NewWatcher = watchstream.NewWatcherFor(restclient.Codecs.WithoutConversion(), appsv1.SchemeGroupVersion)
			config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/apis", &appsv1.SchemeGroupVersion, restclient.Codecs.WithoutConversion()
			theirs, err := rest.RESTClientFor(config)
			require.NoError(t, err)
			for _, lw := range []*watchstream.ListWatch{
				watchstream.NewListWatchFromClient(ours, "deployments", "default", fields.Everything()),
				watchstream.NewListWatchFromClient(theirs, "deployments", "default", fields.Everything()),
			} {
				listAndWatch(t, api, lw)
			}
		})
	}
}

func listAndWatch(t *testing.T, api *fakeapi.Server, lw *watchstream.ListWatch) {
	obj, err := lw.ListWithContext(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	list := obj.(*appsv1.DeploymentList)
	require.Empty(t, list.Items)
	w, err := lw.WatchWithContext(context.Background(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
		},
	}}
	api.Create(d)
	api.Delete(d)
	require.Equal(t, "web", (<-w.ResultChan()).Object.(*appsv1.Deployment).Name)
	require.EqualValues(t, "DELETED", (<-w.ResultChan()).Type)
	w.Stop()
	synctest.Wait()
	require.Zero(t, api.Watches())
}
