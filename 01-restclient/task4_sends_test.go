package restclient_test

// Task 4: requests that are sent several times.

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Each_call_has_all_retries(t *testing.T) {
	const again = "Stream and Watch do not change the request, which can be sent again, and neither do Do and DoRaw: " +
		"each call has all of its retries."
	guard.Test(t, again, func(t *guard.T) {
		for _, s := range senders {
			w := newWorld(t)
			r := w.on("GET").MaxRetries(2)
			for i := range 3 {
				w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
				t.Did("%s with MaxRetries(2), call %d", s.name, i+1)
				require.NoError(t, s.send(r, t.Context()), "the error of call %d of %s", i+1, s.name)
				require.Equal(t, 3*(i+1), w.sent(), "requests sent after call %d of %s", i+1, s.name)
			}
		}
	})
}

func TestTask4_Each_method_can_be_sent_again_after_an_error(t *testing.T) {
	const again = "Stream and Watch do not change the request, which can be sent again, and neither do Do and DoRaw: " +
		"an error belongs to its call."
	guard.Test(t, again, func(t *guard.T) {
		for _, s := range senders {
			l := &lossy{}
			w := newWorld(t, losing(l))
			r := w.on("GET")
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			for what, failing := range guard.InOrder(map[string]struct {
				ctx   context.Context
				errs  []error
				fault []fakeapi.Fault
			}{
				"the connection is refused":           {ctx: t.Context(), errs: unreachable[:1]},
				"the connection ends, and is refused": {ctx: t.Context(), errs: []error{io.EOF, unreachable[0]}},
				"an answer of 403":                    {ctx: t.Context(), fault: fakeapi.Times(1, fakeapi.Answer(403, ""))},
				"the context has ended":               {ctx: ended},
			}) {
				l.errs = failing.errs
				w.Script("", failing.fault...)
				t.Did("%s: %s", s.name, what)
				require.Error(t, s.send(r, failing.ctx), "the error of %s: %s", s.name, what)
				t.Did("%s again", s.name)
				l.errs = nil
				require.NoError(t, s.send(r, t.Context()), "the error of %s again, after: %s", s.name, what)
			}
		}
	})
}
