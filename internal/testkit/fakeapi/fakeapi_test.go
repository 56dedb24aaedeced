package fakeapi_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
)

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

// client returns client-go's own client for Deployments.
func client(t *testing.T, api *fakeapi.Server, contentType string) *rest.RESTClient {
	scheme := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, appsv1.SchemeGroupVersion)
	config := api.Config()
	config.ContentType = contentType
	config.APIPath, config.GroupVersion = "/apis", &appsv1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	require.NoError(t, err)
	return c
}

func init() { utilruntime.ErrorHandlers = nil }

func TestAn_informer_of_client_go_follows(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.Start(t)
				api.Create(deployment("a", 1), deployment("b", 2))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				lw := cache.NewListWatchFromClient(client(t, api, contentType), "deployments", "", fields.Everything())
				informer := cache.NewSharedIndexInformer(lw, &appsv1.Deployment{}, 0, cache.Indexers{})
				go informer.RunWithContext(ctx)
				require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
				require.Equal(t, []string{"default/a", "default/b"}, keysOf(informer))

				api.Delete(deployment("a", 1))
				synctest.Wait()
				require.Equal(t, []string{"default/b"}, keysOf(informer))

				api.Down()
				api.Create(deployment("c", 1))
				api.Compact()
				time.Sleep(time.Hour)
				require.Equal(t, []string{"default/b"}, keysOf(informer))
				api.Up()
				time.Sleep(2 * time.Minute)
				require.Equal(t, []string{"default/b", "default/c"}, keysOf(informer))
				open, _ := api.Connections()
				require.Equal(t, 1, open, "connections")
			})
		})
	}
}

func keysOf(informer cache.SharedIndexInformer) []string {
	keys := informer.GetStore().ListKeys()
	if len(keys) == 2 && keys[0] > keys[1] {
		keys[0], keys[1] = keys[1], keys[0]
	}
	return keys
}
