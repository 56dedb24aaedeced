package restclient_test

// Task 4: watches.

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// watchAll starts a watch of all Deployments.
func (w world) watchAll(r *restclient.Request) watch.Interface {
	w.t.Did("Watch")
	events, err := r.Param("watch", "1").Param("resourceVersion", w.ResourceVersion()).Watch(w.t.Context())
	require.NoError(w.t, err, "the error of Watch")
	return events
}

// next returns the next event of the watch, as text.
func next(events watch.Interface) string {
	synctest.Wait()
	select {
	case e, ok := <-events.ResultChan():
		if !ok {
			return "the end"
		}
		if d, ok := e.Object.(*appsv1.Deployment); ok {
			return string(e.Type) + " " + d.Name
		}
		return string(e.Type)
	default:
		return "nothing yet"
	}
}

func TestTask4_Watch_sends_each_change(t *testing.T) {
	guard.Test(t, "Watch sends the request and returns the events of the answer, each as it comes.", func(t *guard.T) {
		w := newWorld(t)
		events := w.watchAll(w.client.Get().Resource("deployments"))
		w.did("web is created, and deleted")
		w.Create(deployment("web"))
		w.Delete(deployment("web"))
		require.Equal(t, []string{"ADDED web", "DELETED web", "nothing yet"},
			[]string{next(events), next(events), next(events)}, "the next three events")
		t.Rule(goesOn + ": after Stop, the server has no open watch.")
		t.Did("Stop")
		events.Stop()
		synctest.Wait()
		require.Equal(t, 0, w.Watches(), "open watches of the server after Stop")
	})
}

func TestTask4_Watch_goes_on_beyond_the_timeout(t *testing.T) {
	guard.Test(t, noLimit+": a watch lasts longer than any other request.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("Timeout 10s")
		events := w.watchAll(w.client.Get().Resource("deployments").Timeout(10 * time.Second))
		defer events.Stop()
		w.did("20 minutes pass, and web is created")
		time.Sleep(20 * time.Minute)
		w.Create(deployment("web"))
		require.Equal(t, "ADDED web", next(events), "the next event after 20 minutes")
	})
}

func TestTask4_Watch_ends_with_its_context(t *testing.T) {
	guard.Test(t, goesOn+". Then the server has no open watch.", func(t *guard.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("Watch")
		events, err := w.on("GET").Param("watch", "1").Watch(ctx)
		require.NoError(t, err, "the error of Watch")
		defer events.Stop()
		t.Did("the context is cancelled")
		cancel()
		for last := ""; last != "the end"; last = next(events) {
			require.NotEqual(t, "nothing yet", last, "the next event after the context has ended")
		}
		require.Equal(t, 0, w.Watches(), "open watches of the server after the context has ended")
	})
}

func TestTask4_Watch_is_not_limited_at_first(t *testing.T) {
	guard.Test(t, butTheFirst+". A watch is one request for many minutes. A program that starts fifty of them "+
		"would wait eight seconds for nothing.", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.watchAll(w.on("GET")).Stop()
		require.Equal(t, 0, l.asked, "calls of the limiter by a watch that is not tried again")
		t.Rule(butTheFirst + ": a retry is another request.")
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		w.watchAll(w.on("GET")).Stop()
		require.Equal(t, 2, l.asked, "calls of the limiter by a watch with two retries")
	})
}

func TestTask4_Watch_of_an_error_is_the_servers_status(t *testing.T) {
	guard.Test(t, only200+". Its reason decides whether a Reflector lists again or waits "+
		"(#126265).", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("410", "", fakeapi.Answer(410, ""))
		t.Did("Watch")
		_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
		requireIs(t, apierrors.IsResourceExpired, metav1.StatusReasonExpired, err, "Watch")
		t.Rule(only200 + ": the message names the version.")
		w.script("410, with a Status", "", answers(410, "application/json", `{"kind":"Status","apiVersion":"v1",`+
			`"status":"Failure","reason":"Expired","code":410,"message":"too old resource version: 7 (9)"}`))
		t.Did("Watch")
		_, err = w.on("GET").Param("watch", "1").Watch(t.Context())
		requireIs(t, apierrors.IsResourceExpired, metav1.StatusReasonExpired, err, "Watch")
		require.ErrorContains(t, err, "too old resource version: 7 (9)", "the error of Watch")
		t.Rule(nothingLeft + ": the body of an answer is closed, unless the caller receives it.")
		require.EqualValues(t, 0, bodies.open.Load(), "open bodies after Watch")
		t.Rule("A refused connection is an error, not an empty watch: there is no server.")
		w.did("the server stops")
		w.Down()
		t.Did("Watch")
		_, err = w.on("GET").Param("watch", "1").Watch(t.Context())
		require.Error(t, err, "the error of Watch without a server")
	})
}

func TestTask4_Stream_and_Watch_do_not_change_the_request(t *testing.T) {
	guard.Test(t, "Stream and Watch do not change the request, which can be sent again: what they send is what URL "+
		"returned before, and a later Do has the same headers.", func(t *guard.T) {
		for _, begin := range []func(*restclient.Request) error{
			func(r *restclient.Request) error { _, err := r.Stream(t.Context()); return err },
			func(r *restclient.Request) error { _, err := r.Watch(t.Context()); return err },
		} {
			w := newWorld(t)
			r := w.on("GET").Name("web")
			url := r.URL().RequestURI()
			t.Did("Do, Stream or Watch, and Do again, of an object that does not exist")
			w.do(r)
			require.Error(t, begin(r), "the error of Stream or Watch")
			w.do(r)
			all := w.Requests("")
			for i, sent := range all {
				require.Equal(t, "GET "+url, sent.String(), "request %d", i+1)
			}
			require.Equal(t, all[0].Header, all[2].Header, "the headers of the 2nd Do")
			t.Rule("Stream sends the request, and so does Watch: with the headers with which Do sends it.")
			require.Equal(t, all[0].Header, all[1].Header, "the headers of Stream or Watch")
		}
	})
}

func TestTask4_Watch_of_a_broken_request_is_not_sent(t *testing.T) {
	guard.Test(t, builderError+": it is the request's first error.", func(t *guard.T) {
		w := newWorld(t)
		t.Did(`Name ""`)
		r := w.on("GET").Name("").Param("watch", "1")
		t.Did("Watch")
		_, err := r.Watch(t.Context())
		require.ErrorContains(t, err, r.Error().Error(), "the error of Watch")
		t.Rule("A method with a space in it is an error: it would change the first line of the request.")
		t.Did(`Watch and Stream with Verb "NO METHOD"`)
		_, err = w.client.Verb("NO METHOD").Resource("deployments").Watch(t.Context())
		require.Error(t, err, `the error of Watch with the method "NO METHOD"`)
		_, err = w.client.Verb("NO METHOD").Resource("deployments").Stream(t.Context())
		require.Error(t, err, `the error of Stream with the method "NO METHOD"`)
		t.Rule(builderError + ": without its name, the request would watch all objects.")
		w.requireSent(0)
	})
}

func TestTask4_Watch_returns_at_its_deadline(t *testing.T) {
	guard.Test(t, endsWatch+": the caller would watch again at once, and again.", func(t *guard.T) {
		w := newWorld(t)
		w.script("answers after a day", "", fakeapi.Slow(24*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("the context ends in a minute")
		t.Did("Watch")
		var err error
		d := took(func() { _, err = w.on("GET").Param("watch", "1").Watch(ctx) })
		require.ErrorIs(t, err, context.DeadlineExceeded, "the error of the 1st Watch")
		require.Equal(t, time.Minute, d, "duration of the 1st Watch")
		t.Did("Watch, again with this context")
		_, err = w.on("GET").Param("watch", "1").Watch(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded, "the error of the 2nd Watch")
		t.Rule(notSent)
		w.requireSent(1)
	})
}

func TestTask4_Watch_that_ends_at_once_is_empty(t *testing.T) {
	const (
		isEmpty = emptyWatch + ": servers end watches all the time, and the caller watches again."
		retries = watchRetries + ": one request, and ten retries."
	)
	guard.Test(t, isEmpty, func(t *guard.T) {
		for _, fault := range []struct {
			what string
			is   fakeapi.Fault
		}{
			{"ends every connection without an answer", endConnection},
			{"resets every connection instead of answering", fakeapi.Reset(false)},
		} {
			w := newWorld(t)
			w.script(fault.what, "", fakeapi.Times(50, fault.is)...)
			t.Rule(isEmpty)
			t.Did("Watch")
			var events watch.Interface
			var err error
			d := took(func() { events, err = w.on("GET").Param("watch", "1").Watch(t.Context()) })
			require.NoError(t, err, "the error of Watch")
			require.NotNil(t, events, "the watch")
			require.Equal(t, "the end", next(events), "the 1st event")
			t.Rule(retries)
			w.requireSent(11)
			require.Equal(t, 10*time.Second, d, "duration of Watch")
			events.Stop()
		}
	})
}

func TestTask4_Watch_that_times_out_is_sent_again(t *testing.T) {
	const (
		again   = watchRetries + ": a watch changes nothing."
		isEmpty = emptyWatch + ": the caller watches again."
		retries = watchRetries + ": one request, and ten retries."
	)
	guard.Test(t, again, func(t *guard.T) {
		l := &lossy{errs: slices.Repeat([]error{os.ErrDeadlineExceeded}, 2)}
		w := newWorld(t, losing(l))
		t.Did("two tries time out on the way")
		w.watchAll(w.on("GET")).Stop()
		require.Equal(t, []int{3, 1}, []int{l.tried, w.sent()}, "tries, and requests that arrived")
		for _, verb := range []string{"GET", "POST"} {
			l.tried, l.errs = 0, slices.Repeat([]error{os.ErrDeadlineExceeded}, 50)
			t.Rule(isEmpty)
			t.Did("all tries of a %s time out on the way", verb)
			events := w.watchAll(w.on(verb))
			require.Equal(t, "the end", next(events), "the 1st event of a "+verb)
			t.Rule(retries)
			require.Equal(t, 11, l.tried, "tries of a "+verb)
			t.Rule(emptyWatch + ": also if MaxRetries is 0, and the last try is the first.")
			l.tried = 0
			require.Equal(t, "the end", next(w.watchAll(w.on(verb).MaxRetries(0))), "the 1st event of a "+verb)
			require.Equal(t, 1, l.tried, "tries of a %s with MaxRetries(0)", verb)
		}
	})
}

func TestTask4_Watch_is_200_and_nothing_else(t *testing.T) {
	const anError = only200 + ". An answer of 202 or 204 has no events, and the caller would take it for a watch that " +
		"has ended."
	guard.Test(t, anError, func(t *guard.T) {
		for _, code := range []int{201, 202, 203, 204, 205, 206, 300, 400, 408, 418, 500, 503, 504} {
			bodies := &closings{}
			w := newWorld(t, counting(bodies))
			w.script(fmt.Sprint(code, ", and no body"), "", func(rw respond, _ *request, _ handler) {
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(code)
			})
			t.Rule(anError)
			t.Did("Watch")
			_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
			require.Error(t, err, "the error of Watch after %d", code)
			t.Rule(nothingLeft + ": the body of an answer is closed, unless the caller receives it.")
			require.EqualValues(t, 0, bodies.open.Load(), "open bodies after a Watch with %d", code)
			t.Rule("Any other error, even a Status, also names the error of an earlier try, as with Do.")
			w = newWorld(t, losing(&lossy{errs: []error{io.EOF}}))
			w.script(fmt.Sprint(code, ", and no body"), "", answers(code, "application/json", ""))
			t.Did("Watch: EOF, and then the answer")
			_, err = w.on("GET").Param("watch", "1").Watch(t.Context())
			require.ErrorContains(t, err, " - error from a previous attempt: EOF", "the error of Watch after EOF and %d", code)
		}
	})
}

// endConnection closes the connection cleanly, without an answer.
var endConnection fakeapi.Fault = func(w respond, r *request, _ handler) {
	c, _, err := hijack(w)
	if err != nil {
		panic(err)
	}
	c.Close()
}

func TestTask4_Watch_with_an_unknown_content_type_is_an_error(t *testing.T) {
	guard.Test(t, "A content type without a decoder is an error: Watch cannot find events in such a "+
		"body.", func(t *guard.T) {
		w := newWorld(t) // which counts the open bodies
		w.script("200, with a page of HTML", "", fakeapi.Body("text/html", "<html>"))
		t.Did("Watch")
		_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
		require.Error(t, err, "the error of Watch")
	})
}
