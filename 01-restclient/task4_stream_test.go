package restclient_test

// Task 4: streams.

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Stream_hands_out_the_body(t *testing.T) {
	guard.Test(t, returnsBody+".", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("sends a byte of the body each second, twice", "",
			fakeapi.Times(2, func(rw respond, r *request, _ handler) {
				for _, b := range "hello" {
					flush(rw)
					time.Sleep(time.Second)
					io.WriteString(rw, string(b))
				}
			})...)
		t.Did("Stream, and read what it returns")
		body, err := w.on("GET").Stream(t.Context())
		require.NoError(t, err, "the error of Stream")
		text, err := io.ReadAll(body)
		require.NoError(t, err, "the error of the body's Read")
		require.Equal(t, "hello", string(text), "the bytes of the body")
		require.NoError(t, body.Close(), "the error of the body's Close")
		t.Did("Stream, with Timeout 2s")
		d := took(func() { body, err = w.on("GET").Timeout(2 * time.Second).Stream(t.Context()) })
		require.NoError(t, err, "the error of Stream")
		require.Zero(t, d, "duration of Stream, while no byte of the body has come")
		require.EqualValues(t, 1, bodies.open.Load(), "open bodies after Stream")
		t.Rule(noLimit + ": a log may continue for hours.")
		text, err = io.ReadAll(body)
		require.NoError(t, err, "the error of the body's Read")
		require.Equal(t, "hello", string(text), "the bytes of the body")
		t.Rule(returnsBody + ": Close closes the connection's body.")
		t.Did("Close")
		require.NoError(t, body.Close(), "the error of the body's Close")
		require.EqualValues(t, 0, bodies.open.Load(), "open bodies after Close")
	})
}

func TestTask4_Stream_is_as_long_as_the_answer(t *testing.T) {
	guard.Test(t, returnsBody+", however long it is.", func(t *guard.T) {
		w := newWorld(t)
		const length = 5 << 20
		w.script("an answer of 5 MiB", "", func(rw respond, _ *request, _ handler) {
			io.WriteString(rw, strings.Repeat("x", length))
		})
		t.Did("Stream")
		body, err := w.on("GET").Stream(t.Context())
		require.NoError(t, err, "the error of Stream")
		n, err := io.Copy(io.Discard, body)
		require.NoError(t, err, "the error of the body's Read")
		require.EqualValues(t, length, n, "the length of the body")
		body.Close()
		t.Rule(returnsBody + ": half an answer does not look like a whole one.")
		w.script("an answer that breaks off after 10 bytes", "", fakeapi.Cut(10))
		t.Did("Stream, and reading its body to the end")
		body, err = w.on("GET").Stream(t.Context())
		require.NoError(t, err, "the error of Stream")
		_, err = io.ReadAll(body)
		require.Error(t, err, "the error of the body's Read at the point where the answer breaks off")
		body.Close()
		t.Rule(returnsBody + ": a caller that has seen enough closes a log that continues for hours.")
		w.script("sends a byte of the body each second, for ten minutes", "", drip(200, ""))
		t.Did("Stream, a Read, and Close")
		body, err = w.on("GET").Stream(t.Context())
		require.NoError(t, err, "the error of Stream")
		_, err = body.Read(make([]byte, 1))
		require.NoError(t, err, "the error of the body's Read")
		require.Zero(t, took(func() { body.Close() }), "duration of Close")
	})
}

func TestTask4_Timeout_does_not_end_the_wait_for_a_stream(t *testing.T) {
	guard.Test(t, noLimit+", neither before its first byte nor after.", func(t *guard.T) {
		for _, s := range senders[2:] {
			w := newWorld(t)
			w.script("answers after a minute", "", fakeapi.Slow(time.Minute))
			t.Did("%s with Timeout 10s", s.name)
			var err error
			d := took(func() { err = s.send(w.on("GET").Timeout(10*time.Second), t.Context()) })
			require.NoError(t, err, "the error of "+s.name)
			require.Equal(t, time.Minute, d, "duration of "+s.name)
			w.script("busy, six times, with Retry-After 10", "", fakeapi.Times(6, fakeapi.Answer(429, "10"))...)
			d = took(func() { err = s.send(w.on("GET").Timeout(5*time.Second), t.Context()) })
			require.NoError(t, err, "the error of "+s.name+" after six retries")
			require.Equal(t, time.Minute, d, "duration of "+s.name+" with six retries")
		}
	})
}

func TestTask4_Stream_of_an_error_is_the_servers_status(t *testing.T) {
	guard.Test(t, "An answer other than 2xx is an error with the server's message.", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		t.Did("Stream of a Deployment that does not exist")
		_, err := w.on("GET").Name("web").Stream(t.Context())
		require.ErrorContains(t, err, `deployments.apps "web" not found`, "the error of Stream")
		t.Rule(nothingLeft + ": the body of an answer is closed, unless the caller receives it.")
		require.EqualValues(t, 0, bodies.open.Load(), "open bodies after Stream")
		t.Rule("An answer other than 2xx is an error with the server's message. Every 2xx is a success.")
		for _, code := range []int{200, 201, 202, 204, 206, 299} {
			w.script(fmt.Sprint(code), "", answers(code, "text/plain", "hello"))
			t.Did("Stream")
			body, err := w.on("GET").Stream(t.Context())
			require.NoError(t, err, "the error of Stream after %d", code)
			require.NotNil(t, body, "the body that Stream returns after %d", code)
			body.Close()
		}
	})
}

func TestTask4_Stream_is_2xx_and_nothing_else(t *testing.T) {
	guard.Test(t, "An answer other than 2xx is an error with the server's message: the bytes of any other answer are not "+
		"those of the object.", func(t *guard.T) {
		for _, code := range []int{300, 304, 399, 400, 418} {
			w := newWorld(t)
			w.script(fmt.Sprint(code), "", func(rw respond, _ *request, _ handler) { rw.WriteHeader(code) })
			t.Did("Stream")
			_, err := w.on("GET").Stream(t.Context())
			require.Error(t, err, "the error of Stream after %d", code)
		}
		t.Rule("Any other body gives an error with the code's reason, and the name, group and resource of the " +
			"request. It suggests the delay of Retry-After. That is so in each of the four methods.")
		for _, code := range []int{404, 429, 503} {
			for _, s := range senders {
				w := newWorld(t)
				w.script(fmt.Sprint(code, " with Retry-After 30, and a page of HTML"), "",
					func(rw respond, r *request, next handler) {
						rw.Header().Set("Retry-After", "30")
						answers(code, "text/html", "<html>")(rw, r, next)
					})
				t.Did("%s with MaxRetries(0)", s.name)
				err := s.send(w.on("GET").Name("web").MaxRetries(0), t.Context())
				var status apierrors.APIStatus
				require.ErrorAs(t, err, &status, "the error of %s after %d", s.name, code)
				got := *status.Status().Details
				got.Causes = nil
				require.Equal(t, metav1.StatusDetails{Name: "web", Group: "apps", Kind: "deployments", RetryAfterSeconds: 30},
					got, "the details in the error of %s after %d", s.name, code)
			}
		}
	})
}

func TestTask4_Error_of_Stream_and_Watch_is_the_whole_status(t *testing.T) {
	rules := map[string]string{"Watch": only200, "Stream": "An answer other than 2xx is an error with the server's " +
		"message"}
	guard.Test(t, rules["Stream"]+", in each form that the client can decode.", func(t *guard.T) {
		status := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "deployments"}, "web").Status()
		status.APIVersion, status.Kind = "v1", "Status"
		status.Message = strings.Repeat("no: ", 1<<16)
		for _, s := range senders[2:] {
			w := newWorld(t)
			for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML,
				runtime.ContentTypeProtobuf, ""} {
				info, _ := runtime.SerializerInfoForMediaType(restclient.Codecs.SupportedMediaTypes(),
					cmp.Or(contentType, runtime.ContentTypeJSON))
				body, err := runtime.Encode(info.Serializer, &status)
				require.NoError(t, err, "the error of writing a Status")
				w.script(fmt.Sprintf("409, with a Status of 256 KiB as %q", contentType), "",
					func(rw respond, _ *request, _ handler) {
						rw.Header()["Content-Type"] = nil
						if contentType != "" {
							rw.Header().Set("Content-Type", contentType)
						}
						rw.WriteHeader(409)
						rw.Write(body)
					})
				t.Rule("%s, in each form that the client can decode.", rules[s.name])
				t.Did("%s", s.name)
				err = s.send(w.on("GET"), t.Context())
				requireIs(t, apierrors.IsAlreadyExists, metav1.StatusReasonAlreadyExists, err,
					fmt.Sprintf("%s, with a Status as %q", s.name, contentType))
				t.Rule("%s: the whole of it.", rules[s.name])
				require.True(t, status.Message == statusIn(t, err).Message, "the error of %s has the whole message",
					s.name)
			}
			t.Rule(nothingLeft + ": unless an error is read to its end and closed, the next request makes a new " +
				"connection.")
			require.Equal(t, 1, w.connections(), "connections made by %s", s.name)
		}
	})
}

func TestTask4_Timeout_is_a_parameter_of_streams_and_watches(t *testing.T) {
	guard.Test(t, `The server receives it as the query parameter "timeout", in each of the four methods. But the server `+
		"ends a watch by timeoutSeconds.", func(t *guard.T) {
		for _, s := range senders {
			w := newWorld(t)
			w.script("busy, with Retry-After 1", "", fakeapi.Answer(429, "1"))
			t.Did("%s with Timeout 90s, twice", s.name)
			r := w.on("GET").Timeout(90 * time.Second)
			s.send(r, t.Context())
			w.requireSent(2)
			w.Script("", fakeapi.Answer(429, "1"))
			s.send(r, t.Context())
			if s.name == "Stream" || s.name == "Watch" {
				t.Rule("Stream and Watch do not change the request, which can be sent again.")
			}
			w.requireSent(4)
			for i, sent := range w.Requests("") {
				require.Equal(t, "1m30s", sent.Query.Get("timeout"), "the parameter timeout of try %d of %s", i+1, s.name)
			}
		}
	})
}

func TestTask4_Stream_is_retried_if_the_server_asks_for_it(t *testing.T) {
	guard.Test(t, streamRetries+": otherwise a stream could start again without the caller's "+
		"knowledge.", func(t *guard.T) {
		l := &limiter{}
		w := newWorld(t, limitedBy(l))
		w.script("breaks the connection", "", fakeapi.Reset(false))
		t.Did("Stream")
		_, err := w.on("GET").Stream(t.Context())
		require.Error(t, err, "the error of the 1st Stream")
		require.Equal(t, []int{1, 1}, []int{w.sent(), l.asked}, "requests sent, and calls of the limiter")
		t.Rule(streamRetries + ". Each try waits for the limiter first.")
		w.script("busy, once", "", fakeapi.Answer(429, "1"))
		t.Did("Stream")
		body, err := w.on("GET").Stream(t.Context())
		require.NoError(t, err, "the error of the 2nd Stream")
		body.Close()
		require.Equal(t, []int{3, 3}, []int{w.sent(), l.asked}, "requests sent, and calls of the limiter")
		t.Rule(builderError + ".")
		t.Did("Stream with a builder error")
		_, err = w.on("GET").Name("..").Stream(t.Context())
		require.Error(t, err, "the error of the 3rd Stream")
		w.requireSent(3)
	})
}

func TestTask4_Stream_and_Watch_close_the_answers_in_between(t *testing.T) {
	guard.Test(t, nothingLeft+": Stream and Watch close every answer that the caller does not "+
		"receive.", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		t.Did("Stream")
		body, err := w.on("GET").Stream(t.Context())
		require.NoError(t, err, "the error of Stream")
		require.EqualValues(t, 1, bodies.open.Load(), "open bodies after Stream")
		body.Close()
		w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
		events := w.watchAll(w.on("GET"))
		require.EqualValues(t, 1, bodies.open.Load(), "open bodies after Watch")
		events.Stop()
		for _, length := range []string{"", "2000"} {
			w := newWorld(t)
			t.Rule(nothingLeft + ": unless an answer is read to its end before a retry, each retry makes a new connection.")
			w.script(fmt.Sprintf("429 with 2000 bytes, and the Content-Length %q, three times", length), "",
				fakeapi.Times(3, busyWith(2000, length))...)
			w.watchAll(w.on("GET")).Stop() // client-go's Stream does not read the answer
			require.Equal(t, 1, w.connections(), "connections made by Watch")
		}
		for _, s := range senders[2:] {
			for _, length := range []string{"", "614400"} {
				t.Rule("Before a retry, at most 2 KiB of the answer are read, also by Stream and Watch.")
				w.script(fmt.Sprintf("429 with a body of ten minutes, and the Content-Length %q", length), "", longAnswer(length))
				t.Did("%s", s.name)
				before, read := bodies.read.Load(), int64(0)
				bodies.onTry = func() { read = bodies.read.Load() - before }
				d := took(func() { require.NoError(t, s.send(w.on("GET"), t.Context()), "the error of "+s.name) })
				require.LessOrEqual(t, read, int64(2<<10), "bytes of the answer that %s has read before the retry", s.name)
				require.Less(t, d, 10*time.Second, "duration of "+s.name)
			}
		}
	})
}
