// A client asks for a hidden Deployment: in a list, by its name, and as kubectl does, by its name as a Table.
//
// Question: Which code does each answer have, and does it mention the image, nginx?
//
// Wrong: hidden-rows
//
// Story: A list has a selector, so the hidden Deployment is not in it. A GET has none, so the proxy has to look at the
// object. In a Table, the object is in a row. curl finds nothing, and kubectl get deployment NAME prints it.
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

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
	api.Create(deployment("night", "nginx", map[string]string{"dark": "yes"}))
	all := through(api) + "/apis/apps/v1/namespaces/default/deployments"
	get(all, "application/json")
	get(all+"/night", "application/json")
	get(all+"/night", "application/json;as=Table;v=v1;g=meta.k8s.io")
}

func get(address, accept string) {
	r, err := http.NewRequest("GET", address, nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, strings.Contains(string(body), "nginx"), err)
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
