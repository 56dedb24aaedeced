package restclient_test

// Task 3: the length of a body, and redirects.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

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
