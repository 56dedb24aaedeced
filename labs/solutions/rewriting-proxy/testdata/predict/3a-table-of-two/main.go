// kubectl get asks for a Table of a Deployment whose image is called registry/1.
//
// Question: Which cells does the client see in the columns Name, Ready and Images?
//
// Wrong: any-cell-with-a-slash
//
// Story: A Table is made for people, and a proxy that rewrites text by its look changes what it does not mean. The
// definitions of the columns come with the Table, in a watch with its first Table only.
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
	api.Create(deployment("web", "registry/1", nil))
	r, err := http.NewRequest("GET", through(api)+"/apis/apps/v1/deployments", nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	var table metav1.Table
	if err := json.NewDecoder(resp.Body).Decode(&table); err != nil {
		panic(err)
	}
	cells := table.Rows[0].Cells
	fmt.Println(cells[0], cells[1], cells[6])
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
