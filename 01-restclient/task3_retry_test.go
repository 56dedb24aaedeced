package restclient_test

// Task 3: bodies, retries, Retry-After.

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Object_is_sent_with_its_kind(t *testing.T) {
	guard.Test(t, "the Deployment is a good one", func(t *guard.T) {
		w := newWorld(t)
		created := &appsv1.Deployment{}
		t.Did("POST with a Deployment as its Body")
		require.NoError(t, w.do(w.client.Post().Namespace("default").Resource("deployments").Body(deployment("web"))).Into(created))
		t.Rule("the answer is the object as the server stored it")
		require.NotEmpty(t, created.UID)
		sent := w.Requests("create")[0]
		t.Rule("without it the server guesses")
		require.Equal(t, "application/json", sent.Header.Get("Content-Type"))
		t.Rule("a Go struct has a type, and bytes have none: the encoder writes it")
		require.Contains(t, sent.Body, `"kind":"Deployment","apiVersion":"apps/v1"`)
	})
}

func TestTask3_Object_is_sent_in_the_clients_form(t *testing.T) {
	guard.Test(t, "the Deployment is a good one", func(t *guard.T) {
		w := newWorld(t, func(c *rest.Config) { c.ContentType = "application/vnd.kubernetes.protobuf" })
		t.Did("a client with protobuf: POST with a Deployment as its Body")
		require.NoError(t, w.do(w.client.Post().Namespace("default").Resource("deployments").Body(deployment("web"))).Into(&appsv1.Deployment{}))
		sent := w.Requests("create")[0]
		t.Rule("the header says what the bytes are")
		require.Equal(t, "application/vnd.kubernetes.protobuf", sent.Header.Get("Content-Type"))
		t.Rule("that is how Kubernetes' protobuf begins; got %.10q", sent.Body)
		require.True(t, strings.HasPrefix(sent.Body, "k8s\x00"))
	})
}

func TestTask3_Bytes_and_readers_are_sent_as_they_are(t *testing.T) {
	guard.Test(t, "a merge patch", func(t *guard.T) {
		w := newWorld(t)
		patch := `{"spec":{"replicas":5}}`
		w.Create(deployment("web"))
		t.Did("PATCH with a []byte")
		require.NoError(t, w.do(w.client.Patch("application/merge-patch+json").Namespace("default").Resource("deployments").Name("web").Body([]byte(patch))).Error())
		t.Did("PATCH with an io.Reader")
		require.NoError(t, w.do(w.client.Patch("application/merge-patch+json").Namespace("default").Resource("deployments").Name("web").Body(strings.NewReader(patch))).Error())
		for _, r := range w.Requests("patch") {
			t.Rule("bytes are sent as they are")
			require.Equal(t, patch, r.Body)
			t.Rule("the patch's type stays: of these bytes nobody else knows what they are")
			require.Equal(t, "application/merge-patch+json", r.Header.Get("Content-Type"))
		}
	})
}

func TestTask3_Nil_object_is_no_body(t *testing.T) {
	guard.Test(t, "optional options are passed on as nil pointers; an interface that holds one is not nil itself", func(t *guard.T) {
		w := newWorld(t)
		t.Did("GET with a nil *Deployment as its Body")
		var none *appsv1.Deployment
		r := w.on("GET").Body(none)
		require.NoError(t, r.Error())
		t.Rule("a list")
		require.NoError(t, w.do(r).Error())
		t.Rule("nothing is sent of it")
		require.Empty(t, w.Requests("list")[0].Body)
	})
}

func TestTask3_What_cannot_be_sent_is_an_error(t *testing.T) {
	guard.Test(t, "neither bytes nor an object", func(t *guard.T) {
		w := newWorld(t)
		t.Did("Body with an int")
		require.Error(t, w.on("POST").Body(7).Error())
		t.Did("Body with an object that cannot be written as JSON, and Do")
		r := w.on("POST").Body(&unwritable{})
		t.Rule("what cannot be written cannot be sent, and a request without its body asks for something else")
		require.Error(t, r.Error())
		require.Error(t, w.do(r).Error())
		t.Rule("a broken request is not sent")
		require.Equal(t, 0, w.sent())
	})
}

// unwritable is an object that no encoder can write.
type unwritable struct {
	metav1.TypeMeta
	C chan int
}

func (u *unwritable) DeepCopyObject() runtime.Object { return u }

func TestTask3_Retry_is_for_429_and_5xx_with_seconds(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		for _, c := range []struct {
			verb       string
			code       int
			retryAfter string
			sent       int
			why        string
		}{
			{"GET", 429, "1", 2, "the server is busy and says when to come back"},
			{"GET", 429, "", 1, "without a time nobody was asked to come back"},
			{"GET", 429, "Wed, 21 Oct 2026 07:28:00 GMT", 1, "a date is allowed in HTTP and not used by Kubernetes; client-go does not read it"},
			{"GET", 503, "1", 2, "the server is starting or stopping"},
			{"GET", 500, "1", 2, "any 5xx, if the server asks for it"},
			{"GET", 500, "", 1, "an error that the server does not expect to pass"},
			{"GET", 409, "1", 1, "a conflict does not go away by itself: the same request would be stale again"},
			{"GET", 404, "1", 1, "what is not there will not be there in a second"},
			{"POST", 503, "0", 2, "the server refused before it did anything, so the verb does not matter; and 0 is a time too"},
			{"DELETE", 429, "1", 2, "the server refused before it did anything, so the verb does not matter"},
		} {
			w := newWorld(t)
			w.script(fmt.Sprintf("the next request is answered %d, Retry-After %q", c.code, c.retryAfter), "", fakeapi.Answer(c.code, c.retryAfter))
			t.Did("%s", c.verb)
			w.do(w.on(c.verb))
			t.Rule("requests: %s", c.why)
			require.Equal(t, c.sent, w.sent())
		}
	})
}

func TestTask3_Retry_waits_as_long_as_it_was_told(t *testing.T) {
	guard.Test(t, "the third try goes well", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		w.script("429 with Retry-After 7, then 503 with Retry-After 30", "", fakeapi.Answer(429, "7"), fakeapi.Answer(503, "30"))
		require.NoError(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}))
		r := w.Requests("")
		t.Rule("two tries were refused")
		require.Len(t, r, 3)
		t.Rule("who comes back sooner is refused again, and makes it worse")
		require.Equal(t, []time.Duration{7 * time.Second, 30 * time.Second}, []time.Duration{r[1].Time.Sub(r[0].Time), r[2].Time.Sub(r[1].Time)})
	})
}

func TestTask3_Ten_retries_and_no_more(t *testing.T) {
	guard.Test(t, "one request, and then so many retries: a server that is busy for ever must not be asked for "+
		"ever", func(t *guard.T) {
		for _, c := range []struct {
			set  func(*restclient.Request) *restclient.Request
			what string
			sent int
		}{
			{func(r *restclient.Request) *restclient.Request { return r }, "nothing is said of retries", 11},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(2) }, "MaxRetries(2)", 3},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(0) }, "MaxRetries(0)", 1},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(-1) }, "MaxRetries(-1)", 1},
		} {
			w := newWorld(t)
			w.script("busy for ever", "", fakeapi.Times(50, fakeapi.Answer(429, "1"))...)
			t.Did("%s", c.what)
			err := w.do(c.set(w.on("GET"))).Error()
			require.Equal(t, c.sent, w.sent())
			t.Rule("in the end the caller hears what the server said last; got %s", short(err))
			require.True(t, apierrors.IsTooManyRequests(err))
		}
	})
}

func TestTask3_Broken_connection_is_retried_for_GET_only(t *testing.T) {
	guard.Test(t, "to look twice does no harm, and API servers restart", func(t *guard.T) {
		for _, verb := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			w := newWorld(t)
			w.script("carries the next request out, and breaks the connection instead of answering", "", fakeapi.Reset(true))
			t.Did("%s with []byte as its Body", verb)
			r := w.client.Verb(verb).Namespace("default").Resource("deployments").Body(manifest("web"))
			if verb != "GET" && verb != "POST" {
				r.Name("web")
			}
			var err error
			d := took(func() { err = w.do(r).Error() })
			if verb == "GET" {
				require.NoError(t, err)
				require.Equal(t, 2, w.sent())
				t.Rule("a second later: ten tries in a row are over before a server that restarts is there again")
				require.Equal(t, time.Second, d)
				continue
			}
			t.Rule("nobody knows whether it was done; the caller has to look")
			require.Error(t, err)
			t.Rule("it may have been done: a second POST creates a second object, or fails because of the first " +
				"(#39021)")
			require.Equal(t, 1, w.sent())
		}
	})
}

func TestTask3_Connection_that_ends_without_an_answer_is_retried_for_GET_only(t *testing.T) {
	guard.Test(t, "a proxy that is restarted says goodbye, where a server that dies does not; the request is as "+
		"little answered", func(t *guard.T) {
		for verb, sent := range map[string]int{"GET": 2, "DELETE": 1} {
			w := newWorld(t)
			w.script("closes the connection in good order, without an answer", "", endConnection)
			t.Did("%s", verb)
			var err error
			d := took(func() { err = w.do(w.on(verb)).Error() })
			require.Equal(t, sent, w.sent())
			t.Rule("there is an answer only if it was sent again; got %s", short(err))
			require.Equal(t, verb == "GET", err == nil)
			t.Rule("a second later: ten tries in a row are over before a server that restarts is there again")
			require.Equal(t, time.Duration(sent-1)*time.Second, d)
		}
	})
}

func TestTask3_Refused_connection_is_not_retried(t *testing.T) {
	guard.Test(t, "nobody answered", func(t *guard.T) {
		w := newWorld(t)
		w.did("the server is away")
		w.Down()
		d := took(func() { require.Error(t, w.do(w.on("GET")).Error()) })
		t.Rule("nobody listens there; a caller who was kept waiting for ten seconds could not tell his user " +
			"(#88267)")
		require.Zero(t, d)
	})
}

func TestTask3_Each_try_sends_the_whole_body(t *testing.T) {
	guard.Test(t, "the third try goes well", func(t *guard.T) {
		w := newWorld(t)
		w.script("503 with Retry-After 1, twice", "", fakeapi.Times(2, fakeapi.Answer(503, "1"))...)
		t.Did("POST with []byte as its Body")
		require.NoError(t, w.do(w.on("POST").Body(manifest("web"))).Error())
		for i, r := range w.Requests("create") {
			t.Rule("try %d: what the first try has read is not there for the next one, unless it gets a reader of "+
				"its own (#113933)", i+1)
			require.Equal(t, string(manifest("web")), r.Body)
		}
	})
}

func TestTask3_Reader_is_never_sent_twice(t *testing.T) {
	guard.Test(t, "the reader is empty now, and cannot be asked again", func(t *guard.T) {
		w := newWorld(t)
		w.script("503 with Retry-After 1", "", fakeapi.Answer(503, "1"))
		t.Did("POST with an io.Reader as its Body")
		err := w.do(w.on("POST").Body(io.MultiReader(strings.NewReader(string(manifest("web")))))).Error()
		require.Equal(t, 1, w.sent())
		t.Rule("the caller, who can make another reader, hears what the server said; got %s", short(err))
		require.True(t, apierrors.IsServiceUnavailable(err))
	})
}

func TestTask3_Retries_use_the_same_connection(t *testing.T) {
	guard.Test(t, "the sixth try goes well", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("busy, five times", "", fakeapi.Times(5, fakeapi.Answer(429, "1"))...)
		require.NoError(t, w.do(w.on("GET")).Error())
		t.Rule("an answer that was not read to its end takes its connection with it: a new one for each retry, " +
			"on a server that is busy (#31016)")
		require.Equal(t, 1, w.connections())
		t.Rule("the answers that nobody wants are closed, too")
		require.Equal(t, 0, bodies.open)
	})
}

func TestTask3_Answer_of_unknown_length_keeps_its_connection_too(t *testing.T) {
	guard.Test(t, "the sixth try goes well", func(t *guard.T) {
		w := newWorld(t)
		w.script("busy, five times, in an answer that does not say how long it is", "", fakeapi.Times(5, func(rw respond, _ *request, _ handler) {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(429)
			flush(rw)
			io.WriteString(rw, "too many requests")
		})...)
		require.NoError(t, w.do(w.on("GET")).Error())
		t.Rule("a length that nobody knows is no reason to read nothing: a little is tried, and it was enough " +
			"(#31016)")
		require.Equal(t, 1, w.connections())
	})
}

func TestTask3_Long_answer_is_not_read_for_the_sake_of_its_connection(t *testing.T) {
	guard.Test(t, "the second try goes well", func(t *guard.T) {
		w := newWorld(t)
		w.script("429 with a body of ten minutes, a kilobyte a second", "", func(rw respond, r *request, _ handler) {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(429)
			for range 600 {
				if _, err := io.WriteString(rw, strings.Repeat("x", 1024)); err != nil {
					return
				}
				flush(rw)
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
				}
			}
		})
		d := took(func() { require.NoError(t, w.do(w.on("GET")).Error()) })
		t.Rule("2 KiB are read, to save the connection; then closing it is cheaper")
		require.Less(t, d, 10*time.Second)
	})
}
