package restclient_test

// Task 3: the length and the form of a body, redirects, the readers of the tries, and a second Do after an error.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Body_has_its_length(t *testing.T) {
	const length = "An object or a []byte is sent with its length, and again after a redirect"
	guard.Test(t, length+": some proxies refuse a body of unknown length.", func(t *guard.T) {
		for what, body := range guard.InOrder(map[string]any{"an object": deployment("web"), "a []byte": manifest("web")}) {
			for _, s := range senders[:2] {
				w := newWorld(t)
				var lengths []int64
				note := func(answer fakeapi.Fault) fakeapi.Fault {
					return func(rw respond, r *request, next handler) {
						lengths = append(lengths, r.ContentLength)
						answer(rw, r, next)
					}
				}
				w.script("busy, and then a conflict", "", note(fakeapi.Answer(429, "1")), note(fakeapi.Answer(409, "")))
				t.Rule(length + ": some proxies refuse a body of unknown length.")
				t.Did("POST of %s with %s", what, s.name)
				require.Error(t, s.send(w.on("POST").Body(body), t.Context()), "the error of "+s.name)
				whole := w.Requests("")[0].Body
				require.Equal(t, []int64{int64(len(whole)), int64(len(whole))}, lengths, "the Content-Length of each try")
				for _, code := range []int{307, 308} {
					before := w.sent()
					w.script(fmt.Sprint(code, " to another path, and then a conflict"), "",
						func(rw respond, r *request, _ handler) {
							rw.Header().Set("Location", r.URL.Path+"/elsewhere")
							rw.WriteHeader(code)
						}, fakeapi.Answer(409, ""))
					t.Rule(length + ": the codes 307 and 308 ask for the same request at another place.")
					t.Did("POST of %s with %s", what, s.name)
					require.Error(t, s.send(w.on("POST").Body(body), t.Context()), "the error of "+s.name)
					require.Equal(t, 2, w.sent()-before, "requests sent for a POST that is redirected with %d", code)
					require.Equal(t, whole, w.Requests("")[before+1].Body, "the body after a redirect with %d", code)
				}
			}
		}
	})
}

func TestTask3_Bytes_have_the_form_that_the_caller_names(t *testing.T) {
	guard.Test(t, "A []byte and an io.Reader are sent as they are: the client does not know their form, and adds no "+
		"Content-Type.", func(t *guard.T) {
		w := newWorld(t, func(c *rest.Config) { c.ContentType = "application/vnd.kubernetes.protobuf" })
		t.Did("POST with a []byte, and with an io.Reader, by a client that speaks protobuf")
		w.do(w.on("POST").Body(manifest("web")))
		w.do(w.on("POST").Body(strings.NewReader(string(manifest("web")))))
		w.requireSent(2)
		for i, sent := range w.Requests("") {
			require.Empty(t, sent.Header.Get("Content-Type"), "the content type of request %d", i+1)
		}
	})
}

// hasty is a transport that answers the first try with 429, after a part of its body. It reads the rest of that body
// when it has begun to read the body of the second try.
type hasty struct {
	bodies []string // as far as they have been read
	first  io.ReadCloser
}

func (h *hasty) RoundTrip(r *request) (*http.Response, error) {
	part := make([]byte, 10)
	n, _ := io.ReadFull(r.Body, part)
	h.bodies = append(h.bodies, string(part[:n]))
	answer := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: http.NoBody, Request: r}
	if len(h.bodies) == 1 {
		h.first = r.Body
		return answer, nil
	}
	for i, body := range []io.ReadCloser{h.first, r.Body} {
		rest, _ := io.ReadAll(body)
		h.bodies[i] += string(rest)
		body.Close()
	}
	answer.StatusCode = 409
	return answer, nil
}

func TestTask3_Each_try_has_a_reader_of_its_own(t *testing.T) {
	guard.Test(t, "Each try sends the whole body: when an answer arrives, the transport may still read the body of the "+
		"try before (#113933).", func(t *guard.T) {
		for what, body := range guard.InOrder(map[string]any{"an object": deployment("web"), "a []byte": manifest("web")}) {
			for _, s := range senders[:2] {
				checkReaders(t, s, what, body)
			}
		}
	})
}

// checkReaders asserts that each try of a method has a reader of its own.
func checkReaders(t *guard.T, s sender, what string, body any) {
	h := &hasty{}
	w := newWorld(t, func(c *rest.Config) { c.Wrap(func(http.RoundTripper) http.RoundTripper { return h }) })
	t.Did("POST of %s with %s: the transport reads the end of the 1st body while it reads the 2nd", what, s.name)
	require.Error(t, s.send(w.on("POST").Body(body), t.Context()), "the error of "+s.name)
	whole := newWorld(t)
	s.send(whole.on("POST").Body(body), t.Context())
	require.Equal(t, slices.Repeat([]string{whole.Requests("")[0].Body}, 2), h.bodies, "the bodies of both tries")
}

func TestTask3_Request_can_be_sent_again_after_an_error(t *testing.T) {
	guard.Test(t, "Do does not change the request, which can be sent again: after every kind of error.",
		func(t *guard.T) {
			for _, s := range senders[:2] {
				w := newWorld(t)
				r := w.on("GET").MaxRetries(0)
				again := func(what string, ctx context.Context) {
					t.Did("%s: %s, and %[1]s again", s.name, what)
					require.Error(t, s.send(r, ctx), "the error of %s: %s", s.name, what)
					require.NoError(t, s.send(r, t.Context()), "the error of %s again", s.name)
				}
				w.Script("", fakeapi.Reset(false))
				again("the connection breaks", t.Context())
				w.Script("", fakeapi.Cut(10))
				again("the answer is truncated", t.Context())
				w.Script("", fakeapi.Answer(503, "1"))
				again("503", t.Context())
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				again("the context is cancelled", ctx)
			}
		})
}
