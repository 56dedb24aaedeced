package restclient_test

// Task 4: contexts, the rate limit, streams and watches.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// The rules that several tests of this task check.
const (
	contextError = "When the context ends, the request returns at once, with the context's error."
	notSent      = "After the context has ended, nothing is sent."
	nextTryWaits = "If the limiter does not let a request pass, it is not sent."
	bodyClosed   = "Nothing is left behind: the body of an answer that the caller does not get is closed."
	brokenNot    = "A broken request is not sent."
)

func TestTask4_Nothing_is_sent_for_a_context_that_has_ended(t *testing.T) {
	guard.Test(t, "A context that has ended ends everything, at once: nothing is sent, and the error is that of the "+
		"context.", func(t *guard.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("the context is cancelled")
		cancel()
		require.ErrorIs(t, w.doIn(ctx, w.on("GET")).Error(), context.Canceled, "the error of Do")
		w.requireSent(0)
	})
}

func TestTask4_Cancel_ends_a_request_that_hangs(t *testing.T) {
	guard.Test(t, contextError, func(t *guard.T) {
		w := newWorld(t)
		w.script("answers after a day", "", fakeapi.Slow(24*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("the context ends in a minute")
		var err error
		d := took(func() { err = w.doIn(ctx, w.on("GET")).Error() })
		require.ErrorIs(t, err, context.DeadlineExceeded, "the error of Do")
		require.Equal(t, time.Minute, d, "duration of Do")
	})
}

func TestTask4_Cancel_ends_the_wait_for_a_retry(t *testing.T) {
	guard.Test(t, "A context that has ended ends everything, at once: a program that must stop does not sleep for "+
		"ten minutes first.", func(t *guard.T) {
		w := newWorld(t)
		w.script("busy, with Retry-After 600", "", fakeapi.Times(5, fakeapi.Answer(429, "600"))...)
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("the context is cancelled after a minute")
		time.AfterFunc(time.Minute, cancel)
		var err error
		d := took(func() { err = w.doIn(ctx, w.on("GET")).Error() })
		require.Equal(t, time.Minute, d, "duration of Do")
		t.Rule(contextError)
		require.ErrorIs(t, err, context.Canceled, "the error of Do")
		t.Rule(notSent)
		w.requireSent(1)
	})
}

func TestTask4_Timeout_is_for_all_tries_together(t *testing.T) {
	guard.Test(t, "Timeout limits the time of all tries together, not of each: here there are three, at 0, 4 and 8 "+
		"seconds.", func(t *guard.T) {
		w := newWorld(t)
		w.script("busy forever, with Retry-After 4", "", fakeapi.Times(50, fakeapi.Answer(429, "4"))...)
		t.Did("Timeout 10s")
		var err error
		d := took(func() { err = w.do(w.on("GET").Timeout(10 * time.Second)).Error() })
		require.Equal(t, 10*time.Second, d, "duration of Do")
		require.ErrorIs(t, err, context.DeadlineExceeded, "the error of Do")
		w.requireSent(3)
	})
}

func TestTask4_Body_is_read_within_the_timeout_too(t *testing.T) {
	guard.Test(t, "Timeout limits the reading of the body, too. Half an answer is not an answer: the error says that "+
		"the time was over.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		w.script("sends a byte of the body each second", "", fakeapi.SlowBody(1, time.Second))
		t.Did("Timeout 30s")
		var err error
		d := took(func() { err = w.do(w.on("GET").Name("web").Timeout(30 * time.Second)).Into(&appsv1.Deployment{}) })
		require.Equal(t, 30*time.Second, d, "duration of Do and Into")
		require.ErrorIs(t, err, context.DeadlineExceeded, "the error of Into")
	})
}

func TestTask4_Limiter_is_asked_before_each_try(t *testing.T) {
	guard.Test(t, "The rate limiter is asked before each try, of DoRaw, too: for the server, a retry is a request "+
		"like any other.", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		require.NoError(t, w.do(w.on("GET")).Error(), "the error of Do")
		require.Equal(t, 3, l.asked, "calls of the limiter by Do")
		t.Did("DoRaw")
		_, err := w.on("GET").DoRaw(t.Context())
		require.NoError(t, err, "the error of DoRaw")
		require.Equal(t, 4, l.asked, "calls of the limiter by Do and DoRaw")
	})
}

func TestTask4_Limiter_does_not_eat_the_timeout(t *testing.T) {
	guard.Test(t, "The limiter's wait before the first try does not count for Timeout: otherwise a request would "+
		"time out before it is sent, each time.", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: time.Minute}))
		t.Did("Timeout 10s, and each request waits for the limiter for a minute")
		require.NoError(t, w.do(w.on("GET").Timeout(10*time.Second)).Error(), "the error of Do")
	})
}

func TestTask4_Limiter_before_a_retry_is_within_the_timeout(t *testing.T) {
	guard.Test(t, "The limiter's wait before the first try does not count for Timeout, and its wait before another "+
		"one does: a minute, and then the 10 seconds.", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: time.Minute}))
		w.script("busy, with Retry-After 1", "", fakeapi.Answer(429, "1"))
		t.Did("Timeout 10s, and each try waits for the limiter for a minute")
		var err error
		d := took(func() { err = w.do(w.on("GET").Timeout(10 * time.Second)).Error() })
		require.Equal(t, 70*time.Second, d, "duration of Do")
		require.ErrorIs(t, err, context.DeadlineExceeded, "the error of Do")
		t.Rule(nextTryWaits)
		w.requireSent(1)
	})
}

func TestTask4_Limiter_hears_the_context(t *testing.T) {
	guard.Test(t, "The rate limiter is asked with the context, so that the wait "+
		"for it can be cancelled (#79375).", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: time.Hour}))
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("each request waits for the limiter for an hour; the context is cancelled after a minute")
		time.AfterFunc(time.Minute, cancel)
		var err error
		d := took(func() { err = w.doIn(ctx, w.on("GET")).Error() })
		require.Equal(t, time.Minute, d, "duration of Do")
		t.Rule("When the context ends, the error is that of the context, and does not mention the limiter: a reader " +
			"of it would look in the wrong place (#137694).")
		require.ErrorIs(t, err, context.Canceled, "the error of Do")
		require.NotContains(t, err.Error(), "limiter", "the text of the error of Do")
		t.Rule(nextTryWaits)
		w.requireSent(0)
	})
}

func TestTask4_Limiters_error_is_reported(t *testing.T) {
	guard.Test(t, "If the limiter returns an error, the request returns it, too, and is not sent.", func(t *guard.T) {
		broken := errors.New("no token before the deadline")
		w := newWorld(t, limitedBy(&limiter{err: broken}))
		t.Did("the limiter returns an error")
		require.ErrorIs(t, w.do(w.on("GET")).Error(), broken, "the error of Do")
		w.requireSent(0)
	})
}

func TestTask4_Limiters_error_ends_the_retries(t *testing.T) {
	guard.Test(t, "If the limiter returns an error before a retry, the request returns it, too, and is not sent "+
		"again.", func(t *guard.T) {
		broken := errors.New("no token before the deadline")
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.script("busy, with Retry-After 1, and the limiter returns an error from then on", "",
			func(rw respond, r *request, next handler) {
				l.err = broken
				fakeapi.Answer(429, "1")(rw, r, next)
			})
		require.ErrorIs(t, w.do(w.on("GET")).Error(), broken, "the error of Do")
		w.requireSent(1)
	})
}

func TestTask4_Default_limit_is_5_a_second_and_10_at_once(t *testing.T) {
	guard.Test(t, "By default a client makes 10 requests at once, and then 5 a second.", func(t *guard.T) {
		api := fakeapi.Start(t)
		c, err := restclient.AppsV1For(api.Config())
		require.NoError(t, err, "the error of AppsV1For")
		t.Did("30 requests, as fast as they go, with a config without QPS")
		d := took(func() {
			for range 30 {
				require.NoError(t, c.Get().Resource("deployments").Do(t.Context()).Error(), "the error of Do")
			}
		})
		require.InDelta(t, 4.0, d.Seconds(), 0.01, "seconds for 30 requests")
	})
}

// The tests below are about streams.

func TestTask4_Stream_hands_out_the_body(t *testing.T) {
	guard.Test(t, "Stream returns the body of the answer, which the caller reads and closes.", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("sends a byte of the body each second", "", func(rw respond, r *request, _ handler) {
			for _, b := range "hello" {
				io.WriteString(rw, string(b))
				flush(rw)
				time.Sleep(time.Second)
			}
		})
		t.Did("Stream, with Timeout 2s")
		body, err := w.on("GET").Timeout(2 * time.Second).Stream(t.Context())
		require.NoError(t, err, "the error of Stream")
		require.Equal(t, 1, bodies.open, "open bodies after Stream")
		t.Rule("Timeout does not limit a stream, and its context is not cancelled when Stream returns: a log may go " +
			"on for hours.")
		text, err := io.ReadAll(body)
		require.NoError(t, err, "the error of the body's Read")
		require.Equal(t, "hello", string(text), "the bytes of the body")
		t.Rule("Stream returns the body of the answer, and its Close closes that.")
		t.Did("Close")
		require.NoError(t, body.Close(), "the error of the body's Close")
		require.Equal(t, 0, bodies.open, "open bodies after Close")
	})
}

func TestTask4_Stream_of_an_error_is_the_servers_status(t *testing.T) {
	guard.Test(t, "An answer other than 2xx is an error, not a stream, "+
		"and says what the server says.", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		t.Did("Stream of a Deployment that does not exist")
		_, err := w.on("GET").Name("web").Stream(t.Context())
		require.EqualError(t, err, `deployments.apps "web" not found`, "the error of Stream")
		t.Rule(bodyClosed)
		require.Equal(t, 0, bodies.open, "open bodies after Stream")
	})
}

func TestTask4_Stream_is_retried_if_the_server_asks_for_it(t *testing.T) {
	guard.Test(t, "The limiter is asked before each try of Stream, and after a broken connection there is no other: "+
		"the caller must know that the stream starts again.", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.script("breaks the connection", "", fakeapi.Reset(false))
		t.Did("Stream")
		_, err := w.on("GET").Stream(t.Context())
		require.Error(t, err, "the error of the 1st Stream")
		require.Equal(t, []int{1, 1}, []int{w.sent(), l.asked}, "requests sent, and calls of the limiter")
		t.Rule("Stream is tried again after 429 and 5xx with Retry-After, and the limiter is asked before each try.")
		w.script("busy, once", "", fakeapi.Answer(429, "1"))
		t.Did("Stream")
		body, err := w.on("GET").Stream(t.Context())
		require.NoError(t, err, "the error of the 2nd Stream")
		body.Close()
		require.Equal(t, []int{3, 3}, []int{w.sent(), l.asked}, "requests sent, and calls of the limiter")
		t.Rule(brokenNot)
		t.Did("Stream with a builder error")
		_, err = w.on("GET").Name("..").Stream(t.Context())
		require.Error(t, err, "the error of the 3rd Stream")
		w.requireSent(3)
	})
}

func TestTask4_Stream_and_Watch_close_the_answers_in_between(t *testing.T) {
	guard.Test(t, "Nothing is left behind: Stream and Watch close the answers before the last one, which the caller "+
		"does not get.", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		t.Did("Stream")
		body, err := w.on("GET").Stream(t.Context())
		require.NoError(t, err, "the error of Stream")
		require.Equal(t, 1, bodies.open, "open bodies after Stream")
		body.Close()
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		events := w.watchAll(w.on("GET"))
		require.Equal(t, 1, bodies.open, "open bodies after Watch")
		events.Stop()
	})
}

func TestTask4_Stream_and_Watch_hear_the_end_while_they_wait(t *testing.T) {
	const atOnce = "A context that has ended ends everything, at once: a program that must stop does not sleep for " +
		"ten minutes first."
	guard.Test(t, atOnce, func(t *guard.T) {
		for what, begin := range map[string]func(*restclient.Request, context.Context) error{
			"Stream": func(r *restclient.Request, ctx context.Context) error { _, err := r.Stream(ctx); return err },
			"Watch":  func(r *restclient.Request, ctx context.Context) error { _, err := r.Watch(ctx); return err },
		} {
			w := newWorld(t)
			w.script("busy, with Retry-After 600", "", fakeapi.Answer(429, "600"))
			ctx, cancel := context.WithCancel(t.Context())
			t.Did("the context is cancelled after a minute")
			time.AfterFunc(time.Minute, cancel)
			t.Did("%s", what)
			t.Rule(atOnce)
			var err error
			d := took(func() { err = begin(w.on("GET"), ctx) })
			require.Equal(t, time.Minute, d, "duration of "+what)
			t.Rule(contextError)
			require.ErrorIs(t, err, context.Canceled, "the error of "+what)
			t.Rule(notSent)
			w.requireSent(1)
		}
	})
}

// The tests below are about watches.

// watchAll starts a watch of all Deployments.
func (w world) watchAll(r *restclient.Request) watch.Interface {
	w.t.Did("Watch")
	events, err := r.Param("watch", "1").Param("resourceVersion", w.ResourceVersion()).Watch(w.t.Context())
	require.NoError(w.t, err, "the error of Watch")
	return events
}

// next returns what the watch sends next, as text.
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

func TestTask4_Watch_tells_what_happens(t *testing.T) {
	guard.Test(t, "Watch returns the events of the answer, each as it comes.", func(t *guard.T) {
		w := newWorld(t)
		events := w.watchAll(w.client.Get().Resource("deployments"))
		w.did("web is created, and deleted")
		w.Create(deployment("web"))
		w.Delete(deployment("web"))
		require.Equal(t, []string{"ADDED web", "DELETED web", "nothing yet"},
			[]string{next(events), next(events), next(events)}, "the next three events")
		t.Rule("Stop closes the body, so that the server ends the watch.")
		t.Did("Stop")
		events.Stop()
		synctest.Wait()
		require.Equal(t, 0, w.Watches(), "open watches of the server after Stop")
	})
}

func TestTask4_Watch_goes_on_beyond_the_timeout(t *testing.T) {
	guard.Test(t, "A watch goes on until the server or the context ends it, or until it is stopped: Timeout does not "+
		"limit it, and its context is not cancelled when Watch returns.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("Timeout 10s")
		events := w.watchAll(w.client.Get().Resource("deployments").Timeout(10 * time.Second))
		defer events.Stop()
		w.did("a minute passes, and web is created")
		time.Sleep(time.Minute)
		w.Create(deployment("web"))
		require.Equal(t, "ADDED web", next(events), "the next event after a minute")
	})
}

func TestTask4_Watch_ends_with_its_context(t *testing.T) {
	guard.Test(t, "A watch ends with its context, and its connection is closed.", func(t *guard.T) {
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
	guard.Test(t, "The limiter is not asked before the first try of a watch: that is one request for many minutes, "+
		"and a program that starts fifty would wait eight seconds for nothing.", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.watchAll(w.on("GET")).Stop()
		require.Equal(t, 0, l.asked, "calls of the limiter by a watch that is not tried again")
		t.Rule("The limiter is asked before every other try of a watch.")
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		w.watchAll(w.on("GET")).Stop()
		require.Equal(t, 2, l.asked, "calls of the limiter by a watch with two retries")
	})
}

func TestTask4_Watch_of_an_error_is_the_servers_status(t *testing.T) {
	guard.Test(t, "An answer other than 200 is an error, as for Do: its reason decides whether a Reflector lists "+
		"again, or waits (#126265).", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("410", "", fakeapi.Answer(410, ""))
		t.Did("Watch")
		_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
		requireIs(t, apierrors.IsResourceExpired, metav1.StatusReasonExpired, err, "Watch")
		t.Rule(bodyClosed)
		require.Equal(t, 0, bodies.open, "open bodies after Watch")
		t.Rule("A server that refuses the connection is an error, not an empty watch.")
		w.did("the server goes away")
		w.Down()
		t.Did("Watch")
		_, err = w.on("GET").Param("watch", "1").Watch(t.Context())
		require.Error(t, err, "the error of Watch without a server")
	})
}

func TestTask4_Watch_of_a_broken_request_is_not_sent(t *testing.T) {
	guard.Test(t, "A broken request is not sent, and the error says which mistake was made first.", func(t *guard.T) {
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
		t.Rule("A broken request is not sent: without its name it would be a watch of all objects.")
		w.requireSent(0)
	})
}

func TestTask4_Watch_hears_its_deadline(t *testing.T) {
	guard.Test(t, "A deadline of the context is the context's error, not an empty watch: the caller would start that "+
		"again at once, and again.", func(t *guard.T) {
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
		isEmpty = "If the connection is reset, or ends without an answer, in every try, the watch is empty, and " +
			"there is no error: servers end watches all the time, and the consumer watches again."
		retries = "A watch is tried again after a reset, or an end without an answer: one request, and ten retries."
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
			events, err := w.on("GET").Param("watch", "1").Watch(t.Context())
			require.NoError(t, err, "the error of Watch")
			require.NotNil(t, events, "the watch")
			require.Equal(t, "the end", next(events), "the 1st event")
			t.Rule(retries)
			w.requireSent(11)
			events.Stop()
		}
	})
}

func TestTask4_Watch_that_times_out_is_begun_again(t *testing.T) {
	const (
		again   = "A watch is tried again if the connection timed out, whatever the verb: it changes nothing."
		isEmpty = "If every try times out, the watch is empty, and there is no error: the consumer watches again."
		retries = "A watch is tried again if the connection timed out, whatever the verb: one request, and ten retries."
	)
	guard.Test(t, again, func(t *guard.T) {
		lost := &timeouts{left: 2}
		w := newWorld(t, lost.before)
		t.Did("two tries time out on the way")
		w.watchAll(w.on("GET")).Stop()
		require.Equal(t, []int{3, 1}, []int{lost.tried, w.sent()}, "tries, and requests that arrived")
		for _, verb := range []string{"GET", "POST"} {
			lost.tried, lost.left = 0, 50
			t.Rule(isEmpty)
			t.Did("all tries of a %s time out on the way", verb)
			events := w.watchAll(w.on(verb))
			require.Equal(t, "the end", next(events), "the 1st event of a "+verb)
			t.Rule(retries)
			require.Equal(t, 11, lost.tried, "tries of a "+verb)
		}
	})
}

// timeouts is a network in which the first requests are lost.
type timeouts struct {
	http.RoundTripper
	left, tried int
}

func (l *timeouts) before(c *rest.Config) {
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { l.RoundTripper = rt; return l })
}

func (l *timeouts) RoundTrip(r *request) (*http.Response, error) {
	l.tried++
	if l.left > 0 {
		l.left--
		return nil, os.ErrDeadlineExceeded
	}
	return l.RoundTripper.RoundTrip(r)
}

func TestTask4_Watch_is_200_and_nothing_else(t *testing.T) {
	const anError = "Any other answer than 200 is an error: 202 and 204 have no stream of events, and the consumer " +
		"would watch again at once, a hundred times a second."
	guard.Test(t, anError, func(t *guard.T) {
		for _, code := range []int{202, 204} {
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
			t.Rule(bodyClosed)
			require.Equal(t, 0, bodies.open, "open bodies after a Watch with %d", code)
		}
	})
}

// endConnection closes the connection in good order, without an answer.
var endConnection fakeapi.Fault = func(w respond, r *request, _ handler) {
	c, _, err := hijack(w)
	if err != nil {
		panic(err)
	}
	c.Close()
}

func TestTask4_Watch_with_an_unknown_content_type_is_an_error(t *testing.T) {
	guard.Test(t, "A content type without a decoder is an error: events cannot "+
		"be found in such a body.", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("200, with a page of HTML", "", fakeapi.Body("text/html", "<html>"))
		t.Did("Watch")
		_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
		require.Error(t, err, "the error of Watch")
	})
}
