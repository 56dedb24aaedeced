// A client watches for two seconds. web gets the label that hides it, is changed, and loses the label.
//
// Question: Which events does the client receive?
//
// Wrong: hidden-events-are-dropped
//
// Story: An event that is dropped is not a deletion. The client keeps the last state that it saw, and a controller
// works with it: it scales, repairs and counts an object that it should not know. The next list removes the object from
// the cache, and hides the mistake.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	api.Create(deployment("web", "nginx:1", nil))
	resp, err := http.Get(through(api) + "/apis/apps/v1/deployments?watch=1&timeoutSeconds=2")
	if err != nil {
		panic(err)
	}
	api.Update(deployment("web", "nginx:1", map[string]string{"dark": "yes"}))
	api.Update(deployment("web", "nginx:2", map[string]string{"dark": "yes"}))
	api.Update(deployment("web", "nginx:2", nil))
	events := json.NewDecoder(resp.Body)
	for {
		var event metav1.WatchEvent
		if err := events.Decode(&event); err != nil {
			fmt.Println("the watch ends with", err)
			return
		}
		fmt.Println(event.Type)
	}
}

// through returns the URL of a proxy in front of an API server.
func through(api *fakeapi.Server) string {
	proxy, err := rewritingproxy.New(rewritingproxy.Config{
		Upstream: &url.URL{Scheme: "http", Host: "in-memory"}, Transport: api.Client().Transport,
		NewFrameReader: watchstream.NewFrameReader, View: rewritingproxy.View{Factor: 3, HiddenLabel: "dark"},
	})
	if err != nil {
		panic(err)
	}
	return httptest.NewServer(proxy).URL
}

// deployment returns a Deployment with two replicas.
func deployment(name, image string, labels map[string]string) *appsv1.Deployment {
	pods := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: pods},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pods},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
			},
		},
	}
}
