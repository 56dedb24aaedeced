// A client reads a Deployment with two replicas, and writes it back as it has read it.
//
// Question: How many replicas does the client read, and how many are stored at the end?
//
// Wrong: lie-is-stored
//
// Story: Controllers write objects back all day: they add an annotation, or a finalizer, and send the whole object.
// Each of these writes triples the replicas. Three writes later the cluster has no room left.
package main

import (
	"fmt"
	"io"
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
	api.Create(deployment("web", "nginx", nil))
	address := through(api) + "/apis/apps/v1/namespaces/default/deployments/web"
	for range 2 {
		resp, err := http.Get(address)
		if err != nil {
			panic(err)
		}
		write, err := http.NewRequest("PUT", address, resp.Body)
		if err != nil {
			panic(err)
		}
		resp, err = http.DefaultClient.Do(write)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, resp.Body)
		stored := api.Objects("deployments")[0].(*appsv1.Deployment)
		fmt.Println("written with code", resp.StatusCode, "and stored:", *stored.Spec.Replicas)
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
