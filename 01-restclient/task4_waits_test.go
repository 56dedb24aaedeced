package restclient_test

// Task 4: every place where a request can wait, and everything that can end the wait.

import (
	"context"
	"io"
	"slices"
	"strings"
	"syscall"
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

// hang is a place where a request can wait for hours.
type hang struct {
	where   string
	arrange func(world, *limiter)
	in      string // the methods that can wait there
	sent    int    // requests
}

// waits is the promise that the method waits there.
func (h hang) waits() string {
	switch {
	case strings.Contains(h.where, "limiter"):
		return asksLimiter + ": here it did not wait that long."
	case strings.Contains(h.where, "Retry-After"):
		return "The request is sent again after 429 and 5xx with Retry-After, as by Do: here it did not wait that long."
	}
	return contextEnds + ", and not before."
}

// drip is an answer of a byte a second, for ten minutes.
func drip(code int, retryAfter string) fakeapi.Fault {
	return func(w respond, r *request, _ handler) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		for range 600 {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
			flush(w)
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return
			}
		}
	}
}

var hangs = []hang{
	{"the limiter lets it pass after an hour", func(_ world, l *limiter) { l.wait = time.Hour }, "Do DoRaw Stream", 0},
	{"the server answers after a day", func(w world, _ *limiter) {
		w.Script("", fakeapi.Slow(24*time.Hour))
	}, "Do DoRaw Stream Watch", 1},
	{"the server sends a byte of the body each second", func(w world, _ *limiter) {
		w.Script("", drip(200, ""))
	}, "Do DoRaw", 1},
	{"the server sends a byte of an error each second", func(w world, _ *limiter) {
		w.Script("", drip(404, ""))
	}, "Do Stream Watch", 1},
	{"429 with Retry-After 600", func(w world, _ *limiter) {
		w.Script("", fakeapi.Answer(429, "600"))
	}, "Do DoRaw Stream Watch", 1},
	{"429 with Retry-After 1, and a byte of the body each second", func(w world, _ *limiter) {
		w.Script("", drip(429, "1"))
	}, "Do DoRaw Watch", 1},
	{"429 with Retry-After 1, and the answer to the retry comes after a day", func(w world, _ *limiter) {
		w.Script("", fakeapi.Answer(429, "1"), fakeapi.Slow(24*time.Hour))
	}, "Do DoRaw Stream Watch", 2},
	{"the connection is reset after a minute, and the retry waits a second", func(w world, _ *limiter) {
		w.Script("", func(rw respond, r *request, next handler) {
			time.Sleep(time.Minute)
			fakeapi.Reset(false)(rw, r, next)
		})
	}, "Do DoRaw Watch", 1},
	{"429 with Retry-After 1, and the limiter lets the retry pass after an hour", func(w world, l *limiter) {
		w.Script("", func(rw respond, r *request, next handler) {
			l.wait = time.Hour
			fakeapi.Answer(429, "1")(rw, r, next)
		})
	}, "Do DoRaw Stream Watch", 1},
	{"the connection is reset, and the limiter lets the retry pass after an hour", func(w world, l *limiter) {
		w.Script("", func(rw respond, r *request, next handler) {
			l.wait = time.Hour
			fakeapi.Reset(false)(rw, r, next)
		})
	}, "Do DoRaw Watch", 1},
}

func TestTask4_Every_wait_ends_with_the_context(t *testing.T) {
	// An odd moment: a loop that polls the context would be late.
	const moment = time.Minute + 234_567_891
	guard.Test(t, contextEnds+".", func(t *guard.T) {
		for _, h := range hangs {
			for _, s := range senders {
				if !slices.Contains(strings.Fields(h.in), s.name) {
					continue
				}
				for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
					l, bodies := &limiter{}, &closings{}
					w := newWorld(t, limitedBy(l), counting(bodies))
					h.arrange(w, l)
					ctx, cancel := context.WithCancel(t.Context())
					if end == context.DeadlineExceeded {
						ctx, cancel = context.WithTimeout(t.Context(), moment)
					} else {
						time.AfterFunc(moment, cancel)
					}
					t.Did("%s: %s; the context ends after %s", s.name, h.where, moment)
					t.Rule(contextEnds + ".")
					checkEnd(t, s.name, h, w, moment, end, func() error { return s.send(w.on("GET"), ctx) })
					cancel()
					t.Rule(nothingLeft + ": also if the context ends a wait.")
					require.EqualValues(t, 0, bodies.open.Load(), "open bodies after %s, where %s", s.name, h.where)
				}
			}
		}
	})
}

// checkEnd asserts that a call of a method ends after that long, with that error, and sends nothing more.
func checkEnd(t *guard.T, method string, h hang, w world, after time.Duration, end error, call func() error) {
	t.Helper()
	var err error
	d := took(func() { err = call() })
	if d < after {
		t.Rule("%s", h.waits())
	}
	require.Equal(t, after, d, "duration of %s, where %s", method, h.where)
	require.ErrorIs(t, err, end, "the error of %s, where %s", method, h.where)
	require.NotContains(t, err.Error(), "limiter", "the text of the error of %s, where %s", method, h.where)
	require.Equal(t, h.sent, w.sent(), "requests sent by %s, where %s", method, h.where)
}

func TestTask4_Every_wait_ends_with_the_Timeout(t *testing.T) {
	const moment = time.Minute + 234_567_891
	guard.Test(t, limits+". It ends every wait except the one before the first try.", func(t *guard.T) {
		for _, h := range hangs[1:] {
			for _, s := range senders[:2] {
				if !slices.Contains(strings.Fields(h.in), s.name) {
					continue
				}
				l := &limiter{}
				w := newWorld(t, limitedBy(l))
				h.arrange(w, l)
				t.Did("%s with Timeout %s: %s", s.name, moment, h.where)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour) // the Timeout ends sooner
				checkEnd(t, s.name, h, w, moment, context.DeadlineExceeded, func() error {
					return s.send(w.on("GET").Timeout(moment), ctx)
				})
				cancel()
			}
		}
	})
}

func TestTask4_Stream_ends_with_its_context(t *testing.T) {
	guard.Test(t, endsStream+".", func(t *guard.T) {
		w := newWorld(t)
		w.script("sends a byte of the body each second", "", drip(200, ""))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute+time.Millisecond, cancel)
		t.Did("Stream; the context is cancelled after a minute")
		body, err := w.on("GET").Stream(ctx)
		require.NoError(t, err, "the error of Stream")
		defer body.Close()
		var text []byte
		d := took(func() { text, err = io.ReadAll(body) })
		require.ErrorIs(t, err, context.Canceled, "the error of the body's Read")
		require.Equal(t, time.Minute+time.Millisecond, d, "duration of reading the body")
		require.Len(t, text, 61, "the bytes of the body")
	})
}

func TestTask4_End_names_the_broken_connection(t *testing.T) {
	const (
		both = "If the last try has no answer, or the context ends before it, the error also names the latest error of " +
			`an earlier try: "… - error from a previous attempt: EOF"`
		watch = "Any other error, even a Status, also names the error of an earlier try, as with Do"

		inTheWait = "in the wait for a retry"
	)
	guard.Test(t, both+". The context's error alone does not name the cause.", func(t *guard.T) {
		for _, s := range senders {
			if s.name == "Stream" { // never sends a request again after a broken connection
				continue
			}
			if s.name == "Watch" {
				t.Rule(watch + ". The context's error alone does not name the cause.")
			}
			for _, where := range []string{inTheWait, "in the limiter's wait before it", "in the retry"} {
				for _, end := range []string{"the context is cancelled", "the deadline", "the Timeout"} {
					if s.name == "Watch" && (end == "the Timeout" || end == "the deadline" && where != inTheWait) {
						continue // a watch has no Timeout, and client-go names the deadline twice
					}
					l, lost := &limiter{}, &lossy{errs: []error{io.EOF, io.EOF}}
					tries := &closings{}
					w := newWorld(t, limitedBy(l), losing(lost), counting(tries))
					w.Script("", fakeapi.Slow(time.Hour))
					moment := 2500 * time.Millisecond
					switch where {
					case inTheWait:
						lost.errs = slices.Repeat(lost.errs, 25)
						moment = 1500 * time.Millisecond
					case "in the limiter's wait before it":
						tries.onTry = func() {
							if lost.tried == 1 { // this is the second try
								l.wait = time.Hour
							}
						}
					}
					r, want := w.on("GET"), context.DeadlineExceeded
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					switch end {
					case "the context is cancelled":
						want = context.Canceled
						time.AfterFunc(moment, cancel)
					case "the deadline":
						ctx, cancel = context.WithTimeout(t.Context(), moment)
					default:
						r.Timeout(moment)
					}
					t.Did("%s: two connections end with EOF; %s: %s", s.name, where, end)
					err := s.send(r, ctx)
					cancel()
					require.ErrorIs(t, err, want, "the error of %s, %s: %s", s.name, where, end)
					require.ErrorContains(t, err, " - error from a previous attempt: EOF", "the error of %s, %s: %s",
						s.name, where, end)
				}
			}
		}
		t.Rule(watch + ".")
		l := &lossy{errs: []error{io.EOF, syscall.ECONNREFUSED}}
		w := newWorld(t, losing(l))
		t.Did("Watch: a connection that ends with EOF, and one that is refused")
		_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "the error of Watch")
		require.ErrorContains(t, err, " - error from a previous attempt: EOF", "the error of Watch")
		for _, c := range []struct {
			what, earlier string
			errs          []error
		}{
			{"an answer of 429, and then refused", "", []error{nil, syscall.ECONNREFUSED}},
			{"EOF, an answer of 429, and then refused", "EOF", []error{io.EOF, nil, syscall.ECONNREFUSED}},
			{"unexpected EOF, EOF, and then refused", "EOF", []error{io.ErrUnexpectedEOF, io.EOF, syscall.ECONNREFUSED}},
		} {
			l.errs = c.errs
			w.Script("", fakeapi.Answer(429, "1"))
			t.Did("Watch: %s", c.what)
			_, err := w.on("GET").Param("watch", "1").Watch(t.Context())
			require.ErrorIs(t, err, syscall.ECONNREFUSED, "the error of Watch")
			_, earlier, _ := strings.Cut(err.Error(), " - error from a previous attempt: ")
			require.Equal(t, c.earlier, earlier, "the error from a previous attempt in the error of Watch")
			w.ClearScripts()
		}
		t.Did("Watch: a connection that ends with EOF, and an answer of 410")
		l.errs = []error{io.EOF}
		w.Script("", fakeapi.Answer(410, ""))
		_, err = w.on("GET").Param("watch", "1").Watch(t.Context())
		requireIs(t, apierrors.IsResourceExpired, metav1.StatusReasonExpired, err, "Watch")
		require.ErrorContains(t, err, " - error from a previous attempt: EOF", "the error of Watch")
	})
}

// lasting is a context that continues after the test. Whatever waits for it is left behind.
type lasting struct {
	context.Context
	done chan struct{}
}

func (l lasting) Done() <-chan struct{} { return l.done }

func TestTask4_Nothing_waits_for_a_context_that_goes_on(t *testing.T) {
	guard.Test(t, nothingLeft+": a program's context lasts for thousands of requests.", func(t *guard.T) {
		ctx := lasting{context.WithoutCancel(t.Context()), make(chan struct{})}
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.Create(deployment("web"))
		for _, s := range senders {
			t.Did("%s with a context that continues: after two answers of 429, after a reset, after 404, and with a Timeout",
				s.name)
			w.Script("", fakeapi.Answer(429, "1"), fakeapi.Answer(429, "1"))
			require.NoError(t, s.send(w.on("GET"), ctx), "the error of "+s.name)
			w.Script("", fakeapi.Reset(false))
			s.send(w.on("GET"), ctx)
			w.Script("", fakeapi.Answer(404, ""))
			require.Error(t, s.send(w.on("GET"), ctx), "the error of %s after 404", s.name)
			require.NoError(t, s.send(w.on("GET").Timeout(time.Hour), ctx), "the error of %s with a Timeout", s.name)
			require.EqualValues(t, 0, bodies.open.Load(), "open bodies after "+s.name)
		}
	})
}

func TestTask4_One_request_does_not_wait_for_another(t *testing.T) {
	guard.Test(t, "Any number of goroutines may use a client: a request that waits does not delay another.",
		func(t *guard.T) {
			for _, s := range senders {
				w := newWorld(t)
				ctx, cancel := context.WithCancel(t.Context())
				t.Did("%s, 60 times, each waits for minutes", s.name)
				for range 20 {
					slow := []fakeapi.Fault{fakeapi.Slow(time.Hour), fakeapi.Answer(429, "3600"), drip(404, "")}
					for _, fault := range slow {
						w.Script("", fault)
						t.Go(func() { s.send(w.on("GET"), ctx) })
						time.Sleep(time.Second)
					}
				}
				for _, other := range senders {
					var err error
					d := took(func() { err = other.send(w.on("GET"), t.Context()) })
					require.NoError(t, err, "the error of %s meanwhile", other.name)
					require.Zero(t, d, "duration of %s meanwhile", other.name)
				}
				cancel()
			}
		})
}

func TestTask4_Cancel_ends_the_waits_of_Stream_and_Watch(t *testing.T) {
	const atOnce = contextEnds + ": a program that stops must not sleep for ten minutes first."
	guard.Test(t, atOnce, func(t *guard.T) {
		for what, begin := range guard.InOrder(map[string]func(*restclient.Request, context.Context) error{
			"Stream": func(r *restclient.Request, ctx context.Context) error { _, err := r.Stream(ctx); return err },
			"Watch":  func(r *restclient.Request, ctx context.Context) error { _, err := r.Watch(ctx); return err },
		}) {
			w := newWorld(t)
			w.script("busy, with Retry-After 600", "", fakeapi.Answer(429, "600"))
			ctx, cancel := context.WithCancel(t.Context())
			t.Did("the context is cancelled after a minute")
			time.AfterFunc(time.Minute, cancel)
			t.Did("%s", what)
			t.Rule(atOnce)
			var err error
			d := took(func() { err = begin(w.on("GET"), ctx) })
			if d == 0 {
				t.Rule("The request is sent again after 429 and 5xx with Retry-After, as by Do: here it did not wait " +
					"that long.")
			}
			require.Equal(t, time.Minute, d, "duration of "+what)
			t.Rule(contextEnds + ", and the error is the context's.")
			require.ErrorIs(t, err, context.Canceled, "the error of "+what)
			t.Rule(notSent)
			w.requireSent(1)
		}
	})
}

func TestTask4_Each_call_has_a_context_of_its_own(t *testing.T) {
	const unchanged = "Do does not change the request, which can be sent again: two goroutines may send it at once, " +
		"with different contexts."
	guard.Test(t, unchanged, func(t *guard.T) {
		for _, s := range senders {
			w := newWorld(t, func(c *rest.Config) { c.QPS, c.Burst = 100, 100 })
			w.script("busy, with Retry-After 60, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "60"))...)
			if s.name == "Stream" || s.name == "Watch" {
				t.Rule("Stream and Watch do not change the request, which can be sent again.")
			}
			r, send := w.on("GET"), s.send
			if s.name == "Watch" { // its sender would change the request
				r.Param("watch", "1")
				send = func(r *restclient.Request, ctx context.Context) error {
					events, err := r.Watch(ctx)
					if err == nil {
						events.Stop()
					}
					return err
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			errs := [2]chan error{make(chan error, 1), make(chan error, 1)}
			for i, ctx := range []context.Context{t.Context(), ctx} {
				t.Did("a goroutine: %s of the same request, with a context of its own", s.name)
				t.Go(func() { errs[i] <- send(r, ctx) })
				time.Sleep(time.Second)
			}
			t.Did("the context of the second goroutine is cancelled")
			cancel()
			require.NoError(t, <-errs[0], "the error of the first "+s.name)
			require.ErrorIs(t, <-errs[1], context.Canceled, "the error of the second "+s.name)
		}
	})
}
