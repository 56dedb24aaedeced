package restclient_test

// Task 4: the retries of Stream and Watch, and the errors of the limiter.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Stream_and_Watch_retry_as_Do_does(t *testing.T) {
	const (
		watchAsked = "The request is sent again after 429 and 5xx with Retry-After, as by Do"
		sets       = "MaxRetries limits how often the request is sent again, by default 10 times"
	)
	rules := map[string]string{"Stream": streamRetries, "Watch": watchAsked}
	guard.Test(t, watchAsked+".", func(t *guard.T) {
		for _, s := range senders[2:] {
			for _, a := range []answered{
				{"GET", 429, "7", 2, ""}, {"GET", 503, "0", 2, ""}, {"POST", 599, "1", 2, ""}, {"GET", 500, "-1", 2, ""},
				{"GET", 504, "40", 2, ""},
				{"GET", 429, "", 1, ""}, {"GET", 500, "soon", 1, ""}, {"GET", 409, "1", 1, ""}, {"GET", 410, "1", 1, ""},
			} {
				w := newWorld(t)
				w.script("answers", "", fakeapi.Answer(a.code, a.retryAfter))
				t.Rule("%s.", rules[s.name])
				t.Did("a %s with %s, answered %d with Retry-After %q", a.verb, s.name, a.code, a.retryAfter)
				d := took(func() { s.send(w.on(a.verb), t.Context()) })
				require.Equal(t, a.sent, w.sent(), "requests sent by %s after %d with Retry-After %q", s.name, a.code,
					a.retryAfter)
				if wait, _ := strconv.Atoi(a.retryAfter); a.sent > 1 {
					require.Equal(t, time.Duration(max(wait, 0))*time.Second, d,
						"duration of %s after %d with Retry-After %q", s.name, a.code, a.retryAfter)
				}
			}
			for retries, sent := range guard.InOrder(map[int]int{0: 1, 3: 4, 12: 13}) {
				w := newWorld(t)
				w.script("busy forever", "", fakeapi.Times(50, fakeapi.Answer(429, "1"))...)
				t.Rule(sets + ".")
				t.Did("%s with MaxRetries(%d)", s.name, retries)
				require.Error(t, s.send(w.on("GET").MaxRetries(retries), t.Context()), "the error of "+s.name)
				require.Equal(t, sent, w.sent(), "requests sent by %s with MaxRetries(%d)", s.name, retries)
			}
			checkBodies(t, s)
		}
	})
}

// checkBodies asserts how a method sends bodies, if the answer to the first try is 429.
func checkBodies(t *guard.T, s sender) {
	const once = "A request whose Body is an io.Reader is sent once, in each of the four methods."
	w := newWorld(t)
	w.script("busy, with Retry-After 1", "", fakeapi.Answer(429, "1"))
	t.Rule("Each try sends the whole body, in each of the four methods.")
	t.Did("%s with a []byte as its Body", s.name)
	s.send(w.on("POST").Body(manifest("web")), t.Context())
	w.requireSent(2)
	for i, sent := range w.Requests("") {
		require.Equal(t, string(manifest("web")), sent.Body, "the body of try %d of %s", i+1, s.name)
	}
	t.Rule("A retry has the same method, URL and headers as the first try, in each of the four methods.")
	first, again := w.Requests("")[0], w.Requests("")[1]
	require.Equal(t, first.String(), again.String(), "the method and URL of try 2 of %s", s.name)
	require.Equal(t, first.Header, again.Header, "the headers of try 2 of %s", s.name)
	t.Rule("Each try sends the whole body, in each of the four methods.")
	checkReaders(t, s, "a []byte", manifest("web"))
	w.script("busy, with Retry-After 1", "", fakeapi.Answer(429, "1"))
	t.Rule(once)
	t.Did("%s with an io.Reader as its Body", s.name)
	reader := io.MultiReader(strings.NewReader(string(manifest("web"))))
	require.Error(t, s.send(w.on("POST").Body(reader), t.Context()), "the error of "+s.name)
	w.requireSent(3)
	w.script("resets the connection instead of answering", "", fakeapi.Reset(false))
	t.Did("%s of a GET with an io.Reader as its Body", s.name)
	err := s.send(w.on("GET").Body(io.MultiReader(strings.NewReader("{}"))), t.Context())
	w.requireSent(4)
	if s.name == "Watch" {
		t.Rule(emptyWatch + ": a reader makes the first try the last.")
		require.NoError(t, err, "the error of Watch")
	}
}

func TestTask4_Last_answer_is_the_servers_status(t *testing.T) {
	const last = "After the last try, Do returns the answer or error of that try, and so do Stream and Watch: the error " +
		"has the server's message."
	guard.Test(t, last, func(t *guard.T) {
		for _, s := range []sender{senders[0], senders[2], senders[3]} { // DoRaw returns the body with its error
			for _, code := range []int{429, 500, 503, 504} {
				for _, retries := range []int{0, 2} {
					w := newWorld(t)
					message := fmt.Sprintf("the server is busy until noon (%d)", code)
					w.script(fmt.Sprint(code, " with Retry-After 1 and a Status, forever"), "", fakeapi.Times(20,
						func(rw respond, _ *request, _ handler) {
							rw.Header().Set("Content-Type", "application/json")
							rw.Header().Set("Retry-After", "1")
							rw.WriteHeader(code)
							fmt.Fprintf(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":%q}`, code, message)
						})...)
					t.Did("%s with MaxRetries(%d)", s.name, retries)
					err := s.send(w.on("GET").MaxRetries(retries), t.Context())
					require.ErrorContains(t, err, message, "the error of %s after %d tries", s.name, retries+1)
					w.requireSent(retries + 1)
				}
			}
		}
	})
}

func TestTask4_Stream_and_Watch_after_broken_connections(t *testing.T) {
	guard.Test(t, watchRetries+".", func(t *guard.T) {
		l := &lossy{}
		w := newWorld(t, losing(l))
		check := func(s sender, rule, verb string, err error, tries int) {
			l.errs, l.tried = []error{err}, 0
			t.Rule("%s.", rule)
			t.Did("a %s with %s, whose connection ends with: %v", verb, s.name, err)
			var got error
			d := took(func() { got = s.send(w.on(verb), t.Context()) })
			require.Equal(t, tries, l.tried, "tries of %s with a %s after: %v", s.name, verb, err)
			require.Equal(t, time.Duration(tries-1)*time.Second, d, "duration of %s with a %s after: %v", s.name, verb, err)
			if tries == 1 {
				require.ErrorIs(t, got, err, "the error of %s after: %v", s.name, err)
			}
		}
		stream, watch := senders[2], senders[3]
		for _, err := range append(timeouts, breaks...) {
			check(watch, watchRetries, "GET", err, 2)
			check(stream, streamRetries, "GET", err, 1)
		}
		for _, verb := range []string{"POST", "PUT", "DELETE"} {
			check(watch, watchRetries, verb, breaks[0], 2)
		}
		check(stream, streamRetries, "GET", errLost, 1)
		for _, err := range unreachable {
			check(watch, "A watch is not sent again after any other error: there is no server, or it is the wrong one", "GET",
				err, 1)
			check(stream, streamRetries, "GET", err, 1)
		}
	})
}

func TestTask4_Earlier_error_outlives_an_answer(t *testing.T) {
	const both = "If the last try has no answer, or the context ends before it, the error also names the latest error of " +
		`an earlier try: "… - error from a previous attempt: EOF"`
	guard.Test(t, both+", also if an answer of 429 came in between.", func(t *guard.T) {
		refusal := errors.New("no token before the deadline")
		for _, s := range []sender{senders[0], senders[1], senders[3]} { // Stream returns the first such error
			for where, busy := range guard.InOrder(map[string]func(*limiter) fakeapi.Fault{
				"the context ends in the wait for a retry": func(*limiter) fakeapi.Fault { return fakeapi.Answer(429, "3600") },
				"the context ends in the limiter's wait": func(l *limiter) fakeapi.Fault {
					return func(rw respond, r *request, next handler) {
						l.wait = time.Hour
						fakeapi.Answer(429, "0")(rw, r, next)
					}
				},
				"the limiter returns an error": func(l *limiter) fakeapi.Fault {
					return func(rw respond, r *request, next handler) {
						l.err = refusal
						fakeapi.Answer(429, "0")(rw, r, next)
					}
				},
			}) {
				l := &limiter{}
				w := newWorld(t, limitedBy(l), losing(&lossy{errs: []error{io.EOF}}))
				w.Script("", busy(l))
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, cancel)
				t.Did("%s: EOF, an answer of 429, and then %s", s.name, where)
				err := s.send(w.on("GET"), ctx)
				cancel()
				require.ErrorContains(t, err, " - error from a previous attempt: EOF", "the error of %s: %s", s.name, where)
			}
		}
	})
}

func TestTask4_Broken_connection_is_the_only_one_lost(t *testing.T) {
	guard.Test(t, nothingLeft+": one connection is broken, and the others are used again.", func(t *guard.T) {
		for _, s := range senders[2:] {
			checkOthersStay(t, s)
		}
	})
}

// timeouts are errors of a connection on which no data arrived for too long.
var timeouts = []error{
	os.ErrDeadlineExceeded,
	&net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded},
	&net.DNSError{Err: "i/o timeout", Name: "api", IsTimeout: true},
}

func TestTask4_Limiter_refuses_what_would_miss_the_deadline(t *testing.T) {
	const soon = limiterRefuses + `. Its best-known error, "would exceed context deadline", comes at once, not at ` +
		"the deadline."
	guard.Test(t, soon, func(t *guard.T) {
		for _, s := range senders {
			w := newWorld(t, func(c *rest.Config) { c.QPS, c.Burst = 0.1, 1 })
			require.NoError(t, w.do(w.on("GET")).Error(), "the error of Do")
			sent := w.sent()
			if s.name == "Watch" { // it asks the limiter before its second try only
				w.script("429 with Retry-After 1", "", fakeapi.Answer(429, "1"))
				sent++
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			t.Did("%s, 5 seconds before the context ends, and 10 before the limiter lets a request pass", s.name)
			var err error
			d := took(func() { err = s.send(w.on("GET"), ctx) })
			cancel()
			require.ErrorContains(t, err, "client rate limiter Wait returned an error: rate: Wait(n=1) would exceed "+
				"context deadline", "the error of "+s.name)
			require.Less(t, d, 2*time.Second, "duration of "+s.name)
			require.Equal(t, sent, w.sent(), "requests sent")
		}
	})
}

func TestTask4_Limiters_error_ends_every_method(t *testing.T) {
	guard.Test(t, limiterRefuses+". That is true in each method, and also before a retry.", func(t *guard.T) {
		refusal := errors.New("no token before the deadline")
		for _, s := range senders {
			l := &limiter{}
			w := newWorld(t, limitedBy(l))
			w.script("busy, with Retry-After 1, and the limiter returns an error from then on", "",
				func(rw respond, r *request, next handler) {
					l.err = refusal
					fakeapi.Answer(429, "1")(rw, r, next)
				})
			t.Did("%s", s.name)
			err := s.send(w.on("GET"), t.Context())
			require.ErrorIs(t, err, refusal, "the error of %s", s.name)
			require.ErrorContains(t, err, "client rate limiter Wait returned an error", "the error of %s", s.name)
			w.requireSent(1)
		}
	})
}

func TestTask4_Limiters_error_after_a_reset_is_no_empty_watch(t *testing.T) {
	guard.Test(t, limiterRefuses+". A limiter's error that names an earlier reset is still an "+
		"error.", func(t *guard.T) {
		refusal := errors.New("no token before the deadline")
		lost := &lossy{errs: breaks[1:2]}
		l := &limiter{err: refusal}
		w := newWorld(t, limitedBy(l), losing(lost))
		t.Did("Watch: the connection is reset, and the limiter returns an error before the second try")
		_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
		require.ErrorIs(t, err, refusal, "the error of Watch")
		t.Rule("Any other error, even a Status, also names the error of an earlier try, as with Do.")
		require.ErrorContains(t, err, " - error from a previous attempt: read tcp", "the error of Watch")
	})
}
