package restclient_test

// Task 3: the answers before a retry.

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Answer_of_unknown_length_keeps_its_connection_too(t *testing.T) {
	guard.Test(t, "Before a retry, at most 2 KiB of the answer are read, even if its length is unknown. Here "+
		"that is the whole answer, so the connection can be used again (#31016).", func(t *guard.T) {
		w := newWorld(t)
		busy := func(rw respond, _ *request, _ handler) {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(429)
			flush(rw)
			io.WriteString(rw, "too many requests")
		}
		for _, s := range senders[:2] {
			w.script("busy, five times, in an answer without a length", "", fakeapi.Times(5, busy)...)
			t.Did("%s", s.name)
			require.NoError(t, s.send(w.on("GET"), t.Context()), "the error of "+s.name)
			require.Equal(t, 1, w.connections(), "connections made, after "+s.name)
		}
	})
}

func TestTask3_Connection_is_kept_after_every_code(t *testing.T) {
	guard.Test(t, nothingLeft+": unless an answer is read to its end before a retry, each retry makes a new connection "+
		"to a busy server. The limit is 2 KiB, and here the answer is shorter.", func(t *guard.T) {
		for code, wait := range guard.InOrder(map[int]string{429: "0", 500: "1", 503: "-1", 504: "1"}) {
			for _, known := range []bool{true, false} {
				w := newWorld(t)
				busy := func(rw respond, _ *request, _ handler) {
					rw.Header().Set("Retry-After", wait)
					if known {
						rw.Header().Set("Content-Length", "2000")
					}
					rw.WriteHeader(code)
					flush(rw)
					io.WriteString(rw, strings.Repeat("x", 2000))
				}
				t.Did("the server: %d with 2000 bytes, Retry-After %s, five times for each request; Content-Length: %t",
					code, wait, known)
				for _, s := range senders[:2] {
					w.Script("", fakeapi.Times(5, busy)...)
					t.Did("%s", s.name)
					require.NoError(t, s.send(w.on("GET"), t.Context()), "the error of "+s.name)
					require.Equal(t, 1, w.connections(), "connections made, after "+s.name)
				}
			}
		}
	})
}

func TestTask3_Truncated_answer_asks_for_a_retry_too(t *testing.T) {
	guard.Test(t, asked+": the header has arrived, and the body does not matter.", func(t *guard.T) {
		for _, s := range senders[:2] {
			w := newWorld(t)
			w.script("503 with Retry-After 1, and the connection breaks in its body", "",
				func(rw respond, _ *request, _ handler) {
					rw.Header().Set("Retry-After", "1")
					rw.Header().Set("Content-Length", "1000")
					rw.WriteHeader(503)
					io.WriteString(rw, "half")
					flush(rw)
					panic(http.ErrAbortHandler)
				})
			t.Did("GET with %s", s.name)
			require.NoError(t, s.send(w.on("GET"), t.Context()), "the error of "+s.name)
			w.requireSent(2)
		}
	})
}
