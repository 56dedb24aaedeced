package restclient_test

// This file has the helpers of chapter 01's tests: an API server in the process of the test, a client for it, and
// requests that are recorded as steps. Tests use exported names only, so they run over your code, the solution and
// client-go.
//
// A test runs in a bubble (package synctest): the clock jumps when all goroutines wait, so an hour takes no time. The
// connections are in memory, and carry real HTTP.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// nothingLeft is a promise of the contract. Tests of several tasks check it.
const nothingLeft = "Nothing is left behind: no open body, no lost connection, no goroutine, no answer in memory"

// client returns a client for apps/v1 on a server that does not exist. It is for tests of URLs.
func client(t *guard.T, host string) *restclient.RESTClient {
	c, err := restclient.AppsV1For(&rest.Config{Host: host})
	if err != nil {
		t.Fatalf("make a client for %s: %v", host, err)
	}
	return c
}

// world is an API server and a client for it.
type world struct {
	*fakeapi.Server
	t      *guard.T
	client *restclient.RESTClient
}

// newWorld starts a server. The client has no rate limit, unless the config is changed.
func newWorld(t *guard.T, change ...func(*rest.Config)) world {
	api := fakeapi.Start(t)
	config := api.Config()
	config.QPS = -1
	for _, f := range change {
		f(config)
	}
	all := &closings{}
	counting(all)(config)
	t.Cleanup(func() {
		if synctest.Wait(); !t.Failed() { // a failed test may not have closed its own
			t.Rule(nothingLeft + ".")
			require.Equal(t, int64(0), all.open.Load(), "open bodies of answers when the test is over")
		}
	})
	c, err := restclient.AppsV1For(config)
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return world{api, t, c}
}

// on starts a request to the Deployments of the namespace default.
func (w world) on(verb string) *restclient.Request {
	return w.client.Verb(verb).Namespace("default").Resource("deployments")
}

// did records a step of the test that is not a request.
func (w world) did(format string, args ...any) { w.t.Did(format, args...) }

// do sends a request, and records it.
func (w world) do(r *restclient.Request) restclient.Result { return w.doIn(w.t.Context(), r) }

func (w world) doIn(ctx context.Context, r *restclient.Request) restclient.Result {
	w.t.Did("Do")
	return r.Do(ctx)
}

// script makes the next requests with this verb fail, and records it.
func (w world) script(what, verb string, faults ...fakeapi.Fault) {
	w.t.Did("the server: %s", what)
	w.Script(verb, faults...)
}

// requireSent asserts how many requests have arrived.
func (w world) requireSent(n int) {
	w.t.Helper()
	require.Equal(w.t, n, w.sent(), "requests sent")
}

// sent returns how many requests have arrived.
func (w world) sent() int { return len(w.Requests("")) }

// connections returns how many have been made.
func (w world) connections() int {
	_, made := w.Connections()
	return made
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	replicas := int32(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}

// manifest returns a Deployment in JSON.
func manifest(name string) []byte {
	const template = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"NAME"},` +
		`"spec":{"selector":{"matchLabels":{"app":"NAME"}},"template":{"metadata":{"labels":{"app":"NAME"}},` +
		`"spec":{"containers":[{"name":"c","image":"nginx:1.29"}]}}}}`
	return []byte(strings.ReplaceAll(template, "NAME", name))
}

// keys returns the namespaces and names of the objects in a list.
func keys(list *appsv1.DeploymentList) []string {
	all := []string{}
	for _, d := range list.Items {
		all = append(all, d.Namespace+"/"+d.Name)
	}
	return all
}

func names(list *appsv1.DeploymentList) []string {
	all := []string{}
	for _, d := range list.Items {
		all = append(all, d.Name)
	}
	return all
}

// sender is a method of a Request that sends it.
type sender struct {
	name string
	send func(*restclient.Request, context.Context) error
}

// senders has every such method. It closes the results.
var senders = []sender{
	{"Do", func(r *restclient.Request, ctx context.Context) error { return r.Do(ctx).Error() }},
	{"DoRaw", func(r *restclient.Request, ctx context.Context) error { _, err := r.DoRaw(ctx); return err }},
	{"Stream", func(r *restclient.Request, ctx context.Context) error {
		body, err := r.Stream(ctx)
		if err == nil && body != nil {
			body.Close()
		}
		return err
	}},
	{"Watch", func(r *restclient.Request, ctx context.Context) error {
		events, err := r.Param("watch", "1").Watch(ctx)
		if err == nil && events != nil {
			events.Stop()
		}
		return err
	}},
}

// lossy is a network that loses requests: the next tries end with these errors. For a nil, the request passes.
type lossy struct {
	http.RoundTripper
	lock  sync.Mutex // tests read and write the fields while no request is sent
	errs  []error
	tried int
}

func (l *lossy) RoundTrip(r *request) (*http.Response, error) {
	if err := l.next(); err != nil {
		return nil, err
	}
	return l.RoundTripper.RoundTrip(r)
}

func (l *lossy) next() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.tried++
	if len(l.errs) == 0 {
		return nil
	}
	err := l.errs[0]
	l.errs = l.errs[1:]
	return err
}

// CloseIdleConnections implements what http.Client looks for in its transport.
func (l *lossy) CloseIdleConnections() { closeIdle(l.RoundTripper) }

func closeIdle(rt http.RoundTripper) { (&http.Client{Transport: rt}).CloseIdleConnections() }

func losing(l *lossy) func(*rest.Config) {
	return func(c *rest.Config) {
		c.Wrap(func(rt http.RoundTripper) http.RoundTripper { l.RoundTripper = rt; return l })
	}
}

// limiter is a flowcontrol.RateLimiter that counts its calls. Each Wait takes a while, and returns err.
type limiter struct {
	asked int
	last  time.Time // when it was asked
	wait  time.Duration
	err   error
}

func (l *limiter) Wait(ctx context.Context) error {
	l.asked++
	l.last = time.Now()
	select {
	case <-time.After(l.wait):
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *limiter) TryAccept() bool {
	if l.wait > 0 || l.err != nil {
		return false
	}
	l.asked++
	return true
}
func (l *limiter) Accept()      { l.asked++ }
func (l *limiter) Stop()        {}
func (l *limiter) QPS() float32 { return 1 }

func limitedBy(l *limiter) func(*rest.Config) {
	return func(c *rest.Config) { c.RateLimiter, c.QPS = l, 0 }
}

// closings wraps a client's transport and counts the bodies that it has returned and that are still open, and the bytes
// that were read from all of them. It calls onTry before each try.
type closings struct {
	http.RoundTripper
	open  atomic.Int64
	read  atomic.Int64
	onTry func()
}

func (c *closings) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.onTry != nil {
		c.onTry()
	}
	resp, err := c.RoundTripper.RoundTrip(r)
	if resp != nil && resp.Body != http.NoBody {
		c.open.Add(1)
		resp.Body = &counted{ReadCloser: resp.Body, closings: c}
	}
	return resp, err
}

// CloseIdleConnections implements what http.Client looks for in its transport.
func (c *closings) CloseIdleConnections() { closeIdle(c.RoundTripper) }

type counted struct {
	io.ReadCloser
	closings *closings
	closed   bool
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.closings.read.Add(int64(n))
	return n, err
}

func (c *counted) Close() error {
	if !c.closed {
		c.closed = true
		c.closings.open.Add(-1)
	}
	return c.ReadCloser.Close()
}

func counting(c *closings) func(*rest.Config) {
	return func(config *rest.Config) {
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { c.RoundTripper = rt; return c })
	}
}

// took returns how long f takes, in the time of the bubble.
func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// requireIs asserts that is, such as apierrors.IsNotFound, holds for the error that call has returned. If not, it shows
// the wanted reason, and the reason and the text of the error.
func requireIs(t *guard.T, is func(error) bool, reason metav1.StatusReason, err error, call string) {
	t.Helper()
	if is(err) {
		return
	}
	got := short(err)
	if other := apierrors.ReasonForError(err); other != metav1.StatusReasonUnknown {
		got = fmt.Sprintf("%s: %v", other, err)
	}
	require.Equal(t, string(reason), got, "the reason of the error of "+call)
}

// statusIn returns the Status in an error, which may be wrapped.
func statusIn(t *guard.T, err error) metav1.Status {
	t.Helper()
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status, "the error")
	return status.Status()
}

// short returns the type and the text of an error.
func short(err error) string {
	if err == nil {
		return "no error"
	}
	return fmt.Sprintf("%T: %v", err, err)
}

// short names for a fault that a test makes itself.
type (
	respond = http.ResponseWriter
	request = http.Request
	handler = http.Handler
)

func flush(w http.ResponseWriter) { http.NewResponseController(w).Flush() }

func hijack(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w).Hijack()
}
