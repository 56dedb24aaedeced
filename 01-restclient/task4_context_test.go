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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Nothing_is_sent_for_a_context_that_has_ended(t *testing.T) {
	guard.Test(t, "the caller has to know that it was his own doing", func(t *guard.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("the context is cancelled")
		cancel()
		require.ErrorIs(t, w.doIn(ctx, w.on("GET")).Error(), context.Canceled)
		t.Rule("nobody waits for the answer")
		require.Equal(t, 0, w.sent())
	})
}

func TestTask4_Cancel_ends_a_request_that_hangs(t *testing.T) {
	guard.Test(t, "the context says why", func(t *guard.T) {
		w := newWorld(t)
		w.script("answers after a day", "", fakeapi.Slow(24*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("the context ends in a minute")
		var err error
		d := took(func() { err = w.doIn(ctx, w.on("GET")).Error() })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		t.Rule("no sooner and no later than the context")
		require.Equal(t, time.Minute, d)
	})
}

func TestTask4_Cancel_ends_the_wait_for_a_retry(t *testing.T) {
	guard.Test(t, "a program that is told to stop must not sleep for ten minutes first", func(t *guard.T) {
		w := newWorld(t)
		w.script("busy, with Retry-After 600", "", fakeapi.Times(5, fakeapi.Answer(429, "600"))...)
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("the context is cancelled after a minute")
		time.AfterFunc(time.Minute, cancel)
		var err error
		d := took(func() { err = w.doIn(ctx, w.on("GET")).Error() })
		require.Equal(t, time.Minute, d)
		t.Rule("the context says why")
		require.ErrorIs(t, err, context.Canceled)
		t.Rule("after the end of the context nothing is sent")
		require.Equal(t, 1, w.sent())
	})
}

func TestTask4_Timeout_is_for_all_tries_together(t *testing.T) {
	guard.Test(t, "the caller said how long he waits, and not how long for each try", func(t *guard.T) {
		w := newWorld(t)
		w.script("busy for ever, with Retry-After 4", "", fakeapi.Times(50, fakeapi.Answer(429, "4"))...)
		t.Did("Timeout 10s")
		var err error
		d := took(func() { err = w.do(w.on("GET").Timeout(10 * time.Second)).Error() })
		require.Equal(t, 10*time.Second, d)
		t.Rule("the time is over")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		t.Rule("at 0, 4 and 8 seconds")
		require.Equal(t, 3, w.sent())
	})
}

func TestTask4_Body_is_read_within_the_timeout_too(t *testing.T) {
	guard.Test(t, "headers that came at once are no answer yet", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		w.script("sends a byte of the body each second", "", fakeapi.SlowBody(1, time.Second))
		t.Did("Timeout 30s")
		var err error
		d := took(func() { err = w.do(w.on("GET").Name("web").Timeout(30 * time.Second)).Into(&appsv1.Deployment{}) })
		require.Equal(t, 30*time.Second, d)
		t.Rule("half an answer is none, and the caller has to know that it was his own time that was over")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestTask4_Limiter_is_asked_before_each_try(t *testing.T) {
	guard.Test(t, "the third try goes well", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		require.NoError(t, w.do(w.on("GET")).Error())
		t.Rule("a retry is a request like any other for the server that it protects")
		require.Equal(t, 3, l.asked)
		t.Did("DoRaw")
		_, err := w.on("GET").DoRaw(t.Context())
		t.Rule("a list")
		require.NoError(t, err)
		t.Rule("DoRaw is a request too")
		require.Equal(t, 4, l.asked)
	})
}

func TestTask4_Limiter_does_not_eat_the_timeout(t *testing.T) {
	guard.Test(t, "a request that has waited for its turn would time out before it was sent, and never get through", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: time.Minute}))
		t.Did("Timeout 10s, and the limiter lets one wait for a minute")
		require.NoError(t, w.do(w.on("GET").Timeout(10*time.Second)).Error())
	})
}

func TestTask4_Limiter_before_a_retry_is_within_the_timeout(t *testing.T) {
	guard.Test(t, "a minute before the first try, which does not count; from then on the caller said how long he "+
		"waits", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: time.Minute}))
		w.script("busy, with Retry-After 1", "", fakeapi.Answer(429, "1"))
		t.Did("Timeout 10s, and the limiter lets each try wait for a minute")
		var err error
		d := took(func() { err = w.do(w.on("GET").Timeout(10 * time.Second)).Error() })
		require.Equal(t, 70*time.Second, d)
		t.Rule("the time is over")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		t.Rule("the second try has not had its turn")
		require.Equal(t, 1, w.sent())
	})
}

func TestTask4_Limiter_hears_the_context(t *testing.T) {
	guard.Test(t, "who waits for the limiter can be called off (#79375)", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: time.Hour}))
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("the limiter lets one wait for an hour; the context is cancelled after a minute")
		time.AfterFunc(time.Minute, cancel)
		var err error
		d := took(func() { err = w.doIn(ctx, w.on("GET")).Error() })
		require.Equal(t, time.Minute, d)
		t.Rule("the context says why")
		require.ErrorIs(t, err, context.Canceled)
		t.Rule("the caller cancelled; whoever reads that the limiter failed looks in the wrong place (#137694)")
		require.NotContains(t, err.Error(), "limiter")
		t.Rule("the limiter has not let it pass")
		require.Equal(t, 0, w.sent())
	})
}

func TestTask4_Limiters_error_is_reported(t *testing.T) {
	guard.Test(t, "the limiter said no, and why", func(t *guard.T) {
		broken := errors.New("no token before the deadline")
		w := newWorld(t, limitedBy(&limiter{err: broken}))
		t.Did("the limiter returns an error")
		require.ErrorIs(t, w.do(w.on("GET")).Error(), broken)
		t.Rule("the limiter has not let it pass")
		require.Equal(t, 0, w.sent())
	})
}

func TestTask4_Limiters_error_ends_the_retries(t *testing.T) {
	guard.Test(t, "the limiter said no, and why", func(t *guard.T) {
		broken := errors.New("no token before the deadline")
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.script("busy, with Retry-After 1, and the limiter says no from then on", "", func(rw respond, r *request, next handler) {
			l.err = broken
			fakeapi.Answer(429, "1")(rw, r, next)
		})
		require.ErrorIs(t, w.do(w.on("GET")).Error(), broken)
		t.Rule("the limiter has not let the second try pass")
		require.Equal(t, 1, w.sent())
	})
}

func TestTask4_Default_limit_is_5_a_second_and_10_at_once(t *testing.T) {
	guard.Test(t, "the config is complete", func(t *guard.T) {
		api := fakeapi.Start(t)
		c, err := restclient.AppsV1For(api.Config())
		require.NoError(t, err)
		t.Did("30 requests, as fast as they go, with a config that says nothing of QPS")
		d := took(func() {
			for range 30 {
				t.Rule("a list")
				require.NoError(t, c.Get().Resource("deployments").Do(t.Context()).Error())
			}
		})
		t.Rule("10 at once, and 20 at 5 a second: a client is polite unless it is told otherwise")
		require.InDelta(t, 4.0, d.Seconds(), 0.01)
	})
}

// --- streams

func TestTask4_Stream_hands_out_the_body(t *testing.T) {
	guard.Test(t, "the headers have come", func(t *guard.T) {
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
		require.NoError(t, err)
		t.Rule("the body belongs to the caller: it comes long after Stream has returned")
		require.Equal(t, 1, bodies.open)
		text, err := io.ReadAll(body)
		t.Rule("a log may go on for hours: Timeout is for requests that end, and a context that is cancelled " +
			"when Stream returns would end this one")
		require.NoError(t, err)
		t.Rule("the bytes are passed on as they come")
		require.Equal(t, "hello", string(text))
		t.Did("Close")
		t.Rule("the caller closes it")
		require.NoError(t, body.Close())
		require.Equal(t, 0, bodies.open)
	})
}

func TestTask4_Stream_of_an_error_is_the_servers_status(t *testing.T) {
	guard.Test(t, "an error is no stream, and its body says what is wrong", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		t.Did("Stream of what is not there")
		_, err := w.on("GET").Name("web").Stream(t.Context())
		require.EqualError(t, err, `deployments.apps "web" not found`)
		t.Rule("nobody else can close it")
		require.Equal(t, 0, bodies.open)
	})
}

func TestTask4_Stream_is_retried_if_the_server_asks_for_it(t *testing.T) {
	guard.Test(t, "a stream is not begun anew behind the caller's back", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.script("breaks the connection", "", fakeapi.Reset(false))
		t.Did("Stream")
		_, err := w.on("GET").Stream(t.Context())
		require.Error(t, err)
		t.Rule("requests, and how often the limiter was asked: not again after a broken connection")
		require.Equal(t, []int{1, 1}, []int{w.sent(), l.asked})
		w.script("busy, once", "", fakeapi.Answer(429, "1"))
		t.Did("Stream")
		body, err := w.on("GET").Stream(t.Context())
		t.Rule("the second try goes well")
		require.NoError(t, err)
		body.Close()
		t.Rule("requests, and how often the limiter was asked: once more after Retry-After")
		require.Equal(t, []int{3, 3}, []int{w.sent(), l.asked})
		t.Did("Stream with a builder error")
		_, err = w.on("GET").Name("..").Stream(t.Context())
		t.Rule("a broken request is not sent")
		require.Error(t, err)
		require.Equal(t, 3, w.sent())
	})
}

func TestTask4_Stream_and_Watch_close_the_answers_in_between(t *testing.T) {
	guard.Test(t, "the third try goes well", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		t.Did("Stream")
		body, err := w.on("GET").Stream(t.Context())
		require.NoError(t, err)
		t.Rule("only the last answer is handed out; the ones before it nobody else can close")
		require.Equal(t, 1, bodies.open)
		body.Close()
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		events := w.watchAll(w.on("GET"))
		require.Equal(t, 1, bodies.open)
		events.Stop()
	})
}

func TestTask4_Stream_and_Watch_hear_the_end_while_they_wait(t *testing.T) {
	guard.Test(t, "a program that is told to stop must not sleep for ten minutes first", func(t *guard.T) {
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
			var err error
			d := took(func() { err = begin(w.on("GET"), ctx) })
			require.Equal(t, time.Minute, d)
			t.Rule("the context says why")
			require.ErrorIs(t, err, context.Canceled)
			t.Rule("after the end of the context nothing is sent")
			require.Equal(t, 1, w.sent())
		}
	})
}

// --- watches

// watchAll begins a watch of all Deployments.
func (w world) watchAll(r *restclient.Request) watch.Interface {
	w.t.Did("Watch")
	events, err := r.Param("watch", "1").Param("resourceVersion", w.ResourceVersion()).Watch(w.t.Context())
	require.NoError(w.t, err, "the server answers 200")
	return events
}

// next says what the watch tells next.
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
	guard.Test(t, "each event as it comes", func(t *guard.T) {
		w := newWorld(t)
		events := w.watchAll(w.client.Get().Resource("deployments"))
		w.did("web is created, and deleted")
		w.Create(deployment("web"))
		w.Delete(deployment("web"))
		require.Equal(t, []string{"ADDED web", "DELETED web", "nothing yet"}, []string{next(events), next(events), next(events)})
		t.Did("Stop")
		events.Stop()
		synctest.Wait()
		t.Rule("Stop closes the body, and the server sees that nobody listens")
		require.Equal(t, 0, w.Watches())
	})
}

func TestTask4_Watch_goes_on_beyond_the_timeout(t *testing.T) {
	guard.Test(t, "a watch ends when the server ends it, or is stopped; a context with a time-out, or one that is "+
		"cancelled when Watch returns, kills it", func(t *guard.T) {
		w := newWorld(t)
		t.Did("Timeout 10s")
		events := w.watchAll(w.client.Get().Resource("deployments").Timeout(10 * time.Second))
		defer events.Stop()
		w.did("a minute passes, and web is created")
		time.Sleep(time.Minute)
		w.Create(deployment("web"))
		require.Equal(t, "ADDED web", next(events))
	})
}

func TestTask4_Watch_ends_with_its_context(t *testing.T) {
	guard.Test(t, "the server answers 200", func(t *guard.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("Watch")
		events, err := w.on("GET").Param("watch", "1").Watch(ctx)
		require.NoError(t, err)
		defer events.Stop()
		t.Did("the context is cancelled")
		cancel()
		for last := ""; last != "the end"; last = next(events) {
			t.Rule("nobody has to wait for a watch whose context has ended")
			require.NotEqual(t, "nothing yet", last)
		}
		t.Rule("the connection is closed")
		require.Equal(t, 0, w.Watches())
	})
}

func TestTask4_Watch_is_not_limited_at_first(t *testing.T) {
	guard.Test(t, "a watch is one request for many minutes; a program that starts fifty of them would wait eight "+
		"seconds for nothing", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.watchAll(w.on("GET")).Stop()
		require.Equal(t, 0, l.asked)
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		w.watchAll(w.on("GET")).Stop()
		t.Rule("to try again is what the limit is for")
		require.Equal(t, 2, l.asked)
	})
}

func TestTask4_Watch_of_an_error_is_the_servers_status(t *testing.T) {
	guard.Test(t, "nobody else can close it", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("410", "", fakeapi.Answer(410, ""))
		t.Did("Watch")
		_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
		t.Rule("what the Status says decides what a Reflector does next: list again, or wait (#126265); got %s", short(err))
		require.True(t, apierrors.IsResourceExpired(err))
		t.Rule("nobody else can close it")
		require.Equal(t, 0, bodies.open)
		w.did("the server goes away")
		w.Down()
		t.Did("Watch")
		_, err = w.on("GET").Param("watch", "1").Watch(t.Context())
		t.Rule("nobody answered, and that is no watch")
		require.Error(t, err)
	})
}

func TestTask4_Watch_of_a_broken_request_is_not_sent(t *testing.T) {
	guard.Test(t, "what went wrong while it was built is why it cannot be sent", func(t *guard.T) {
		w := newWorld(t)
		t.Did(`Name ""`)
		r := w.on("GET").Name("").Param("watch", "1")
		t.Did("Watch")
		_, err := r.Watch(t.Context())
		require.ErrorContains(t, err, r.Error().Error())
		t.Did(`Watch and Stream with Verb "NO METHOD"`)
		_, err = w.client.Verb("NO METHOD").Resource("deployments").Watch(t.Context())
		t.Rule("with a space in it the first line of the request would be another one")
		require.Error(t, err)
		_, err = w.client.Verb("NO METHOD").Resource("deployments").Stream(t.Context())
		require.Error(t, err)
		t.Rule("without its name it would be a watch of all of them")
		require.Equal(t, 0, w.sent())
	})
}

func TestTask4_Watch_hears_its_deadline(t *testing.T) {
	guard.Test(t, "a deadline is a time-out, but the caller's own: an empty watch and no error would be begun "+
		"again at once, and again", func(t *guard.T) {
		why := "a deadline is a time-out, but the caller's own: an empty watch and no error would be begun again at once, and again"
		w := newWorld(t)
		w.script("answers after a day", "", fakeapi.Slow(24*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("the context ends in a minute")
		t.Did("Watch")
		var err error
		d := took(func() { _, err = w.on("GET").Param("watch", "1").Watch(ctx) })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		t.Rule("no sooner and no later than the context")
		require.Equal(t, time.Minute, d)
		t.Did("Watch, again with this context")
		_, err = w.on("GET").Param("watch", "1").Watch(ctx)
		t.Rule("%s", why)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		t.Rule("after the end of the context nothing is sent")
		require.Equal(t, 1, w.sent())
	})
}

func TestTask4_Watch_that_ends_at_once_is_empty(t *testing.T) {
	guard.Test(t, "servers end watches all the time, some before the first byte; who watches begins again anyway", func(t *guard.T) {
		for _, fault := range []struct {
			what string
			is   fakeapi.Fault
		}{{"ends every connection without an answer", endConnection}, {"resets every connection instead of answering", fakeapi.Reset(false)}} {
			w := newWorld(t)
			w.script(fault.what, "", fakeapi.Times(50, fault.is)...)
			t.Did("Watch")
			events, err := w.on("GET").Param("watch", "1").Watch(t.Context())
			require.NoError(t, err)
			t.Rule("no error, so a watch")
			require.NotNil(t, events)
			t.Rule("there was nothing in it")
			require.Equal(t, "the end", next(events))
			t.Rule("one request, and ten retries")
			require.Equal(t, 11, w.sent())
			events.Stop()
		}
	})
}

func TestTask4_Watch_that_times_out_is_begun_again(t *testing.T) {
	guard.Test(t, "tries, and those that arrived: a watch does no harm, so it is begun again", func(t *guard.T) {
		lost := &timeouts{left: 2}
		w := newWorld(t, lost.before)
		t.Did("two tries time out on the way")
		w.watchAll(w.on("GET")).Stop()
		require.Equal(t, []int{3, 1}, []int{lost.tried, w.sent()})
		for _, verb := range []string{"GET", "POST"} {
			lost.tried, lost.left = 0, 50
			t.Did("all tries of a %s time out on the way", verb)
			events := w.watchAll(w.on(verb))
			t.Rule("it is an end like others: who watches begins again anyway")
			require.Equal(t, "the end", next(events))
			t.Rule("one request, and ten retries, whatever the verb")
			require.Equal(t, 11, lost.tried)
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
	guard.Test(t, "it is no error, but no stream of events either: who watched that would see an end, begin "+
		"again, and see an end, a hundred times a second", func(t *guard.T) {
		for _, code := range []int{202, 204} {
			bodies := &closings{}
			w := newWorld(t, counting(bodies))
			w.script(fmt.Sprint(code, ", and no body"), "", func(rw respond, _ *request, _ handler) {
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(code)
			})
			t.Did("Watch")
			_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
			require.Error(t, err)
			t.Rule("nobody else can close it")
			require.Equal(t, 0, bodies.open)
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
	guard.Test(t, "nobody knows how to find events in that", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("200, with a page of HTML", "", fakeapi.Body("text/html", "<html>"))
		t.Did("Watch")
		_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
		require.Error(t, err)
	})
}
