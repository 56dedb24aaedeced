package rewritingproxy_test

// This file has the helpers of the lab's tests: an API server and a proxy in front of it, both inside the test, a
// client that sees the bytes of each answer, and watches whose events arrive as text. Tests use exported names only, so
// they run over your code and over the solution.
//
// A test runs in a bubble (package synctest), in which time passes only when all goroutines wait. The frame reader
// below is that of the solution of chapter 02; -on chooses another one:
//
//	go test ./labs/rewriting-proxy -on client-go
//	go test ./labs/rewriting-proxy -tags yours -on yours

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
)

var (
	on = flag.String("on", "solutions", "the frame reader: of solutions, client-go, or with -tags yours also yours")
	// sets are the layers that can be chosen.
	sets  = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}
	below layers.Layers
)

// TestMain removes apimachinery's error handlers. client-go's Reflector calls them, and one of them sleeps to limit the
// log. It measures that sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if below, err = layers.Choose(*on, sets); err != nil {
		fmt.Fprintf(os.Stderr, "-on: %v\n", err)
		os.Exit(2)
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// view is that of most tests.
var view = rewritingproxy.View{Factor: 3, HiddenLabel: hiddenLabel}

const (
	hiddenLabel = "example.com/hidden"
	collection  = "/apis/apps/v1/namespaces/default/deployments"
	asTable     = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asMetadata  = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	protobuf    = "application/vnd.kubernetes.protobuf"
)

// pipes accepts connections in memory. It implements net.Listener.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.dialed <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "in memory", Net: "memory"} }

// serve runs a handler as an HTTP server in memory, and returns how to connect to it.
func serve(t testing.TB, handler http.Handler) func(context.Context, string, string) (net.Conn, error) {
	listener := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return listener.dial
}

// transport returns a transport on connections in memory. It closes them when the test is over.
func transport(t testing.TB, dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// bodies counts the bodies of the API server's answers that are open.
type bodies struct {
	http.RoundTripper
	open atomic.Int64
}

// counting returns a transport that requires, when the test is over, that each body was closed.
func counting(t *guard.T, below http.RoundTripper) http.RoundTripper {
	b := &bodies{RoundTripper: below}
	t.Cleanup(func() {
		synctest.Wait()
		if open := b.open.Load(); open > 0 && !t.Failed() {
			t.Rule("ServeHTTP closes the body of each answer of the API server, whatever happens: an open one keeps its " +
				"connection.")
			require.Zero(t, open, "bodies of answers that are open when the test is over")
		}
	})
	return b
}

func (b *bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		b.open.Add(1)
		resp.Body = &counted{resp.Body, sync.OnceFunc(func() { b.open.Add(-1) })}
	}
	return resp, err
}

type counted struct {
	io.ReadCloser
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.ReadCloser.Close()
}

// newProxy returns a proxy in front of the API server that dial connects to.
func newProxy(t *guard.T, view rewritingproxy.View, dial func(context.Context, string, string) (net.Conn, error),
) *rewritingproxy.Proxy {
	p, err := rewritingproxy.New(rewritingproxy.Config{
		Upstream: &url.URL{Scheme: "http", Host: "in-memory"}, Transport: counting(t, transport(t, dial)),
		NewFrameReader: below.NewFrameReader, View: view,
	})
	require.NoError(t, err, "the error of New")
	return p
}

// world is an API server, a proxy in front of it, and a client of the proxy.
type world struct {
	*fakeapi.Server
	t      *guard.T
	dial   func(context.Context, string, string) (net.Conn, error)
	client *http.Client
}

// newWorld makes an API server with these Deployments.
func newWorld(t *guard.T, view rewritingproxy.View, objs ...fakeapi.Object) *world {
	w := &world{Server: fakeapi.Start(t), t: t}
	w.Create(objs...)
	w.connect(newProxy(t, view, w.Server.Config().Dial))
	return w
}

// before makes a world whose API server is a handler of the test.
func before(t *guard.T, upstream http.HandlerFunc) *world {
	w := &world{t: t}
	w.connect(newProxy(t, view, serve(t, upstream)))
	return w
}

func (w *world) connect(proxy http.Handler) {
	w.dial = serve(w.t, proxy)
	w.client = &http.Client{Transport: transport(w.t, w.dial)}
}

// through returns the configuration of a client of the proxy.
func (w *world) through() *rest.Config {
	return &rest.Config{Host: "http://proxy", Dial: w.dial, QPS: -1,
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
}

// answer is an answer of the proxy, or of the API server.
type answer struct {
	code   int
	header http.Header
	body   string
}

// get sends a GET through the proxy. Each header is as "Accept: application/json".
func (w *world) get(path string, headers ...string) answer {
	w.t.Helper()
	return w.send(w.client, http.MethodGet, path, "", headers...)
}

// direct sends a GET to the API server itself.
func (w *world) direct(path string, headers ...string) answer {
	w.t.Helper()
	client := w.Server.Client()
	defer client.CloseIdleConnections()
	return w.send(client, http.MethodGet, path, "", headers...)
}

// write sends a request with a body through the proxy.
func (w *world) write(method, path, contentType, body string) answer {
	w.t.Helper()
	return w.send(w.client, method, path, body, "Content-Type: "+contentType)
}

func (w *world) send(client *http.Client, method, path, body string, headers ...string) answer {
	w.t.Helper()
	w.t.Did("%s", strings.Join(append([]string{method + " " + path}, headers...), ", "))
	resp, err := client.Do(request(w.t.Context(), w.t, method, path, body, headers...))
	require.NoError(w.t, err, "the error of %s %s", method, path)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err, "the error of reading the answer")
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func request(ctx context.Context, t *guard.T, method, path, body string, headers ...string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, "http://proxy"+path, strings.NewReader(body))
	require.NoError(t, err)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	return r
}

// decoded returns JSON as a tree, in which numbers keep their digits.
func decoded(text string) (tree any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return fmt.Sprintf("not JSON: %v: %.200s", err, text)
	}
	return tree
}

// requireJSON asserts that got has the same fields as want.
func requireJSON(t *guard.T, want, got, what string) {
	t.Helper()
	require.Equal(t, decoded(want), decoded(got), what)
}

// requireStatus asserts that an answer is a Status in JSON with this code.
func requireStatus(t *guard.T, code int, a answer) {
	t.Helper()
	require.Equal(t, code, a.code, "the code of the answer")
	status, ok := decoded(a.body).(map[string]any)
	require.True(t, ok && status["kind"] == "Status", "the answer is a Status in JSON")
	require.Equal(t, fmt.Sprint(code), fmt.Sprint(status["code"]), "the code in the Status")
}

// find returns the value at a path in JSON as text: "" if there is none.
func find(text string, path ...string) string {
	tree := decoded(text)
	for _, name := range path {
		object, _ := tree.(map[string]any)
		tree = object[name]
	}
	if tree == nil {
		return ""
	}
	return fmt.Sprint(tree)
}

// replicasIn returns the name and spec.replicas of an object, or of each in a list or in the rows of a Table.
func replicasIn(text string) (all []string) {
	all = []string{}
	tree, _ := decoded(text).(map[string]any)
	objects := []any{tree}
	if items, ok := tree["items"].([]any); ok {
		objects = items
	}
	if rows, ok := tree["rows"].([]any); ok {
		objects = nil
		for _, row := range rows {
			row, _ := row.(map[string]any)
			objects = append(objects, row["object"])
		}
	}
	for _, object := range objects {
		object, _ := object.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		spec, _ := object["spec"].(map[string]any)
		all = append(all, fmt.Sprintf("%v: %v", metadata["name"], spec["replicas"]))
	}
	return all
}

// deployment returns a Deployment with this number of replicas.
func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}

// hidden adds the label that hides.
func hidden(d *appsv1.Deployment) *appsv1.Deployment {
	d.Labels[hiddenLabel] = "true"
	return d
}

// stored returns the name and the stored number of replicas of each Deployment.
func (w *world) stored() []string {
	all := []string{}
	for _, obj := range w.Objects("deployments") {
		all = append(all, fmt.Sprintf("%s: %d", obj.GetName(), *obj.(*appsv1.Deployment).Spec.Replicas))
	}
	return all
}

// inJSON returns an object in JSON, with its kind.
func inJSON(obj *appsv1.Deployment) string {
	obj.TypeMeta = metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}
	var text bytes.Buffer
	utilruntime.Must(json.NewEncoder(&text).Encode(obj))
	return text.String()
}
