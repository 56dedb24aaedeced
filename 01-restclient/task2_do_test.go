package restclient_test

// Task 2: Do, Into, and errors that say what the server said.

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Object_comes_back(t *testing.T) {
	guard.Test(t, "the server has it", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		d := &appsv1.Deployment{}
		require.NoError(t, w.do(w.on("GET").Name("web")).Into(d))
		t.Rule("Into fills the object that it is given")
		require.Equal(t, "web", d.Name)
		require.EqualValues(t, 2, *d.Spec.Replicas)
		t.Rule("the request is what URL says, with the verb as its method")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments/web", w.Requests("")[0].String())
	})
}

func TestTask2_List_comes_back(t *testing.T) {
	guard.Test(t, "two Deployments can be listed", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("b"), deployment("a"))
		list := &appsv1.DeploymentList{}
		require.NoError(t, w.do(w.on("GET")).Into(list))
		t.Rule("a list is an object like any other")
		require.Equal(t, []string{"a", "b"}, names(list))
		t.Rule("a watch begins where the list was")
		require.Equal(t, w.ResourceVersion(), list.ResourceVersion)
	})
}

func TestTask2_Get_finds_out_the_kind(t *testing.T) {
	guard.Test(t, "the server has it", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		obj, err := w.do(w.on("GET").Name("web")).Get()
		require.NoError(t, err)
		t.Rule("the body says its kind, and the scheme which Go type that is")
		require.IsType(t, &appsv1.Deployment{}, obj)
		obj, err = w.do(w.on("GET")).Get()
		t.Rule("the server has it")
		require.NoError(t, err)
		t.Rule("the body says its kind, and the scheme which Go type that is")
		require.IsType(t, &appsv1.DeploymentList{}, obj)
	})
}

func TestTask2_Raw_is_what_came(t *testing.T) {
	guard.Test(t, "the answer is 200", func(t *guard.T) {
		w := newWorld(t)
		w.script("answers all requests with the same body", "", fakeapi.Times(2, fakeapi.Body("application/json", ` {"kind": "Deployment", "x": 1} `))...)
		t.Did("DoRaw")
		body, err := w.on("GET").Name("web").DoRaw(t.Context())
		require.NoError(t, err)
		t.Rule("DoRaw changes nothing")
		require.Equal(t, ` {"kind": "Deployment", "x": 1} `, string(body))
		body, err = w.do(w.on("GET").Name("web")).Raw()
		t.Rule("the answer is 200")
		require.NoError(t, err)
		t.Rule("Raw changes nothing")
		require.Equal(t, ` {"kind": "Deployment", "x": 1} `, string(body))
	})
}

func TestTask2_Client_asks_for_what_its_config_says(t *testing.T) {
	guard.Test(t, "the content type of the answer says how to read it", func(t *guard.T) {
		for _, contentType := range []string{"", "application/json", "application/vnd.kubernetes.protobuf"} {
			w := newWorld(t, func(c *rest.Config) { c.ContentType = contentType })
			w.did("a client with content type %q", contentType)
			w.Create(deployment("web"))
			d := &appsv1.Deployment{}
			require.NoError(t, w.do(w.on("GET").Name("web")).Into(d))
			t.Rule("JSON or protobuf, the object is the same")
			require.Equal(t, "web", d.Name)
			if contentType != "" {
				t.Rule("the server sends what it is asked for")
				require.Contains(t, w.Requests("")[0].Header.Get("Accept"), contentType)
			}
		}
	})
}

func TestTask2_Broken_request_is_not_sent(t *testing.T) {
	guard.Test(t, "what went wrong while it was built is why it cannot be sent", func(t *guard.T) {
		w := newWorld(t)
		t.Did(`Name ".."`)
		r := w.on("GET").Name("..")
		require.ErrorContains(t, w.do(r).Error(), r.Error().Error())
		t.Did("DoRaw")
		_, err := r.DoRaw(t.Context())
		require.ErrorContains(t, err, r.Error().Error())
		t.Did(`Verb "NO METHOD"`)
		t.Rule("with a space in it the first line of the request would be another one")
		require.Error(t, w.do(w.client.Verb("NO METHOD").Resource("deployments")).Error())
		t.Rule("nobody knows what such a request would ask for")
		require.Equal(t, 0, w.sent())
	})
}

func TestTask2_Empty_namespace_is_caught_before_sending(t *testing.T) {
	guard.Test(t, "all namespaces cannot be created in: somebody forgot to fill in a variable, and the server's "+
		"answer would not say so", func(t *guard.T) {
		w := newWorld(t)
		t.Did(`POST with Namespace ""`)
		require.Error(t, w.do(w.client.Post().Namespace("").Resource("deployments")).Error())
		for _, verb := range []string{"GET", "PUT", "DELETE"} {
			t.Did(`%s with Namespace "" and Name "web"`, verb)
			t.Rule("an object in all namespaces: somebody forgot to fill in a variable")
			require.Error(t, w.do(w.client.Verb(verb).Namespace("").Resource("deployments").Name("web")).Error())
		}
		t.Rule("a mistake that can be seen here is not sent there")
		require.Equal(t, 0, w.sent())
		t.Did(`GET with Namespace "" and no name`)
		t.Rule("a list of all namespaces is fine")
		require.NoError(t, w.do(w.client.Get().Namespace("").Resource("deployments")).Error())
	})
}

func TestTask2_Objects_without_a_namespace_can_be_sent(t *testing.T) {
	guard.Test(t, "a Node or a Namespace is in no namespace: only where Namespace was called was one meant, and "+
		"forgotten", func(t *guard.T) {
		w := newWorld(t)
		for _, verb := range []string{"GET", "PUT", "DELETE"} {
			t.Did(`%s with Name "web", and no Namespace`, verb)
			w.do(w.client.Verb(verb).Resource("deployments").Name("web"))
		}
		t.Did("POST without Namespace")
		w.do(w.client.Post().Resource("deployments"))
		require.Equal(t, 4, w.sent())
	})
}

func TestTask2_Error_is_the_servers_status(t *testing.T) {
	guard.Test(t, "the server's own words", func(t *guard.T) {
		w := newWorld(t)
		err := w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{})
		t.Rule("the reason in the server's Status decides; got %s", short(err))
		require.True(t, apierrors.IsNotFound(err))
		t.Rule("the server's own words")
		require.EqualError(t, err, `deployments.apps "web" not found`)
		status := err.(apierrors.APIStatus).Status()
		t.Rule("the details say what was not found: perhaps not the object, but its namespace")
		require.Equal(t, &metav1.StatusDetails{Name: "web", Group: "apps", Kind: "deployments"}, status.Details)
		t.Rule("Error says the same as Into")
		require.Equal(t, short(err), short(w.do(w.on("GET").Name("web")).Error()))
		_, get := w.do(w.on("GET").Name("web")).Get()
		t.Rule("Get says the same as Into")
		require.Equal(t, short(err), short(get))
	})
}

func TestTask2_Status_may_lack_its_version(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		w := newWorld(t)
		w.script("409, with a Status without an apiVersion", "", func(rw respond, _ *request, _ handler) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(409)
			io.WriteString(rw, `{"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409,"message":"web is there"}`)
		})
		err := w.do(w.on("GET").Name("web")).Error()
		t.Rule("a Status of which the version is not said is one of v1; the code alone would be a conflict; "+
			"got %s", short(err))
		require.True(t, apierrors.IsAlreadyExists(err))
	})
}

func TestTask2_Answer_without_a_content_type(t *testing.T) {
	guard.Test(t, "who does not say what it is has sent what was asked for: the client's own content type", func(t *guard.T) {
		w := newWorld(t)
		w.script("200, with a Deployment, and without a content type", "", func(rw respond, _ *request, _ handler) {
			rw.Header()["Content-Type"] = nil
			io.WriteString(rw, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"}}`)
		})
		d := &appsv1.Deployment{}
		require.NoError(t, w.do(w.on("GET").Name("web")).Into(d))
		require.Equal(t, "web", d.Name)
	})
}

func TestTask2_Answer_that_is_no_status_is_an_error_too(t *testing.T) {
	guard.Test(t, "whatever stands between client and server may answer, and its words are the only hint", func(t *guard.T) {
		w := newWorld(t)
		w.script("a proxy answers 502 in plain text", "", fakeapi.Text(502, "upstream is away"))
		err := w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{})
		require.ErrorContains(t, err, "upstream is away")
		t.Rule("nobody expects such an answer; got %s", short(err))
		require.True(t, apierrors.IsUnexpectedServerError(err))
		w.script("a proxy answers 502 with a page of HTML", "", func(rw respond, _ *request, _ handler) {
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			rw.WriteHeader(502)
			rw.Write([]byte("<html>gateway 7 is away</html>"))
		})
		err = w.do(w.on("GET").Name("web")).Error()
		t.Rule("a page is text, too, and its words are the only hint")
		require.ErrorContains(t, err, "gateway 7 is away")
		w.script("404, and the body is no Status", "", fakeapi.Text(404, "<html>"))
		err = w.do(w.on("GET").Name("web")).Error()
		t.Rule("the code says enough; got %s", short(err))
		require.True(t, apierrors.IsNotFound(err))
		w.script("401, and JSON that is no Status", "", func(rw respond, _ *request, _ handler) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(401)
			rw.Write([]byte(`{"error":"who are you?"}`))
		})
		err = w.do(w.on("GET").Name("web")).Error()
		t.Rule("a body that cannot be read must not hide the code; got %s", short(err))
		require.True(t, apierrors.IsUnauthorized(err))
		for what, body := range map[string]string{
			"a Deployment":               `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"}}`,
			"a Status that says Success": `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		} {
			w.script("500, and the body is "+what, "", fakeapi.Times(2, func(rw respond, _ *request, _ handler) {
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(500)
				io.WriteString(rw, body)
			})...)
			t.Rule("no body makes a success of a 500")
			require.True(t, apierrors.IsInternalError(w.do(w.on("GET").Name("web")).Error()))
			require.Error(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}))
		}
	})
}

func TestTask2_Error_says_what_else_is_known(t *testing.T) {
	guard.Test(t, "who does not say what it is most often says it in plain text", func(t *guard.T) {
		w := newWorld(t)
		answers := func(contentType []string) fakeapi.Fault {
			return func(rw respond, _ *request, _ handler) {
				rw.Header()["Content-Type"] = contentType
				rw.Header().Set("Retry-After", "30")
				rw.WriteHeader(403)
				io.WriteString(rw, "too often from this address")
			}
		}
		w.script("a proxy answers 403 with Retry-After 30, and a body of no content type", "", answers(nil))
		err := w.do(w.on("GET").Name("web")).Error()
		require.ErrorContains(t, err, "too often from this address")
		seconds, _ := apierrors.SuggestsClientDelay(err)
		t.Rule("seconds: the caller who tries again later has to know when")
		require.Equal(t, 30, seconds)
		w.script("a proxy answers 403, and a body of bytes", "", answers([]string{"application/octet-stream"}))
		err = w.do(w.on("GET").Name("web")).Error()
		t.Rule("nobody expects such an answer; got %s", short(err))
		require.True(t, apierrors.IsUnexpectedServerError(err))
		t.Rule("what is not text, by its content type, is not for people, and not for their logs")
		require.NotContains(t, err.Error(), "too often")
	})
}

func TestTask2_DoRaw_returns_an_error_with_the_body(t *testing.T) {
	guard.Test(t, "the body is the caller's to read, also of an error", func(t *guard.T) {
		w := newWorld(t)
		t.Did("DoRaw of what is not there")
		body, err := w.on("GET").Name("web").DoRaw(t.Context())
		t.Rule("404 is an error, however the body is read; got %s", short(err))
		require.True(t, apierrors.IsNotFound(err))
		t.Rule("the body is the caller's to read, also of an error")
		require.Contains(t, string(body), `"reason":"NotFound"`)
	})
}

func TestTask2_Failure_with_code_200_is_an_error(t *testing.T) {
	guard.Test(t, "a Status that does not say Success is in the place of an object, and is none", func(t *guard.T) {
		w := newWorld(t)
		failure := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"somebody was faster"}`
		w.script("200, with a Status that says Failure", "", fakeapi.Times(2, fakeapi.Body("application/json", failure))...)
		d := &appsv1.Deployment{}
		err := w.do(w.on("GET").Name("web")).Into(d)
		t.Rule("a Status in the place of an object is what went wrong; got %s", short(err))
		require.True(t, apierrors.IsConflict(err))
		_, err = w.do(w.on("GET").Name("web")).Get()
		require.True(t, apierrors.IsConflict(err))
		w.script("200, with a Status that says nothing", "", fakeapi.Times(2, fakeapi.Body("application/json", `{"kind":"Status","apiVersion":"v1"}`))...)
		t.Rule("a Status that does not say Success is in the place of an object, and is none")
		require.Error(t, w.do(w.on("GET").Name("web")).Into(d))
		_, err = w.do(w.on("GET").Name("web")).Get()
		require.Error(t, err)
	})
}

func TestTask2_Success_is_no_error(t *testing.T) {
	guard.Test(t, "a deletion is answered with a Status that says Success", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"), deployment("db"), deployment("cdn"))
		require.NoError(t, w.do(w.on("DELETE").Name("web")).Error())
		status := &metav1.Status{}
		t.Rule("a Status can be what was asked for")
		require.NoError(t, w.do(w.on("DELETE").Name("db")).Into(status))
		require.Equal(t, "Success", status.Status)
		obj, err := w.do(w.on("DELETE").Name("cdn")).Get()
		t.Rule("a Status that says Success is an object like any other")
		require.NoError(t, err)
		require.IsType(t, &metav1.Status{}, obj)
	})
}

func TestTask2_Empty_body_is_an_error(t *testing.T) {
	guard.Test(t, "a Deployment whose fields all are empty looks like one with no replicas, and somebody would "+
		"act on it", func(t *guard.T) {
		w := newWorld(t)
		w.script("200, and no body", "", fakeapi.Times(2, fakeapi.Body("application/json", ""))...)
		require.Error(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}))
		_, err := w.do(w.on("GET").Name("web")).Get()
		t.Rule("no object and no error: the caller uses what is not there")
		require.Error(t, err)
	})
}

func TestTask2_Long_answer_is_read_to_its_end(t *testing.T) {
	guard.Test(t, "a list of a large cluster has hundreds of megabytes; the server decides how much there is", func(t *guard.T) {
		w := newWorld(t)
		name := strings.Repeat("x", 4<<20)
		w.script("an answer of 4 MiB, without saying how long it will be", "", fakeapi.Body("application/json", `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"`+name+`"}}`))
		d := &appsv1.Deployment{}
		require.NoError(t, w.do(w.on("GET").Name("web")).Into(d))
		t.Rule("all of it")
		require.Len(t, d.Name, len(name))
	})
}

func TestTask2_Body_that_cannot_be_read_is_an_error(t *testing.T) {
	guard.Test(t, "half an object is none", func(t *guard.T) {
		for _, body := range []string{`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"two"}}`, `{"kind":"Deployment","apiVersion":"apps/v1"`, `<html>`} {
			w := newWorld(t)
			w.script("200, with the body "+body, "", fakeapi.Body("application/json", body))
			require.Error(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}))
		}
		w := newWorld(t)
		w.script("200, of a content type that nobody knows", "", fakeapi.Times(2, fakeapi.Body("text/html", "<html>"))...)
		t.Rule("a page for signing in comes with code 200, too")
		require.Error(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}))
		_, err := w.do(w.on("GET").Name("web")).Get()
		t.Rule("a page for signing in comes with code 200, too; no object and no error is a nil that somebody " +
			"will use")
		require.Error(t, err)
	})
}

func TestTask2_Names_of_fields_are_case_sensitive(t *testing.T) {
	guard.Test(t, "a newer server has fields that this client does not know", func(t *guard.T) {
		w := newWorld(t)
		w.script("a field in other letters, and one that nobody knows", "", fakeapi.Body("application/json",
			`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","Namespace":"x"},"future":{"a":[1,2]}}`))
		d := &appsv1.Deployment{}
		require.NoError(t, w.do(w.on("GET").Name("web")).Into(d))
		t.Rule("encoding/json would take Namespace for namespace; the API does not")
		require.Equal(t, metav1.ObjectMeta{Name: "web"}, d.ObjectMeta)
	})
}

func TestTask2_Answer_that_breaks_off_is_an_error(t *testing.T) {
	guard.Test(t, "half an answer is none", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		w.script("the connection breaks after 50 bytes of the body", "", fakeapi.Times(3, fakeapi.Cut(50))...)
		require.Error(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}))
		_, err := w.do(w.on("GET").Name("web")).Raw()
		t.Rule("half an answer is none, also if nobody reads it as JSON")
		require.Error(t, err)
		t.Did("DoRaw")
		_, err = w.on("GET").Name("web").DoRaw(t.Context())
		require.Error(t, err)
	})
}

func TestTask2_Connection_is_used_again(t *testing.T) {
	guard.Test(t, "the server has it", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		for range 5 {
			require.NoError(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}))
			t.Rule("the server does not have it")
			require.Error(t, w.do(w.on("GET").Name("db")).Error())
		}
		t.Rule("a connection can be used again if the answer was read to its end and closed; if not, each " +
			"request makes a new one, with a TLS handshake")
		require.Equal(t, 1, w.connections())
	})
}

func TestTask2_Every_body_is_closed(t *testing.T) {
	guard.Test(t, "a body that is not closed keeps its connection, and two goroutines, for ever", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.Create(deployment("web"))
		w.do(w.on("GET").Name("web"))
		w.do(w.on("GET").Name("db"))
		w.script("an answer that breaks off", "", fakeapi.Cut(10))
		w.do(w.on("GET").Name("web"))
		t.Did("DoRaw of what is there, and of what is not")
		w.on("GET").Name("web").DoRaw(t.Context())
		w.on("GET").Name("db").DoRaw(t.Context())
		require.Equal(t, 0, bodies.open)
	})
}

func TestTask2_Server_that_is_away_is_an_error(t *testing.T) {
	guard.Test(t, "nobody answered", func(t *guard.T) {
		w := newWorld(t)
		w.did("the server goes away")
		w.Down()
		require.Error(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}))
		require.Error(t, w.do(w.on("GET").Name("web")).Error())
	})
}
