// Package factory puts your informer in the place of client-go's own, into a real informers.SharedInformerFactory. It
// is a package of its own because the factory imports all types of Kubernetes, which take a minute to compile.
package factory

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers/solutions"
)

func TestFactory_takes_it_for_its_own(t *testing.T) {
	guard.Test(t, "The factory takes the informer for its own: it starts it, waits for it, and reads it through the "+
		"generated lister.", func(t *guard.T) {
		api := fakeapi.Start(t)
		for _, name := range []string{"a", "b"} {
			labels := map[string]string{"app": name}
			api.Create(&appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
				Spec: appsv1.DeploymentSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: labels},
						Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
					},
				},
			})
		}
		config := api.Config()
		config.QPS = -1
		client, err := kubernetes.NewForConfigAndClient(config, api.Client())
		require.NoError(t, err, "the error of NewForConfigAndClient")
		ours, err := solutions.Layers.NewClient(config)
		require.NoError(t, err, "the error of NewClient")

		factory := informers.NewSharedInformerFactory(client, 10*time.Minute)
		made := 0
		byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		newInformer := func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			made++
			return controller.NewSharedIndexInformerOn(solutions.Layers, ours.Deployments(""), &appsv1.Deployment{},
				cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: byNamespace})
		}
		t.Did("SharedInformerFactory.InformerFor, with an informer that is not client-go's")
		informer := factory.InformerFor(&appsv1.Deployment{}, newInformer)
		var lock sync.Mutex
		heard := map[string]bool{}
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			lock.Lock()
			defer lock.Unlock()
			heard[obj.(*appsv1.Deployment).Name] = true
		}})
		require.NoError(t, err, "the error of AddEventHandler")

		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		t.Did("the factory is started")
		factory.StartWithContext(ctx)
		synced := factory.WaitForCacheSyncWithContext(ctx)
		require.NoError(t, synced.AsError(), "the error of WaitForCacheSyncWithContext")

		// Generated code reaches the informer by the accessor of the group and version, and by the lister.
		deployments, err := factory.Apps().V1().Deployments().Lister().Deployments("default").List(labels.Everything())
		require.NoError(t, err, "the error of the generated lister")
		require.Len(t, deployments, 2, "Deployments that the generated lister returns")
		t.Rule("The factory keeps one informer for each type: its accessor does not make another one.")
		require.Equal(t, 1, made, "informers made")
		synctest.Wait()
		lock.Lock()
		t.Rule("Each handler receives every change.")
		require.Equal(t, map[string]bool{"a": true, "b": true}, heard, "Deployments that the handler received")
		lock.Unlock()
		cancel()
		factory.Shutdown()
	})
}
