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

// page answers with a page of HTML, as a proxy or a login does, and notes whether its body is closed.
type page struct {
	io.Reader
	closed bool
}

func (p *page) Close() error { p.closed = true; return nil }

func (p *page) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"text/html"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: p, Request: r}, nil
}

// Promise: "If the returned error is nil, the Response will contain a non-nil Body which the user is expected to close"
// (net/http, Client.Do, which Watch calls).
//
// Defect: if no decoder for streams knows the content type of the answer, newStreamWatcher returns the error and leaves
// the body open (rest/request.go:841).
//
// Impact: behind a proxy that answers with its own page, each watch leaves a connection open until its context ends.
//
// Upstream: https://github.com/kubernetes/kubernetes/issues/140464, with a repair in pull request 140467.
//
// Repair: close the body before that return, without reading it, because a stream may not end.
func TestWatch_leaves_the_body_of_an_unknown_content_type_open(t *testing.T) {
	p := &page{Reader: strings.NewReader("<html>please log in</html>")}
	client, err := rest.RESTClientFor(&rest.Config{Host: "http://api", APIPath: "/api", Transport: p,
		ContentConfig: rest.ContentConfig{GroupVersion: &corev1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion()}})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	_, err = client.Get().Resource("pods").Param("watch", "1").Watch(quiet(t))
	present(t, err != nil && !p.closed, "the body was closed")
}
