package restclient_test

// Task 3: bodies.

import (
	"bytes"
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// writtenAtOnce is the beginning of several rules.
const writtenAtOnce = "An object is encoded at once, with its kind and version, in the client's content type, and " +
	"sent with that Content-Type"

// post begins a POST of a Deployment, as the typed client does it.
func (w world) post() *restclient.Request {
	return w.client.Post().Namespace("default").Resource("deployments").Body(deployment("web"))
}

func TestTask3_Object_is_sent_with_its_kind(t *testing.T) {
	guard.Test(t, writtenAtOnce+": the bytes must name the type that the Go struct has.", func(t *guard.T) {
		w := newWorld(t)
		created := &appsv1.Deployment{}
		t.Did("POST with a Deployment as its Body")
		answer := w.do(w.post())
		require.NotZero(t, len(w.Requests("create")[0].Body), "bytes of the body that the server received")
		require.NoError(t, answer.Into(created), "the error of Into")
		require.NotEmpty(t, created.UID, "the UID of the object in the answer")
		t.Rule(writtenAtOnce + ". Without a Content-Type, the server guesses.")
		sent := w.Requests("create")[0]
		require.Equal(t, "application/json", sent.Header.Get("Content-Type"), "the content type of the request")
		t.Rule(writtenAtOnce + ". The encoder adds the kind.")
		requireKind(t, sent.Body, "the kind in the body of the request")
		t.Rule(writtenAtOnce + ", even if the request has another Content-Type.")
		t.Did("PATCH with the type of a merge patch, and a Deployment as its Body")
		w.do(w.client.Patch(types.MergePatchType).Namespace("default").Resource("deployments").Name("web").
			Body(deployment("web")))
		require.Equal(t, "application/json", w.Requests("patch")[0].Header.Get("Content-Type"),
			"the content type of the PATCH")
		t.Rule(writtenAtOnce + ", whatever the verb.")
		for _, verb := range []string{"GET", "PUT", "DELETE"} {
			t.Did("%s with a Deployment as its Body", verb)
			w.do(w.on(verb).Name("web").Body(deployment("web")))
			all := w.Requests("")
			last := all[len(all)-1]
			require.Equal(t, "application/json", last.Header.Get("Content-Type"), "the content type of the "+verb)
			requireKind(t, last.Body, "the kind in the body of the "+verb)
		}
	})
}

// requireKind asserts that a body in JSON is a Deployment of apps/v1.
func requireKind(t *guard.T, body, what string) {
	t.Helper()
	var got metav1.TypeMeta
	require.NoError(t, json.Unmarshal([]byte(body), &got), "the error of reading the body")
	require.Equal(t, metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}, got, "%s", what)
}

func TestTask3_Object_is_sent_in_the_clients_form(t *testing.T) {
	guard.Test(t, writtenAtOnce+".", func(t *guard.T) {
		w := newWorld(t, func(c *rest.Config) {
			c.ContentType, c.AcceptContentTypes = runtime.ContentTypeProtobuf, "application/json"
		})
		t.Did("a client with protobuf: POST with a Deployment as its Body")
		require.NoError(t, w.do(w.post()).Into(&appsv1.Deployment{}), "the error of Into")
		sent := w.Requests("create")[0]
		require.Equal(t, "application/vnd.kubernetes.protobuf", sent.Header.Get("Content-Type"),
			"the content type of the request")
		t.Rule(writtenAtOnce + ": Kubernetes' protobuf begins with the bytes k8s and 0.")
		require.Equal(t, "k8s\x00", fmt.Sprintf("%.4s", sent.Body), "the first bytes of the body")
	})
}

func TestTask3_Bytes_and_readers_are_sent_as_they_are(t *testing.T) {
	guard.Test(t, "A []byte and an io.Reader are sent as they are, with the Content-Type that the request "+
		"already has.", func(t *guard.T) {
		w := newWorld(t)
		patch := "\n {\"spec\": {\"replicas\":5}} \n"
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
	guard.Test(t, "A nil pointer to an object changes nothing: callers pass optional options as nil pointers, and "+
		"an interface that holds a nil pointer is not nil.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("GET with a nil *Deployment as its Body")
		var none *appsv1.Deployment
		r := w.on("GET").Body(none)
		require.NoError(t, r.Error(), "the error of Body")
		require.NoError(t, w.do(r).Error(), "the error of Do")
		require.Empty(t, w.Requests("list")[0].Body, "the body of the request")
		require.Empty(t, w.Requests("list")[0].Header.Get("Content-Type"), "the content type of the request")
		t.Did("POST with a []byte as its Body, and then with a nil *Deployment")
		w.do(w.on("POST").Body(manifest("web")).Body(none))
		require.Equal(t, string(manifest("web")), w.Requests("create")[0].Body, "the body of the POST")
		t.Did("POST with an io.Reader as its Body, and then with a nil *Deployment")
		w.do(w.on("POST").Body(io.MultiReader(strings.NewReader(string(manifest("db"))))).Body(none))
		require.Equal(t, string(manifest("db")), w.Requests("create")[1].Body, "the body of the 2nd POST")
	})
}

func TestTask3_What_cannot_be_sent_is_an_error(t *testing.T) {
	guard.Test(t, "Any other body, or an object that cannot be encoded, is an error: without its body, the "+
		"request asks for something else.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("Body with an int")
		require.Error(t, w.on("POST").Body(7).Error(), "the error of Body with an int")
		t.Did("Body with a string, and with nil")
		require.Error(t, w.on("POST").Body("web").Error(), "the error of Body with a string")
		require.Error(t, w.on("POST").Body(nil).Error(), "the error of Body with nil")
		t.Did("Body with an object that cannot be written as JSON, and Do")
		r := w.on("POST").Body(&unwritable{})
		require.Error(t, r.Error(), "the error of Body with an object that cannot be written")
		require.Error(t, w.do(r).Error(), "the error of Do")
		t.Rule("Its first error is kept, and nothing is sent: later errors are often its consequence.")
		t.Did(`Name "..", and then Body with an int`)
		first := w.on("POST").Name("..")
		want := first.Error().Error()
		require.EqualError(t, first.Body(7).Error(), want, "the error of the request")
		t.Did("Body with an object that cannot be written as JSON, after it")
		require.EqualError(t, first.Body(&unwritable{}).Error(), want, "the error of the request")
		t.Rule("A builder error is returned, and nothing is sent.")
		w.requireSent(0)
	})
}

// unwritable is an object that no encoder can write.
type unwritable struct {
	metav1.TypeMeta
	C chan int
}

func (u *unwritable) DeepCopyObject() runtime.Object { return u }

func TestTask3_Each_try_sends_the_whole_body(t *testing.T) {
	guard.Test(t, "If the answer is 429 or any 5xx, and its Retry-After header is a whole number, Do sends the request "+
		"again, whatever the verb.", func(t *guard.T) {
		w := newWorld(t)
		w.script("503 with Retry-After 1, twice", "", fakeapi.Times(2, fakeapi.Answer(503, "1"))...)
		t.Did("POST with []byte as its Body")
		err := w.do(w.on("POST").Body(manifest("web"))).Error()
		w.requireSent(3)
		t.Rule("Each try sends the whole body, although the try before has read its reader to the end (#113933).")
		for i, r := range w.Requests("create") {
			require.Equal(t, string(manifest("web")), r.Body, "the body of try %d", i+1)
		}
		require.NoError(t, err, "the error of Do")
	})
}

func TestTask3_Each_try_sends_the_same_headers(t *testing.T) {
	const same = "Do sends the request again: the same method, URL and headers. Without Accept the answer comes in " +
		"another form, and without Content-Type the server cannot read the body."
	guard.Test(t, same, func(t *guard.T) {
		for what, fault := range guard.InOrder(map[string]fakeapi.Fault{
			"429 with Retry-After 1": fakeapi.Answer(429, "1"), "500 with Retry-After 1": fakeapi.Answer(500, "1"),
			"a reset of the connection": fakeapi.Reset(false),
		}) {
			w := newWorld(t, func(c *rest.Config) { c.UserAgent = "workshop" })
			w.script(what+", twice", "", fakeapi.Times(2, fault)...)
			t.Did("GET with a Body and parameters")
			w.do(w.on("GET").Name("web").Param("a", "1").Timeout(time.Minute).Body(deployment("web")))
			all := w.Requests("")
			require.Len(t, all, 3, "requests sent")
			first := all[0]
			require.Equal(t, "application/json", first.Header.Get("Content-Type"), "the Content-Type of the 1st try")
			require.NotEmpty(t, first.Header.Get("Accept"), "the Accept header of the 1st try")
			for i, again := range all[1:] {
				require.Equal(t, first.String(), again.String(), "try %d after %s", i+2, what)
				require.Equal(t, first.Header, again.Header, "the headers of try %d after %s", i+2, what)
			}
		}
	})
}

func TestTask3_DoRaw_sends_what_Do_sends(t *testing.T) {
	guard.Test(t, "DoRaw sends the request as Do does: the same method, URL, headers and body, and as often.",
		func(t *guard.T) {
			for what, body := range guard.InOrder(map[string]func() any{
				"an object": func() any { return deployment("web") }, "a []byte": func() any { return manifest("web") },
				"an io.Reader": func() any { return strings.NewReader(string(manifest("web"))) },
			}) {
				for _, retries := range []int{-1, 0, 3, 12} {
					var all [2][]fakeapi.Request
					for i, s := range senders[:2] {
						w := newWorld(t)
						w.script("busy, 20 times", "", fakeapi.Times(20, fakeapi.Answer(429, "1"))...)
						t.Did("PUT of %s with %s and MaxRetries(%d)", what, s.name, retries)
						r := w.on("PUT").Name("web").Param("a", "1").Timeout(time.Hour)
						s.send(r.Body(body()).MaxRetries(retries), t.Context())
						all[i] = w.Requests("")
					}
					require.Equal(t, len(all[0]), len(all[1]), "requests sent by DoRaw")
					for i, do := range all[0] {
						raw := all[1][i]
						require.Equal(t, []any{do.String(), do.Header, do.Body}, []any{raw.String(), raw.Header, raw.Body},
							"try %d of DoRaw", i+1)
					}
				}
			}
		})
}

func TestTask3_Request_changes_between_two_sends(t *testing.T) {
	guard.Test(t, "Do does not change the request, which can be sent again. What is set after the first Do is in "+
		"the next one.", func(t *guard.T) {
		w := newWorld(t)
		r := w.client.Get().Resource("deployments")
		t.Did("Do; Namespace, Name and Param; and Do again")
		w.do(r)
		w.do(r.Namespace("default").Name("web").Param("a", "1"))
		all := w.Requests("")
		require.Equal(t, "GET /apis/apps/v1/deployments", all[0].String(), "the 1st request")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments/web?a=1", all[1].String(), "the 2nd request")
		for _, s := range senders[:2] {
			w := newWorld(t)
			w.Create(deployment("web"))
			r := w.on("PUT").Name("web").Body([]byte("{}")).MaxRetries(0).Timeout(time.Minute)
			w.script("busy, three times", "", fakeapi.Times(3, fakeapi.Answer(429, "60"))...)
			t.Did("%s; Body, MaxRetries(5) and Timeout 15m; and %[1]s again", s.name)
			s.send(r, t.Context())
			w.requireSent(1)
			r.Body(deployment("web"))
			r.MaxRetries(5)
			r.Timeout(15 * time.Minute)
			err := s.send(r, t.Context())
			require.NoError(t, err, "the error of the 2nd %s, which takes two minutes", s.name)
			all := w.Requests("")
			require.Len(t, all, 4, "requests sent by both")
			require.Equal(t, "15m0s", all[1].Query.Get("timeout"), "the timeout that the server receives from the 2nd "+s.name)
			require.Contains(t, all[1].Body, `"name":"web"`, "the body of the 2nd "+s.name)
			require.Equal(t, "application/json", all[1].Header.Get("Content-Type"), "the content type of the 2nd "+s.name)
		}
	})
}

func TestTask3_Reader_is_never_sent_twice(t *testing.T) {
	guard.Test(t, "A request whose Body is an io.Reader is sent once: the reader cannot be read again. The "+
		"caller receives the server's answer as an error, and can make another reader.", func(t *guard.T) {
		for _, reader := range []func() io.Reader{
			func() io.Reader { return io.MultiReader(strings.NewReader("{}")) },
			func() io.Reader { return strings.NewReader("{}") },
			func() io.Reader { return bytes.NewReader([]byte("{}")) },
			func() io.Reader { return bytes.NewBufferString("{}") },
		} {
			for _, seconds := range []string{"1", "0", "-1"} {
				w := newWorld(t)
				w.script("503 with Retry-After "+seconds, "", fakeapi.Answer(503, seconds))
				t.Did("POST with a %T as its Body", reader())
				err := w.do(w.on("POST").Body(reader())).Error()
				w.requireSent(1)
				requireIs(t, apierrors.IsServiceUnavailable, metav1.StatusReasonServiceUnavailable, err, "Do")
			}
			for _, verb := range []string{"GET", "POST"} {
				w := newWorld(t)
				w.script("resets the connection instead of answering", "", fakeapi.Reset(false))
				t.Did("%s with a %T as its Body", verb, reader())
				require.Error(t, w.do(w.on(verb).Body(reader())).Error(), "the error of Do")
				w.requireSent(1)
			}
		}
	})
}

func TestTask3_Object_is_written_by_Body(t *testing.T) {
	guard.Test(t, writtenAtOnce+". Later changes to the object do not change the request.",
		func(t *guard.T) {
			w := newWorld(t)
			w.script("503 with Retry-After 1", "", fakeapi.Answer(503, "1"))
			d := deployment("web")
			t.Did("Body with the Deployment web, which is renamed then; Do")
			r := w.on("POST").Body(d)
			d.Name = "renamed"
			require.NoError(t, w.do(r).Error(), "the error of Do")
			for i, sent := range w.Requests("create") {
				require.Contains(t, sent.Body, `"name":"web"`, "the body of try %d", i+1)
			}
			t.Rule(writtenAtOnce + ". Other requests do not change it.")
			t.Did("two requests with a Body, and Do of the first one, and of the second one")
			first, second := w.on("POST").Body(deployment("one")), w.on("POST").Body(deployment("two"))
			w.do(first)
			w.do(second)
			all := w.Requests("create")
			require.Contains(t, all[len(all)-2].Body, `"name":"one"`, "the body of the first request")
			require.Contains(t, all[len(all)-1].Body, `"name":"two"`, "the body of the second request")
		})
}

func TestTask3_Last_body_is_sent(t *testing.T) {
	guard.Test(t, "A later Body replaces an earlier one.", func(t *guard.T) {
		w := newWorld(t)
		reader := func() io.Reader { return io.MultiReader(strings.NewReader(string(manifest("reader")))) }
		for i, c := range []struct {
			what string
			r    *restclient.Request
			sent string
		}{
			{"an io.Reader, then a []byte", w.on("POST").Body(reader()).Body(manifest("bytes")), "bytes"},
			{"a []byte, then an io.Reader", w.on("POST").Body(manifest("bytes")).Body(reader()), "reader"},
			{"an io.Reader, then an object", w.on("POST").Body(reader()).Body(deployment("object")), "object"},
			{"two objects", w.on("POST").Body(deployment("one")).Body(deployment("two")), "two"},
			{"a []byte, then another", w.on("POST").Body(manifest("three")).Body(manifest("four")), "four"},
		} {
			t.Did("Body with %s", c.what)
			require.NoError(t, w.do(c.r).Error(), "the error of Do")
			require.Contains(t, w.Requests("create")[i].Body, `"name":"`+c.sent+`"`, "the body of the request")
		}
		for i, empty := range [][]byte{{}, nil} {
			t.Did("Body with a []byte, then an empty one, which is nil: %t", empty == nil)
			w.do(w.on("POST").Body(manifest("five")).Body(empty))
			require.Empty(t, w.Requests("create")[5+i].Body, "the body of the request")
		}
		t.Rule("A later Body replaces an earlier one: only a request whose last Body is an io.Reader is not sent again.")
		t.Did("Body with an io.Reader, then an object, and an answer of 429 with Retry-After 1")
		w.script("busy", "", fakeapi.Answer(429, "1"))
		require.NoError(t, w.do(w.on("POST").Body(reader()).Body(deployment("six"))).Error(), "the error of Do")
		t.Did("Body with an io.Reader, then a []byte, and an answer of 429 with Retry-After 1")
		w.script("busy", "", fakeapi.Answer(429, "1"))
		require.NoError(t, w.do(w.on("POST").Body(reader()).Body(manifest("seven"))).Error(), "the error of Do")
	})
}

func TestTask3_Request_can_be_sent_again(t *testing.T) {
	const unchanged = "Do does not change the request, which can be sent again: with its whole body, and with as " +
		"many retries."
	guard.Test(t, unchanged, func(t *guard.T) {
		w := newWorld(t)
		r := w.on("POST").Body(manifest("web")).MaxRetries(2)
		for i := range 3 {
			w.script("busy, twice", "", fakeapi.Times(2, fakeapi.Answer(429, "1"))...)
			err := w.do(r).Error()
			require.Equal(t, 3*(i+1), w.sent(), "requests sent after Do number %d", i+1)
			require.Equal(t, i > 0, apierrors.IsAlreadyExists(err), "the error says that web exists, after Do number %d",
				i+1)
		}
		t.Rule("Do does not change the request, so two goroutines may send it at once: each has its own retries.")
		t.Did("the same request in two goroutines, half a second apart, and the server stays busy")
		w.Script("", fakeapi.Times(6, fakeapi.Answer(429, "1"))...)
		before := w.sent()
		t.Go(func() { r.Do(t.Context()) })
		time.Sleep(500 * time.Millisecond)
		t.Go(func() { r.Do(t.Context()) })
		time.Sleep(time.Minute)
		require.Equal(t, 6, w.sent()-before, "requests sent by both")
		for i, sent := range w.Requests("") {
			require.Equal(t, string(manifest("web")), sent.Body, "the body of request %d", i+1)
		}
	})
}
