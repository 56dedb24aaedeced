package restclient_test

// Task 5: how often and for how long the typed client's requests are sent.

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Each_method_uses_its_context(t *testing.T) {
	const ends = "When the context ends, the request ends at once: each method of the typed client passes its " +
		"context on."
	guard.Test(t, ends, func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("web"))
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("the context is cancelled")
		cancel()
		for _, m := range methods() {
			t.Did("%s", m.name)
			require.ErrorIs(t, m.call(ctx, c, deployment("web")), context.Canceled, "the error of "+m.name)
			w.requireSent(0)
		}
		t.Rule("Each method passes its context and all of its options on: a transport finds the span of a trace there.")
		type key struct{}
		values := &valuesOf{key: key{}}
		traced := newWorld(t, func(c *rest.Config) {
			c.Wrap(func(rt http.RoundTripper) http.RoundTripper { values.RoundTripper = rt; return values })
		})
		for _, m := range methods() {
			t.Did("%s, with a value in its context", m.name)
			values.last = nil
			m.call(context.WithValue(t.Context(), key{}, "span"), restclient.NewDeployments(traced.client, "default"),
				deployment("web"))
			require.Equal(t, "span", values.last, "the value in the context of the HTTP request of "+m.name)
		}
	})
}

// valuesOf is a transport that keeps a value of the last request's context.
type valuesOf struct {
	http.RoundTripper
	key, last any
}

func (v *valuesOf) RoundTrip(r *request) (*http.Response, error) {
	v.last = r.Context().Value(v.key)
	return v.RoundTripper.RoundTrip(r)
}

func TestTask5_Each_method_is_sent_again(t *testing.T) {
	guard.Test(t, asked+": in each method of the typed client.", func(t *guard.T) {
		w, c := typed(t, "default")
		for i, m := range methods() {
			w.script("429 with Retry-After 1, and then an empty object", "", fakeapi.Answer(429, "1"), emptyAnswer(m.name))
			t.Did("%s", m.name)
			require.NoError(t, m.call(t.Context(), c, deployment("web")), "the error of "+m.name)
			w.requireSent(2 * (i + 1))
		}
	})
}

func TestTask5_Errors_are_not_retried(t *testing.T) {
	guard.Test(t, once+", in each method of the typed client: after a conflict the caller reads the object again, and "+
		"after a lost page it lists from the beginning.", func(t *guard.T) {
		w, c := typed(t, "default")
		for _, m := range methods() {
			for _, code := range []int{404, 409, 410, 500} {
				before := w.sent()
				w.script(fmt.Sprint(code), "", fakeapi.Answer(code, ""))
				t.Did("%s", m.name)
				var status apierrors.APIStatus
				err := m.call(t.Context(), c, deployment("web"))
				require.ErrorAs(t, err, &status, "the error of %s after %d", m.name, code)
				require.EqualValues(t, code, status.Status().Code, "the code of the error of "+m.name)
				require.Equal(t, 1, w.sent()-before, "requests sent by %s after %d", m.name, code)
			}
		}
	})
}

func TestTask5_Lists_share_nothing(t *testing.T) {
	guard.Test(t, "List returns the Deployments that the options select. It returns a new list each time: the caller may "+
		"still use an earlier one.", func(t *guard.T) {
		w, c := typed(t, "default")
		w.Create(deployment("a"), deployment("b"))
		t.Did("List with Limit 1, and List of the next page")
		first, err := c.List(t.Context(), metav1.ListOptions{Limit: 1})
		require.NoError(t, err, "the error of the 1st List")
		second, err := c.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: first.Continue})
		require.NoError(t, err, "the error of the 2nd List")
		require.Equal(t, []string{"a"}, names(first), "names in the 1st page, after the 2nd List")
		require.Equal(t, []string{"b"}, names(second), "names in the 2nd page")
	})
}

func TestTask5_List_ends_after_its_TimeoutSeconds(t *testing.T) {
	guard.Test(t, "The TimeoutSeconds of a list also limit the request: a server that hangs does not enforce "+
		"them.", func(t *guard.T) {
		w, c := typed(t, "default")
		seconds := int64(30)
		for _, opts := range []metav1.ListOptions{{}, {Limit: 500}, {Limit: 500, Continue: "token"}, {LabelSelector: "a=b"},
			{ResourceVersion: "0"}} {
			w.script("answers after a day", "", fakeapi.Slow(24*time.Hour))
			t.Did("List with TimeoutSeconds 30, limit %d, continue %q, labelSelector %q and resourceVersion %q", opts.Limit,
				opts.Continue, opts.LabelSelector, opts.ResourceVersion)
			opts.TimeoutSeconds = &seconds
			var err error
			d := took(func() { _, err = c.List(t.Context(), opts) })
			require.Equal(t, 30*time.Second, d, "duration of List")
			require.ErrorIs(t, err, context.DeadlineExceeded, "the error of List")
		}
		t.Rule(noLimit + ": the TimeoutSeconds of a watch are for the server.")
		t.Did("Watch with TimeoutSeconds 30")
		events, err := c.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds,
			ResourceVersion: w.ResourceVersion()})
		require.NoError(t, err, "the error of Watch")
		defer events.Stop()
		t.Did("ten seconds pass, and web is created")
		time.Sleep(10 * time.Second)
		w.Create(deployment("web"))
		require.Equal(t, "ADDED web", next(events), "the next event after ten seconds")
		require.Equal(t, "30", w.Requests("watch")[0].Query.Get("timeoutSeconds"), "timeoutSeconds in the query")
		w.script("sends an event after a day, although the watch has TimeoutSeconds 30", "watch", lateEvent)
		t.Did("Watch with TimeoutSeconds 30")
		late, err := c.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
		require.NoError(t, err, "the error of Watch")
		defer late.Stop()
		time.Sleep(24 * time.Hour)
		require.Equal(t, "ADDED web", next(late), "the next event after a day")
	})
}

// lateEvent answers a watch at once, and sends an event after a day.
var lateEvent fakeapi.Fault = func(w respond, r *request, _ handler) {
	w.Header().Set("Content-Type", "application/json")
	flush(w)
	select {
	case <-time.After(24 * time.Hour):
		fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, manifest("web"))
	case <-r.Context().Done():
	}
}
