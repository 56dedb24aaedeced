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

// post begins a POST of a Deployment, as the typed client does it.
func (w world) post() *restclient.Request {
	return w.client.Post().Namespace("default").Resource("deployments").Body(deployment("web"))
}

func TestTask3_Object_is_sent_with_its_kind(t *testing.T) {
	guard.Test(t, "An object is written with its kind and version: a Go struct "+
		"has a type, and bytes have none.", func(t *guard.T) {
		w := newWorld(t)
		created := &appsv1.Deployment{}
		t.Did("POST with a Deployment as its Body")
		require.NoError(t, w.do(w.post()).Into(created), "the error of Into")
		require.NotEmpty(t, created.UID, "the UID of the object in the answer")
		t.Rule("An object is sent with its content type: without it the server guesses.")
		sent := w.Requests("create")[0]
		require.Equal(t, "application/json", sent.Header.Get("Content-Type"), "the content type of the request")
		t.Rule("An object is written with its kind and version: the encoder adds them.")
		require.Contains(t, sent.Body, `"kind":"Deployment","apiVersion":"apps/v1"`, "the body of the request")
	})
}

func TestTask3_Object_is_sent_in_the_clients_form(t *testing.T) {
	guard.Test(t, "An object is written as the client's content type wants it, and "+
		"that content type is sent with it.", func(t *guard.T) {
		w := newWorld(t, func(c *rest.Config) { c.ContentType = "application/vnd.kubernetes.protobuf" })
		t.Did("a client with protobuf: POST with a Deployment as its Body")
		require.NoError(t, w.do(w.post()).Into(&appsv1.Deployment{}), "the error of Into")
		sent := w.Requests("create")[0]
		require.Equal(t, "application/vnd.kubernetes.protobuf", sent.Header.Get("Content-Type"),
			"the content type of the request")
		t.Rule("An object is written as the client's content type wants it: Kubernetes' protobuf begins with k8s and " +
			"a zero.")
		require.Equal(t, "k8s\x00", fmt.Sprintf("%.4s", sent.Body), "the first bytes of the body")
	})
}

func TestTask3_Bytes_and_readers_are_sent_as_they_are(t *testing.T) {
	guard.Test(t, "A []byte and an io.Reader are sent as they are, with the "+
		"content type that the caller has set.", func(t *guard.T) {
		w := newWorld(t)
		patch := `{"spec":{"replicas":5}}`
		w.Create(deployment("web"))
		merge := func() *restclient.Request {
			r := w.client.Patch("application/merge-patch+json")
			return r.Namespace("default").Resource("deployments").Name("web")
		}
		t.Did("PATCH with a []byte")
		require.NoError(t, w.do(merge().Body([]byte(patch))).Error(), "the error of PATCH with a []byte")
		t.Did("PATCH with an io.Reader")
		require.NoError(t, w.do(merge().Body(strings.NewReader(patch))).Error(), "the error of PATCH with an io.Reader")
		for i, r := range w.Requests("patch") {
			require.Equal(t, patch, r.Body, "the body of request %d", i+1)
			require.Equal(t, "application/merge-patch+json", r.Header.Get("Content-Type"),
				"the content type of request %d", i+1)
		}
	})
}

func TestTask3_Nil_object_is_no_body(t *testing.T) {
	guard.Test(t, "A nil pointer to an object is no body: optional options are passed on as nil pointers, and an "+
		"interface that holds one is not nil.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("GET with a nil *Deployment as its Body")
		var none *appsv1.Deployment
		r := w.on("GET").Body(none)
		require.NoError(t, r.Error(), "the error of Body")
		require.NoError(t, w.do(r).Error(), "the error of Do")
		require.Empty(t, w.Requests("list")[0].Body, "the body of the request")
	})
}

func TestTask3_What_cannot_be_sent_is_an_error(t *testing.T) {
	guard.Test(t, "A body that is neither bytes, a reader nor an object that can be written is an error: a request "+
		"without it asks for something else.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("Body with an int")
		require.Error(t, w.on("POST").Body(7).Error(), "the error of Body with an int")
		t.Did("Body with an object that cannot be written as JSON, and Do")
		r := w.on("POST").Body(&unwritable{})
		require.Error(t, r.Error(), "the error of Body with an object that cannot be written")
		require.Error(t, w.do(r).Error(), "the error of Do")
		t.Rule("A broken request is not sent.")
		w.requireSent(0)
	})
}

// unwritable is an object that no encoder can write.
type unwritable struct {
	metav1.TypeMeta
	C chan int
}

func (u *unwritable) DeepCopyObject() runtime.Object { return u }

func TestTask3_Retry_is_for_429_and_5xx_with_seconds(t *testing.T) {
	const (
		onlySo = "A request is tried again if the answer is 429 or any 5xx and has a Retry-After header that is a " +
			"whole number. "
		noVerb = onlySo + "The server refused before it did anything, so the verb does not matter."
	)
	guard.Test(t, onlySo, func(t *guard.T) {
		for _, c := range []struct {
			verb       string
			code       int
			retryAfter string
			sent       int
			rule       string
		}{
			{"GET", 429, "1", 2, onlySo + "A busy server says when to come back."},
			{"GET", 429, "", 1, onlySo + "Without a time, the server has not asked for another try."},
			{"GET", 429, "Wed, 21 Oct 2026 07:28:00 GMT", 1, onlySo + "Kubernetes uses no dates."},
			{"GET", 503, "1", 2, onlySo + "A server that starts or stops answers 503."},
			{"GET", 500, "1", 2, onlySo + "That includes 500."},
			{"GET", 500, "", 1, onlySo + "Without a time, the server has not asked for another try."},
			{"GET", 409, "1", 1, onlySo + "A conflict stays: the same request would be stale again."},
			{"GET", 404, "1", 1, onlySo + "An object that does not exist will not exist in a second."},
			{"POST", 503, "0", 2, noVerb + " And 0 is a time, too."},
			{"DELETE", 429, "1", 2, noVerb},
		} {
			w := newWorld(t)
			answer := fmt.Sprintf("%d, Retry-After %q", c.code, c.retryAfter)
			w.script("the next request is answered "+answer, "", fakeapi.Answer(c.code, c.retryAfter))
			t.Rule("%s", strings.TrimSpace(c.rule))
			t.Did("%s", c.verb)
			w.do(w.on(c.verb))
			require.Equal(t, c.sent, w.sent(), "requests sent for a %s that is answered %s", c.verb, answer)
		}
	})
}

func TestTask3_Retry_waits_as_long_as_it_was_told(t *testing.T) {
	guard.Test(t, "A request is tried again as many seconds later as Retry-After says: a client that comes back "+
		"sooner is refused again, and makes it worse.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		w.script("429 with Retry-After 7, then 503 with Retry-After 30", "",
			fakeapi.Answer(429, "7"), fakeapi.Answer(503, "30"))
		require.NoError(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}), "the error of Into")
		r := w.Requests("")
		w.requireSent(3)
		waits := []time.Duration{r[1].Time.Sub(r[0].Time), r[2].Time.Sub(r[1].Time)}
		require.Equal(t, "[7s 30s]", fmt.Sprint(waits), "waits between the tries")
	})
}

func TestTask3_Ten_retries_and_no_more(t *testing.T) {
	const (
		atMost = "A request is tried again at most MaxRetries times, by default 10: a server that is busy forever " +
			"must not be asked forever."
		last = "After the last try, the caller gets the server's answer as an error."
	)
	guard.Test(t, atMost, func(t *guard.T) {
		for _, c := range []struct {
			set  func(*restclient.Request) *restclient.Request
			what string
			sent int
		}{
			{func(r *restclient.Request) *restclient.Request { return r }, "no MaxRetries", 11},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(2) }, "MaxRetries(2)", 3},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(0) }, "MaxRetries(0)", 1},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(-1) }, "MaxRetries(-1)", 1},
		} {
			w := newWorld(t)
			w.script("busy forever", "", fakeapi.Times(50, fakeapi.Answer(429, "1"))...)
			t.Did("%s", c.what)
			err := w.do(c.set(w.on("GET"))).Error()
			t.Rule(atMost)
			require.Equal(t, c.sent, w.sent(), "requests sent, with "+c.what)
			t.Rule(last)
			requireIs(t, apierrors.IsTooManyRequests, metav1.StatusReasonTooManyRequests, err, "Do, with "+c.what)
		}
	})
}

func TestTask3_Broken_connection_is_retried_for_GET_only(t *testing.T) {
	const (
		aGET = "A GET whose connection broke without an answer is tried again: it changes nothing, and API servers " +
			"restart."
		later = "A GET whose connection broke is tried again a second later: ten tries in a row are over before a " +
			"server has restarted."
		aChange = "A request that changes something is not tried again after a broken connection: the server may " +
			"have done it, and a second POST creates a second object, or fails because of the first (#39021)."
	)
	guard.Test(t, aGET, func(t *guard.T) {
		for _, verb := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			w := newWorld(t)
			w.script("carries the next request out, and breaks the connection instead of answering", "",
				fakeapi.Reset(true))
			t.Did("%s with []byte as its Body", verb)
			r := w.client.Verb(verb).Namespace("default").Resource("deployments").Body(manifest("web"))
			if verb != "GET" && verb != "POST" {
				r.Name("web")
			}
			var err error
			d := took(func() { err = w.do(r).Error() })
			if verb == "GET" {
				require.NoError(t, err, "the error of a GET")
				require.Equal(t, 2, w.sent(), "requests sent for a GET")
				t.Rule(later)
				require.Equal(t, time.Second, d, "duration of a GET")
				t.Rule(aChange)
				continue
			}
			require.Error(t, err, "the error of a "+verb)
			require.Equal(t, 1, w.sent(), "requests sent for a "+verb)
		}
	})
}

func TestTask3_Connection_that_ends_without_an_answer_is_retried_for_GET_only(t *testing.T) {
	const (
		aGET = "A GET whose connection ended without an answer is tried again, and a change is not: a proxy that " +
			"restarts closes its connections in good order."
		later = "A GET whose connection ended is tried again a second later: ten tries in a row are over before a " +
			"server has restarted."
	)
	guard.Test(t, aGET, func(t *guard.T) {
		for verb, sent := range map[string]int{"GET": 2, "DELETE": 1} {
			w := newWorld(t)
			w.script("closes the connection in good order, without an answer", "", endConnection)
			t.Did("%s", verb)
			t.Rule(aGET)
			var err error
			d := took(func() { err = w.do(w.on(verb)).Error() })
			require.Equal(t, sent, w.sent(), "requests sent for a "+verb)
			if verb == "GET" {
				require.NoError(t, err, "the error of a GET")
			} else {
				require.Error(t, err, "the error of a "+verb)
			}
			t.Rule(later)
			require.Equal(t, time.Duration(sent-1)*time.Second, d, "duration of a "+verb)
		}
	})
}

func TestTask3_Refused_connection_is_not_retried(t *testing.T) {
	guard.Test(t, "A refused connection is not tried again: no server is there, and the caller should learn that at "+
		"once (#88267).", func(t *guard.T) {
		w := newWorld(t)
		w.did("the server is away")
		w.Down()
		d := took(func() { require.Error(t, w.do(w.on("GET")).Error(), "the error of Do") })
		require.Zero(t, d, "duration of Do")
	})
}

func TestTask3_Each_try_sends_the_whole_body(t *testing.T) {
	guard.Test(t, "Each try sends the whole body: the first try has read its reader to the end, so the next one gets "+
		"a reader of its own (#113933).", func(t *guard.T) {
		w := newWorld(t)
		w.script("503 with Retry-After 1, twice", "", fakeapi.Times(2, fakeapi.Answer(503, "1"))...)
		t.Did("POST with []byte as its Body")
		require.NoError(t, w.do(w.on("POST").Body(manifest("web"))).Error(), "the error of Do")
		for i, r := range w.Requests("create") {
			require.Equal(t, string(manifest("web")), r.Body, "the body of try %d", i+1)
		}
	})
}

func TestTask3_Reader_is_never_sent_twice(t *testing.T) {
	guard.Test(t, "A body that is an io.Reader has been read, so such a request is never tried again. The caller, "+
		"who can make another reader, gets the server's answer as an error.", func(t *guard.T) {
		w := newWorld(t)
		w.script("503 with Retry-After 1", "", fakeapi.Answer(503, "1"))
		t.Did("POST with an io.Reader as its Body")
		err := w.do(w.on("POST").Body(io.MultiReader(strings.NewReader(string(manifest("web")))))).Error()
		w.requireSent(1)
		requireIs(t, apierrors.IsServiceUnavailable, metav1.StatusReasonServiceUnavailable, err, "Do")
	})
}

func TestTask3_Retries_use_the_same_connection(t *testing.T) {
	guard.Test(t, "Nothing is left behind: an answer that is not wanted is read to its end, or each retry makes a "+
		"new connection to a busy server (#31016).", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.script("busy, five times", "", fakeapi.Times(5, fakeapi.Answer(429, "1"))...)
		require.NoError(t, w.do(w.on("GET")).Error(), "the error of Do")
		require.Equal(t, 1, w.connections(), "connections made")
		t.Rule("Nothing is left behind: the body of an answer that is not wanted is closed.")
		require.Equal(t, 0, bodies.open, "open bodies after Do")
	})
}

func TestTask3_Answer_of_unknown_length_keeps_its_connection_too(t *testing.T) {
	guard.Test(t, "An answer of unknown length is read for a little, too: here that is all of it, and its connection "+
		"can be used again (#31016).", func(t *guard.T) {
		w := newWorld(t)
		busy := func(rw respond, _ *request, _ handler) {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(429)
			flush(rw)
			io.WriteString(rw, "too many requests")
		}
		w.script("busy, five times, in an answer without a length", "", fakeapi.Times(5, busy)...)
		require.NoError(t, w.do(w.on("GET")).Error(), "the error of Do")
		require.Equal(t, 1, w.connections(), "connections made")
	})
}

func TestTask3_Long_answer_is_not_read_for_the_sake_of_its_connection(t *testing.T) {
	guard.Test(t, "Of an answer that is not wanted, 2 KiB are read to save the connection. If it is longer, to close "+
		"the connection is cheaper.", func(t *guard.T) {
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
		d := took(func() { require.NoError(t, w.do(w.on("GET")).Error(), "the error of Do") })
		require.Less(t, d, 10*time.Second, "duration of Do")
	})
}
