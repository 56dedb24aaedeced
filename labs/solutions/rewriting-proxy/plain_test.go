package rewritingproxy_test

// This file sends the same requests through a plain httputil.ReverseProxy and through the solution. Each case names the
// reason why a ReverseProxy alone is not enough.

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/realapi"
	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

const all = "/apis/apps/v1/namespaces/default/deployments"

func TestPlain_ReverseProxy_is_not_enough(t *testing.T) {
	for _, c := range []struct {
		reason, method, path, header, body string
		// wrong is true for what the plain proxy does.
		wrong func(api *fakeapi.Server, answer *httptest.ResponseRecorder) bool
	}{
		{"it shows the stored number", "GET", all + "/web", "", "",
			func(_ *fakeapi.Server, a *httptest.ResponseRecorder) bool { return shows(a, `"replicas":2,`) }},
		{"it shows the stored number in a list", "GET", all, "", "",
			func(_ *fakeapi.Server, a *httptest.ResponseRecorder) bool { return shows(a, `"replicas":2,`) }},
		{"it shows the stored number in an event", "GET", all + "?watch=1&timeoutSeconds=1", "", "",
			func(_ *fakeapi.Server, a *httptest.ResponseRecorder) bool { return shows(a, `"replicas":2,`) }},
		{"it shows the stored number in a Table", "GET", all, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io", "",
			func(_ *fakeapi.Server, a *httptest.ResponseRecorder) bool { return shows(a, `"0/2"`) }},
		{"it passes protobuf", "GET", all, "Accept: application/vnd.kubernetes.protobuf", "",
			func(_ *fakeapi.Server, a *httptest.ResponseRecorder) bool { return a.Code == http.StatusOK }},
		{"it shows a hidden object in a list", "GET", all, "", "",
			func(_ *fakeapi.Server, a *httptest.ResponseRecorder) bool { return shows(a, `"name":"night"`) }},
		{"it shows a hidden object by its name", "GET", all + "/night", "", "",
			func(_ *fakeapi.Server, a *httptest.ResponseRecorder) bool { return a.Code == http.StatusOK }},
		{"it stores what the client sends", "PATCH", all + "/web", "Content-Type: application/merge-patch+json",
			`{"spec":{"replicas":6}}`,
			func(api *fakeapi.Server, _ *httptest.ResponseRecorder) bool { return stored(api, "web") == 6 }},
		{"it lets clients write hidden objects", "PATCH", all + "/night", "Content-Type: application/merge-patch+json",
			`{"spec":{"replicas":6}}`,
			func(api *fakeapi.Server, _ *httptest.ResponseRecorder) bool { return stored(api, "night") != 2 }},
		{"it deletes hidden objects with a collection", "DELETE", all, "", "",
			func(api *fakeapi.Server, _ *httptest.ResponseRecorder) bool {
				return len(api.Objects("deployments")) == 0
			}},
		{"it passes the client's identity", "GET", all, "Impersonate-User: admin", "",
			func(api *fakeapi.Server, _ *httptest.ResponseRecorder) bool {
				return api.Requests("list")[0].Header.Get("Impersonate-User") != ""
			}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			for name, newProxy := range map[string]func(*url.URL, http.RoundTripper) http.Handler{"plain": plain,
				"solution": solution} {
				api := fakeapi.Start(t)
				dark := realapi.Deployment("night", "plain", 2)
				dark.Labels[hiddenLabel] = "yes"
				for _, d := range []*appsv1.Deployment{realapi.Deployment("web", "plain", 2), dark} {
					d.Namespace = "default"
					api.Create(d)
				}
				client := api.Client()
				r := httptest.NewRequest(c.method, c.path, io.NopCloser(strings.NewReader(c.body)))
				r.ContentLength = int64(len(c.body))
				if header, value, ok := strings.Cut(c.header, ": "); ok {
					r.Header.Set(header, value)
				}
				answer := httptest.NewRecorder()
				newProxy(&url.URL{Scheme: "http", Host: "in-memory"}, client.Transport).ServeHTTP(answer, r)
				require.Equal(t, name == "plain", c.wrong(api, answer), "%s: %d %s", name, answer.Code, answer.Body)
				client.CloseIdleConnections()
			}
		})
	}
}

func shows(a *httptest.ResponseRecorder, text string) bool {
	return strings.Contains(a.Body.String(), text)
}

func stored(api *fakeapi.Server, name string) int32 {
	for _, obj := range api.Objects("deployments") {
		if obj.GetName() == name {
			return *obj.(*appsv1.Deployment).Spec.Replicas
		}
	}
	return -1
}

func plain(upstream *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }, Transport: transport,
	}
}

func solution(upstream *url.URL, transport http.RoundTripper) http.Handler {
	p, err := rewritingproxy.New(rewritingproxy.Config{
		Upstream: upstream, Transport: transport, NewFrameReader: watchstream.NewFrameReader,
		View: rewritingproxy.View{Factor: 3, HiddenLabel: hiddenLabel},
	})
	if err != nil {
		panic(err)
	}
	return p
}
