package restclient_test

// Task 4: the rate limit.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Limiter_is_asked_before_each_try(t *testing.T) {
	guard.Test(t, asksLimiter+": for the server, a retry is another request.", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		require.NoError(t, w.do(w.on("GET")).Error(), "the error of Do")
		require.Equal(t, 3, l.asked, "calls of the limiter by Do")
		t.Did("DoRaw")
		_, err := w.on("GET").DoRaw(t.Context())
		require.NoError(t, err, "the error of DoRaw")
		require.Equal(t, 4, l.asked, "calls of the limiter by Do and DoRaw")
		for _, s := range senders {
			start := time.Now()
			w.script("busy, with Retry-After 60", "", fakeapi.Answer(429, "60"))
			t.Rule(asksLimiter + ", and a retry after its other wait: the limiter counts requests when they are sent.")
			t.Did("%s", s.name)
			require.NoError(t, s.send(w.on("GET"), t.Context()), "the error of "+s.name)
			require.Equal(t, time.Minute, l.last.Sub(start), "time at which %s asked the limiter last", s.name)
		}
		asked := l.asked
		t.Rule("A request that is not sent does not wait for the limiter.")
		for _, s := range senders {
			t.Did("%s with a builder error, and a POST with an empty namespace", s.name)
			require.Error(t, s.send(w.on("GET").Name(".."), t.Context()), "the error of "+s.name)
			if s.name == "Do" || s.name == "DoRaw" {
				post := w.client.Post().Namespace("").Resource("deployments")
				require.Error(t, s.send(post, t.Context()), "the error of "+s.name)
			}
			require.Equal(t, asked, l.asked, "calls of the limiter after "+s.name)
		}
	})
}

func TestTask4_Limiter_is_asked_whatever_the_reason_of_the_retry(t *testing.T) {
	guard.Test(t, asksLimiter+": after 429, after each 5xx, and after a broken connection.", func(t *guard.T) {
		reasons := map[string]fakeapi.Fault{"a reset of the connection": fakeapi.Reset(false)}
		for _, code := range []int{429, 500, 503, 599} {
			for _, seconds := range []string{"0", "1"} {
				reasons[fmt.Sprint(code, " with Retry-After ", seconds)] = fakeapi.Answer(code, seconds)
			}
		}
		for what, fault := range guard.InOrder(reasons) {
			for _, s := range senders {
				l := &limiter{}
				w := newWorld(t, limitedBy(l))
				w.script(what+", twice", "", fakeapi.Times(2, fault)...)
				t.Did("%s", s.name)
				s.send(w.on("GET"), t.Context())
				want := w.sent()
				if s.name == "Watch" { // the first try of a watch does not wait
					want--
				}
				require.Equal(t, want, l.asked, "calls of the limiter by %s, in %d tries, after %s", s.name, w.sent(), what)
			}
		}
	})
}

func TestTask4_Limiter_is_asked_whatever_the_verb(t *testing.T) {
	guard.Test(t, asksLimiter+": a deletion costs the server as much as a GET.", func(t *guard.T) {
		for _, verb := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"} {
			for _, s := range senders {
				l := &limiter{}
				w := newWorld(t, limitedBy(l))
				w.script("429 with Retry-After 1", "", fakeapi.Answer(429, "1"))
				t.Did("%s of an object with %s", verb, s.name)
				s.send(w.on(verb).Name("web"), t.Context())
				want := 2
				if s.name == "Watch" {
					t.Rule(butTheFirst + ": whatever the verb.")
					want = 1
				}
				require.Equal(t, want, l.asked, "calls of the limiter by a %s with %s, in two tries", verb, s.name)
			}
			t.Rule(asksLimiter + ": a deletion costs the server as much as a GET.")
		}
	})
}

func TestTask4_Timeout_excludes_the_limiters_first_wait(t *testing.T) {
	guard.Test(t, limiterTime+". Otherwise a queue of requests times out before any is sent.", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: 30 * time.Hour}))
		for _, s := range senders[:3] {
			t.Did("%s with Timeout 10s, and each request waits for the limiter for 30 hours", s.name)
			require.NoError(t, s.send(w.on("GET").Timeout(10*time.Second), t.Context()), "the error of "+s.name)
		}
	})
}

func TestTask4_Limiter_before_a_retry_is_within_the_timeout(t *testing.T) {
	guard.Test(t, limiterTime+": here Do takes that first minute, and then 10 seconds.", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: time.Minute}))
		w.script("busy, with Retry-After 1", "", fakeapi.Answer(429, "1"))
		t.Did("Timeout 10s, and each try waits for the limiter for a minute")
		var err error
		d := took(func() { err = w.do(w.on("GET").Timeout(10 * time.Second)).Error() })
		require.Equal(t, 70*time.Second, d, "duration of Do")
		require.ErrorIs(t, err, context.DeadlineExceeded, "the error of Do")
		t.Rule("Each try waits for the rate limiter first, with the context. If that wait ends early, " +
			"nothing is sent.")
		w.requireSent(1)
		t.Rule(noLimit + ", nor the limiter's wait before a retry of it.")
		for _, s := range senders[2:] {
			w.script("busy, with Retry-After 1", "", fakeapi.Answer(429, "1"))
			t.Did("%s with Timeout 10s, and each try waits for the limiter for a minute", s.name)
			before := w.sent()
			require.NoError(t, s.send(w.on("GET").Timeout(10*time.Second), t.Context()), "the error of "+s.name)
			require.Equal(t, 2, w.sent()-before, "requests sent by "+s.name)
		}
	})
}

func TestTask4_Context_ends_the_limiters_wait(t *testing.T) {
	guard.Test(t, asksLimiter+". So its wait can be cancelled (#79375).", func(t *guard.T) {
		w := newWorld(t, limitedBy(&limiter{wait: time.Hour}))
		ctx, cancel := context.WithCancelCause(t.Context())
		t.Did("each request waits for the limiter for an hour; the context is cancelled after a minute, with a cause")
		time.AfterFunc(time.Minute, func() { cancel(errShutdown) })
		var err error
		d := took(func() { err = w.doIn(ctx, w.on("GET")).Error() })
		require.Equal(t, time.Minute, d, "duration of Do")
		t.Rule(endsDo + ": the limiter is not the cause, and its name misleads the reader (#137694).")
		require.ErrorIs(t, err, context.Canceled, "the error of Do")
		require.NotContains(t, err.Error(), "limiter", "the text of the error of Do")
		t.Rule("Each try waits for the rate limiter first, with the context. If that wait ends early, " +
			"nothing is sent.")
		w.requireSent(0)
	})
}

func TestTask4_Limiters_error_is_reported(t *testing.T) {
	guard.Test(t, limiterRefuses+".", func(t *guard.T) {
		broken := errors.New("no token before the deadline")
		l := &limiter{err: broken}
		w := newWorld(t, limitedBy(l))
		t.Did("the limiter returns an error")
		r := w.on("GET")
		require.ErrorIs(t, w.do(r).Error(), broken, "the error of Do")
		w.requireSent(0)
		t.Rule(limiterRefuses + ". Do does not ask it again: the program is already too fast.")
		require.Equal(t, 1, l.asked, "calls of the limiter")
		t.Rule("Do does not change the request, which can be sent again: after every kind of error.")
		l.err = nil
		t.Did("the same request again, and the limiter returns no error")
		require.NoError(t, w.do(r).Error(), "the error of Do again")
	})
}

func TestTask4_Limiters_error_ends_the_retries(t *testing.T) {
	guard.Test(t, limiterRefuses+". That is also true before a retry.", func(t *guard.T) {
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
		t.Rule("Clients of one config share its RateLimiter. If it has none, each client has its own limiter.")
		other, err := restclient.AppsV1For(api.Config())
		require.NoError(t, err, "the error of AppsV1For")
		t.Did("10 more, with another client of the same config")
		d = took(func() {
			for range 10 {
				require.NoError(t, other.Get().Resource("deployments").Do(t.Context()).Error(), "the error of Do")
			}
		})
		require.Zero(t, d, "duration of the 10 requests of the other client")
		config, shared := api.Config(), &limiter{}
		config.RateLimiter = shared
		for range 2 {
			c, err := restclient.AppsV1For(config)
			require.NoError(t, err, "the error of AppsV1For")
			t.Did("a request with a client of a config with a RateLimiter")
			require.NoError(t, c.Get().Resource("deployments").Do(t.Context()).Error(), "the error of Do")
		}
		require.Equal(t, 2, shared.asked, "calls of the shared limiter")
	})
}
