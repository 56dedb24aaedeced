package restclient_test

// Task 4: contexts and timeouts.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// The promises that several tests of this task check.
const (
	contextEnds = "When the context ends, the request ends at once"
	endsDo      = "When the context ends, Do returns at once with the context's error, which does not mention the limiter"
	endsStream  = "When the context ends, Stream returns at once with the context's error, and so does a Read of the body"
	endsWatch   = "When the context ends, Watch returns at once with the context's error, not with an empty watch"
	limits      = "Timeout limits Do and DoRaw: all tries together, and reading the body"
	noLimit     = "Timeout does not limit a stream or a watch"
	notSent     = contextEnds + ", and nothing more is sent."

	builderError = "A builder error is returned, and nothing is sent"
	asksLimiter  = "Each try waits for the rate limiter first, with the context"
	butTheFirst  = "Each try of a watch but the first waits for the rate limiter"
	limiterTime  = "Timeout excludes the limiter's wait before the first try, and includes its wait before a retry"

	limiterRefuses = "If the limiter returns an error, nothing is sent, and the error says " +
		`"client rate limiter Wait returned an error"`

	returnsBody   = "Stream sends the request and returns the body of the answer, which the caller reads and closes"
	streamRetries = "The request is sent again after 429 and 5xx with Retry-After, as by Do, and never after a broken " +
		"connection"

	goesOn       = "A watch lasts until the server or the context ends it, or until Stop"
	only200      = "An answer other than 200 is an error with the server's message"
	watchRetries = "A watch is also sent again, a second later, if the connection is reset, ends without an answer or " +
		"times out, whatever the verb"
	emptyWatch = "If the last try fails like this, Watch returns an empty watch and no error"
)

// errShutdown is the cause of a context's end. The context's error is still context.Canceled.
var errShutdown = errors.New("the program shuts down")

func TestTask4_Nothing_is_sent_for_a_context_that_has_ended(t *testing.T) {
	guard.Test(t, contextEnds+". Nothing is sent, and the error is the context's.", func(t *guard.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		t.Did("the context is cancelled, and has a cause of its own")
		cancel(errShutdown)
		require.ErrorIs(t, w.doIn(ctx, w.on("GET")).Error(), context.Canceled, "the error of Do")
		w.requireSent(0)
	})
}

func TestTask4_Cancel_ends_a_request_that_hangs(t *testing.T) {
	guard.Test(t, endsDo+".", func(t *guard.T) {
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
	guard.Test(t, contextEnds+": a program that stops must not sleep for ten minutes first.", func(t *guard.T) {
		w := newWorld(t)
		w.script("busy, with Retry-After 600", "", fakeapi.Times(5, fakeapi.Answer(429, "600"))...)
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("the context is cancelled after a minute")
		time.AfterFunc(time.Minute, cancel)
		var err error
		d := took(func() { err = w.doIn(ctx, w.on("GET")).Error() })
		require.Equal(t, time.Minute, d, "duration of Do")
		t.Rule(endsDo + ".")
		require.ErrorIs(t, err, context.Canceled, "the error of Do")
		t.Rule(notSent)
		w.requireSent(1)
	})
}

func TestTask4_Timeout_is_for_all_tries_together(t *testing.T) {
	guard.Test(t, limits+", whatever the reason of a retry.", func(t *guard.T) {
		for _, c := range []struct {
			what  string
			fault fakeapi.Fault
			sent  int
		}{
			{"429 with Retry-After 4", fakeapi.Answer(429, "4"), 3},
			{"503 with Retry-After 4", fakeapi.Answer(503, "4"), 3},
			{"a reset of the connection", fakeapi.Reset(false), 10},
		} {
			w := newWorld(t)
			w.script(c.what+", forever", "", fakeapi.Times(50, c.fault)...)
			t.Did("Timeout 9.5s")
			var err error
			d := took(func() { err = w.do(w.on("GET").Timeout(9500 * time.Millisecond)).Error() })
			require.Equal(t, 9500*time.Millisecond, d, "duration of Do")
			require.ErrorIs(t, err, context.DeadlineExceeded, "the error of Do")
			w.requireSent(c.sent)
		}
	})
}

func TestTask4_Timeout_may_be_short_or_long(t *testing.T) {
	guard.Test(t, limits+", however short or long it is.", func(t *guard.T) {
		for _, timeout := range []time.Duration{time.Millisecond, 250 * time.Millisecond, time.Second, 30 * time.Hour} {
			for _, s := range senders[:2] {
				w := newWorld(t)
				w.script("answers after two days", "", fakeapi.Slow(48*time.Hour))
				t.Did("%s with Timeout %s", s.name, timeout)
				var err error
				d := took(func() { err = s.send(w.on("GET").Timeout(timeout), t.Context()) })
				require.Equal(t, timeout, d, "duration of %s with Timeout %s", s.name, timeout)
				require.ErrorIs(t, err, context.DeadlineExceeded, "the error of %s with Timeout %s", s.name, timeout)
			}
		}
		t.Rule(limits + ", whatever the verb.")
		for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD"} {
			w := newWorld(t)
			w.script("answers after two days", "", fakeapi.Slow(48*time.Hour))
			t.Did("a %s with Timeout 1s", verb)
			d := took(func() { w.do(w.on(verb).Timeout(time.Second)) })
			require.Equal(t, time.Second, d, "duration of a %s with Timeout 1s", verb)
		}
	})
}

func TestTask4_Body_is_read_within_the_timeout_too(t *testing.T) {
	guard.Test(t, limits+". Half an answer is not an answer.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		w.script("sends a byte of the body each second", "", fakeapi.SlowBody(1, time.Second))
		t.Did("Timeout 30s")
		var err error
		d := took(func() { err = w.do(w.on("GET").Name("web").Timeout(30 * time.Second)).Into(&appsv1.Deployment{}) })
		require.Equal(t, 30*time.Second, d, "duration of Do and Into")
		t.Rule("When the time is over, the error is context.DeadlineExceeded, also while the body is read.")
		require.ErrorIs(t, err, context.DeadlineExceeded, "the error of Into")
	})
}
