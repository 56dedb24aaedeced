// A client watches a resource that does not change.
//
// Question: What does the client see within three seconds?
//
// Wrong: head-comes-with-the-first-event
//
// Story: http.Client returns when it has the head of the answer. If the proxy sends it with the first event,
// client-go's Watch blocks until something changes. On a busy cluster nobody notices; on a quiet one controllers do not
// start ([kubectl #628](https://github.com/kubernetes/kubectl/issues/628)).
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

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
	api.Create(deployment("web", "nginx", nil))
	address := through(api) + "/apis/apps/v1/deployments?watch=1&resourceVersion=" + api.ResourceVersion()
	head := make(chan int, 1)
	go func() {
		resp, err := http.Get(address)
		if err != nil {
			panic(err)
		}
		head <- resp.StatusCode
	}()
	select {
	case code := <-head:
		fmt.Println("the head of the answer, with code", code)
	case <-time.After(3 * time.Second):
		fmt.Println("nothing")
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
