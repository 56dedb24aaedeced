// A ListWatch selects the label tier=front, and the label of a Deployment changes.
//
// Question: Which events does the watch send?
//
// Wrong: modify-is-for-lists
//
// Story: If an object loses the label of a watch, the server sends DELETED. A watch without the selector receives
// MODIFIED instead, so the object stays in the cache, and objects that never matched join it. The next list repairs the
// cache, and hides the mistake until the next change.
package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/fakeapi"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	lw := watchstream.NewFilteredListWatchFromClient(client(api), "deployments", "default",
		func(options *metav1.ListOptions) { options.LabelSelector = "tier=front" })
	w := must(lw.WatchWithContext(context.Background(), metav1.ListOptions{ResourceVersion: api.ResourceVersion()}))
	defer w.Stop()
	api.Create(deployment("web", "front"))
	api.Update(deployment("web", "back"))
	api.Create(deployment("last", "front"))
	for e := range w.ResultChan() {
		d := e.Object.(*appsv1.Deployment)
		fmt.Println(e.Type, d.Name)
		if d.Name == "last" {
			return
		}
	}
}

func deployment(name, tier string) *appsv1.Deployment {
	labels := map[string]string{"tier": tier}
	app := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}

func client(api *fakeapi.Server) *rest.RESTClient {
	config := api.Config()
	config.APIPath, config.GroupVersion = "/apis", &appsv1.SchemeGroupVersion
	config.NegotiatedSerializer = watchstream.Codecs
	return must(rest.RESTClientFor(config))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
