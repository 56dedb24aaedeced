package rewritingproxy_test

// The same watch through your proxy, through the solution, and through a proxy that changes nothing, in one run:
//
//	go test ./labs/rewriting-proxy -run '^$' -bench . -count 10 > bench.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -col /impl bench.txt
//
// All three speak HTTP/2 and TLS on both sides, over sockets. Code that you have not written yet is skipped.

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"client-go-workshop/internal/testkit/todo"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
	solution "client-go-workshop/labs/solutions/rewriting-proxy"
)

// proxies are compared under the name "impl", which benchstat can make its columns.
var proxies = []struct {
	name  string
	proxy func(upstream *url.URL, transport http.RoundTripper) (http.Handler, error)
}{
	{"yours", func(upstream *url.URL, transport http.RoundTripper) (http.Handler, error) {
		return rewritingproxy.New(rewritingproxy.Config{
			Upstream: upstream, Transport: transport, NewFrameReader: below.NewFrameReader, View: view,
		})
	}},
	{"solution", func(upstream *url.URL, transport http.RoundTripper) (http.Handler, error) {
		return solution.New(solution.Config{Upstream: upstream, Transport: transport,
			NewFrameReader: below.NewFrameReader, View: solution.View(view)})
	}},
	{"passing", func(upstream *url.URL, transport http.RoundTripper) (http.Handler, error) {
		return &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }, Transport: transport,
		}, nil
	}},
}

// eventOfKubectl is an event of 2.6 kB about a Deployment that kubectl has applied.
func eventOfKubectl(i int) string {
	d := deployment("web-"+strconv.Itoa(i), 2)
	d.UID, d.ResourceVersion, d.Generation = "0c6c4f3a-8a1c-4b52-8b7a-3b4b0d7a6f5e", strconv.Itoa(1000+i), 7
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1",
		"kubectl.kubernetes.io/last-applied-configuration": inJSON(deployment("web", 6))}
	object := strings.TrimSpace(inJSON(d))
	const managed = `"managedFields":[{"manager":"kubectl","operation":"Apply","apiVersion":"apps/v1",` +
		`"fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},` +
		`"f:spec":{` +
		`"f:progressDeadlineSeconds":{},"f:replicas":{},"f:revisionHistoryLimit":{},"f:selector":{},"f:strategy":{` +
		`"f:rollingUpdate":{".":{},"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},"f:template":{"f:metadata":{` +
		`"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},` +
		`"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:terminationMessagePath":{},` +
		`"f:terminationMessagePolicy":{}}},` +
		`"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},` +
		`"f:terminationGracePeriodSeconds":{}}}}}}],`
	object = strings.Replace(object, `"annotations":`, managed+`"annotations":`, 1)
	return `{"type":"MODIFIED","object":` + object + "}\n"
}

// BenchmarkWatch is a watch of 20,000 events. A piece is the number of events that the API server sends at once.
func BenchmarkWatch(b *testing.B) {
	const events = 20_000
	for _, piece := range []int{1, 50} {
		var text bytes.Buffer
		for i := range piece {
			text.WriteString(eventOfKubectl(i))
		}
		upstream := secure(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range events / piece {
				w.Write(text.Bytes())
				http.NewResponseController(w).Flush()
			}
		}))
		for _, p := range proxies {
			b.Run("events="+strconv.Itoa(piece)+"/impl="+p.name, func(b *testing.B) {
				to, _ := url.Parse(upstream.URL)
				var reached any
				proxy, err := p.proxy(to, upstream.Client().Transport)
				if err != nil {
					b.Fatal(err)
				}
				server := secure(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer func() {
						if v := recover(); v != nil {
							reached = v
						}
					}()
					proxy.ServeHTTP(w, r)
				}))
				b.SetBytes(int64(events / piece * text.Len()))
				for b.Loop() {
					resp, err := server.Client().Get(server.URL + collection + "?watch=1")
					if err != nil {
						b.Fatal(err)
					}
					n, err := io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					if missing, ok := reached.(todo.NotWritten); ok {
						b.Skip(missing)
					}
					if n < int64(events/piece*text.Len()) || err != nil {
						b.Fatalf("%d bytes of a watch have come: %v", n, err)
					}
				}
			})
		}
	}
}

// secure returns a server with TLS and HTTP/2. It is closed after the benchmark.
func secure(b *testing.B, handler http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	b.Cleanup(server.Close)
	return server
}
