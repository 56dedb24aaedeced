package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Promise: "Into stores the result into obj, if possible." (rest/request.go:1448)
//
// Defect: if the answer decodes into another kind than obj's, Into drops it, leaves obj as it was, and returns nil
// (rest/request.go:1470: only a Status is looked at).
//
// Impact: a proxy or an aggregated server that answers with another kind makes a typed Get return an empty object
// without an error: a name of "", zero replicas.
//
// Upstream: https://github.com/kubernetes/kubernetes/issues/51917 (closed as stale; a maintainer saw a bug).
//
// Repair: return an error for any other object than obj and a successful Status.
func TestInto_returns_nil_for_an_answer_of_another_kind(t *testing.T) {
	config := &rest.Config{Host: "http://server", APIPath: "/api", ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()}}
	client, err := rest.RESTClientForConfigAndClient(config, &http.Client{Transport: roundTripper(
		func(*http.Request) (*http.Response, error) {
			body := `{"kind":"Service","apiVersion":"v1","metadata":{"name":"web"}}`
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body))}, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	got := &corev1.Pod{}
	err = client.Get().Namespace("default").Resource("pods").Name("web").Do(t.Context()).Into(got)
	present(t, err == nil && got.Name == "", "Into returned: "+errorText(err))
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
