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

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// getWeb sends a GET of the Deployment web.
func (w world) getWeb() restclient.Result { return w.do(w.on("GET").Name("web")) }

func TestTask2_Object_comes_back(t *testing.T) {
	guard.Test(t, "Into puts the object in the answer into the object that it is given.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		d := &appsv1.Deployment{}
		require.NoError(t, w.getWeb().Into(d), "the error of Into")
		require.Equal(t, "web", d.Name, "the name of the object")
		require.EqualValues(t, 2, *d.Spec.Replicas, "replicas of the object")
		t.Rule("The request goes to what URL returns, with the verb as its method.")
		require.Equal(t, "GET /apis/apps/v1/namespaces/default/deployments/web", w.Requests("")[0].String(),
			"the request sent")
	})
}

func TestTask2_List_comes_back(t *testing.T) {
	guard.Test(t, "A list is an object like any other: Into fills its items, and its version, from which a watch "+
		"starts.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("b"), deployment("a"))
		list := &appsv1.DeploymentList{}
		require.NoError(t, w.do(w.on("GET")).Into(list), "the error of Into")
		require.Equal(t, []string{"a", "b"}, names(list), "names in the list")
		require.Equal(t, w.ResourceVersion(), list.ResourceVersion, "the version of the list")
	})
}

func TestTask2_Get_finds_out_the_kind(t *testing.T) {
	guard.Test(t, "Get returns the object of the kind that the body names: "+
		"the scheme has its Go type.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		obj, err := w.getWeb().Get()
		require.NoError(t, err, "the error of Get of an object")
		require.IsType(t, &appsv1.Deployment{}, obj, "the object that Get returns")
		obj, err = w.do(w.on("GET")).Get()
		require.NoError(t, err, "the error of Get of a list")
		require.IsType(t, &appsv1.DeploymentList{}, obj, "the list that Get returns")
	})
}

func TestTask2_Raw_is_what_came(t *testing.T) {
	guard.Test(t, "DoRaw and Raw return the body as it came.", func(t *guard.T) {
		w := newWorld(t)
		const text = ` {"kind": "Deployment", "x": 1} `
		both := fakeapi.Times(2, fakeapi.Body("application/json", text))
		w.script("answers both requests with the same body", "", both...)
		t.Did("DoRaw")
		body, err := w.on("GET").Name("web").DoRaw(t.Context())
		require.NoError(t, err, "the error of DoRaw")
		require.Equal(t, text, string(body), "the body that DoRaw returns")
		body, err = w.getWeb().Raw()
		require.NoError(t, err, "the error of Raw")
		require.Equal(t, text, string(body), "the body that Raw returns")
	})
}

func TestTask2_Client_asks_for_what_its_config_says(t *testing.T) {
	const (
		anyForm = "The content type of the answer says how to read it: JSON or protobuf, the object is the same."
		asks    = "A client asks for the content type of its config."
	)
	guard.Test(t, anyForm, func(t *guard.T) {
		for _, contentType := range []string{"", "application/json", "application/vnd.kubernetes.protobuf"} {
			w := newWorld(t, func(c *rest.Config) { c.ContentType = contentType })
			t.Rule(anyForm)
			w.did("a client with content type %q", contentType)
			w.Create(deployment("web"))
			d := &appsv1.Deployment{}
			require.NoError(t, w.getWeb().Into(d), "the error of Into with content type %q", contentType)
			require.Equal(t, "web", d.Name, "the name of the object with content type %q", contentType)
			if contentType != "" {
				t.Rule(asks)
				accept := w.Requests("")[0].Header.Get("Accept")
				require.Contains(t, accept, contentType, "the Accept header of the request")
			}
		}
	})
}

func TestTask2_Broken_request_is_not_sent(t *testing.T) {
	guard.Test(t, "The first mistake in a request is kept, and returned by Do and DoRaw.", func(t *guard.T) {
		w := newWorld(t)
		t.Did(`Name ".."`)
		r := w.on("GET").Name("..")
		require.ErrorContains(t, w.do(r).Error(), r.Error().Error(), "the error of Do")
		t.Did("DoRaw")
		_, err := r.DoRaw(t.Context())
		require.ErrorContains(t, err, r.Error().Error(), "the error of DoRaw")
		t.Rule("A method with a space in it is an error: it would change the first line of the request.")
		t.Did(`Verb "NO METHOD"`)
		err = w.do(w.client.Verb("NO METHOD").Resource("deployments")).Error()
		require.Error(t, err, `the error of Do with the method "NO METHOD"`)
		t.Rule("A broken request is not sent: it could ask for something else.")
		w.requireSent(0)
	})
}

func TestTask2_Empty_namespace_is_caught_before_sending(t *testing.T) {
	guard.Test(t, "A POST with an empty namespace, or a GET, PUT or DELETE of a name with one, is an error: a "+
		"variable was not filled in, and the server's answer would not say so.", func(t *guard.T) {
		w := newWorld(t)
		t.Did(`POST with Namespace ""`)
		err := w.do(w.client.Post().Namespace("").Resource("deployments")).Error()
		require.Error(t, err, "the error of a POST")
		for _, verb := range []string{"GET", "PUT", "DELETE"} {
			t.Did(`%s with Namespace "" and Name "web"`, verb)
			err := w.do(w.client.Verb(verb).Namespace("").Resource("deployments").Name("web")).Error()
			require.Error(t, err, "the error of a %s of a name", verb)
		}
		t.Rule("A request that cannot be meant is not sent.")
		w.requireSent(0)
		t.Rule("An empty namespace is no error in a list: it stands for all of them.")
		t.Did(`GET with Namespace "" and no name`)
		err = w.do(w.client.Get().Namespace("").Resource("deployments")).Error()
		require.NoError(t, err, "the error of a list of all namespaces")
	})
}

func TestTask2_Objects_without_a_namespace_can_be_sent(t *testing.T) {
	guard.Test(t, "A Node or a Namespace is in no namespace: a missing one is an error only where Namespace was "+
		"called.", func(t *guard.T) {
		w := newWorld(t)
		for _, verb := range []string{"GET", "PUT", "DELETE"} {
			t.Did(`%s with Name "web", and no Namespace`, verb)
			w.do(w.client.Verb(verb).Resource("deployments").Name("web"))
		}
		t.Did("POST without Namespace")
		w.do(w.client.Post().Resource("deployments"))
		w.requireSent(4)
	})
}

func TestTask2_Error_is_the_servers_status(t *testing.T) {
	guard.Test(t, "The server's Status becomes the error, so that apierrors.IsNotFound "+
		"and the others know it.", func(t *guard.T) {
		w := newWorld(t)
		err := w.getWeb().Into(&appsv1.Deployment{})
		requireIs(t, apierrors.IsNotFound, metav1.StatusReasonNotFound, err, "Into")
		require.EqualError(t, err, `deployments.apps "web" not found`, "the error of Into")
		t.Rule("The error keeps the details of the Status: perhaps not the object was not found, but its namespace.")
		status := err.(apierrors.APIStatus).Status()
		want := &metav1.StatusDetails{Name: "web", Group: "apps", Kind: "deployments"}
		require.Equal(t, want, status.Details, "the details of the Status")
		t.Rule("Error and Get return the same error as Into.")
		require.Equal(t, short(err), short(w.getWeb().Error()), "the error of Error")
		_, get := w.getWeb().Get()
		require.Equal(t, short(err), short(get), "the error of Get")
	})
}

func TestTask2_Status_may_lack_its_version(t *testing.T) {
	guard.Test(t, "A Status without an apiVersion is a v1 one: its reason is the error's, where the code alone would "+
		"be a conflict.", func(t *guard.T) {
		w := newWorld(t)
		w.script("409, with a Status without an apiVersion", "", func(rw respond, _ *request, _ handler) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(409)
			io.WriteString(rw, `{"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409,`+
				`"message":"web is there"}`)
		})
		requireIs(t, apierrors.IsAlreadyExists, metav1.StatusReasonAlreadyExists, w.getWeb().Error(), "Do")
	})
}

func TestTask2_Answer_without_a_content_type(t *testing.T) {
	guard.Test(t, "An answer without a content type is read as one of the client's own.", func(t *guard.T) {
		w := newWorld(t)
		w.script("200, with a Deployment, and without a content type", "", func(rw respond, _ *request, _ handler) {
			rw.Header()["Content-Type"] = nil
			io.WriteString(rw, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"}}`)
		})
		d := &appsv1.Deployment{}
		require.NoError(t, w.getWeb().Into(d), "the error of Into")
		require.Equal(t, "web", d.Name, "the name of the object")
	})
}

// answers makes a fault that answers with this code, content type and body.
func answers(code int, contentType, body string) fakeapi.Fault {
	return func(rw respond, _ *request, _ handler) {
		rw.Header().Set("Content-Type", contentType)
		rw.WriteHeader(code)
		io.WriteString(rw, body)
	}
}

func TestTask2_Answer_that_is_no_status_is_an_error_too(t *testing.T) {
	const textInTheError = "The body of an unexpected answer is in the error, if it is text: its words are the " +
		"only hint."
	guard.Test(t, textInTheError, func(t *guard.T) {
		w := newWorld(t)
		w.script("a proxy answers 502 in plain text", "", fakeapi.Text(502, "upstream is away"))
		err := w.getWeb().Into(&appsv1.Deployment{})
		require.ErrorContains(t, err, "upstream is away", "the error of Into after plain text")
		t.Rule("An answer without a Status is one that was not expected (apierrors.IsUnexpectedServerError).")
		requireIs(t, apierrors.IsUnexpectedServerError, "UnexpectedServerError", err, "Into after plain text")
		t.Rule(textInTheError)
		page := answers(502, "text/html; charset=utf-8", "<html>gateway 7 is away</html>")
		w.script("a proxy answers 502 with a page of HTML", "", page)
		require.ErrorContains(t, w.getWeb().Error(), "gateway 7 is away", "the error of Do after a page of HTML")
		t.Rule("If the body is not a Status, the error is made of the code.")
		w.script("404, and the body is no Status", "", fakeapi.Text(404, "<html>"))
		requireIs(t, apierrors.IsNotFound, metav1.StatusReasonNotFound, w.getWeb().Error(), "Do after 404")
		w.script("401, and JSON that is no Status", "", answers(401, "application/json", `{"error":"who are you?"}`))
		requireIs(t, apierrors.IsUnauthorized, metav1.StatusReasonUnauthorized, w.getWeb().Error(), "Do after 401")
		t.Rule("An answer other than 2xx is an error, whatever its body.")
		for what, body := range map[string]string{
			"a Deployment":               `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"}}`,
			"a Status that says Success": `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		} {
			w.script("500, and the body is "+what, "", fakeapi.Times(2, answers(500, "application/json", body))...)
			call := "Do after 500 with " + what
			requireIs(t, apierrors.IsInternalError, metav1.StatusReasonInternalError, w.getWeb().Error(), call)
			require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into after 500 with "+what)
		}
	})
}

func TestTask2_Error_says_what_else_is_known(t *testing.T) {
	guard.Test(t, "The body of an unexpected answer is in the error, if it is text. Without a content type it most "+
		"often is.", func(t *guard.T) {
		w := newWorld(t)
		forbidden := func(contentType []string) fakeapi.Fault {
			return func(rw respond, _ *request, _ handler) {
				rw.Header()["Content-Type"] = contentType
				rw.Header().Set("Retry-After", "30")
				rw.WriteHeader(403)
				io.WriteString(rw, "too often from this address")
			}
		}
		w.script("a proxy answers 403 with Retry-After 30, and a body of no content type", "", forbidden(nil))
		err := w.getWeb().Error()
		require.ErrorContains(t, err, "too often from this address", "the error of Do without a content type")
		t.Rule("The error has the seconds of Retry-After: the caller who tries again later needs them.")
		seconds, _ := apierrors.SuggestsClientDelay(err)
		require.Equal(t, 30, seconds, "seconds that the error suggests to wait")
		t.Rule("An answer without a Status is one that was not expected (apierrors.IsUnexpectedServerError).")
		w.script("a proxy answers 403, and a body of bytes", "", forbidden([]string{"application/octet-stream"}))
		err = w.getWeb().Error()
		requireIs(t, apierrors.IsUnexpectedServerError, "UnexpectedServerError", err, "Do after a body of bytes")
		t.Rule("A body that is not text, by its content type, is not in the error: it is not for people or their logs.")
		require.NotContains(t, err.Error(), "too often", "the text of the error of Do after a body of bytes")
	})
}

func TestTask2_DoRaw_returns_an_error_with_the_body(t *testing.T) {
	guard.Test(t, "An answer other than 2xx is an error, also of DoRaw. The body is returned along with it, as it "+
		"came.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("DoRaw of a Deployment that does not exist")
		body, err := w.on("GET").Name("web").DoRaw(t.Context())
		requireIs(t, apierrors.IsNotFound, metav1.StatusReasonNotFound, err, "DoRaw")
		require.Contains(t, string(body), `"reason":"NotFound"`, "the body that DoRaw returns")
	})
}

func TestTask2_Failure_with_code_200_is_an_error(t *testing.T) {
	guard.Test(t, "A Status that does not say Success is the error, also if the code was 200: it is in the place of "+
		"an object.", func(t *guard.T) {
		w := newWorld(t)
		failure := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,` +
			`"message":"somebody was faster"}`
		failed := fakeapi.Times(2, fakeapi.Body("application/json", failure))
		w.script("200, with a Status that says Failure", "", failed...)
		d := &appsv1.Deployment{}
		err := w.getWeb().Into(d)
		requireIs(t, apierrors.IsConflict, metav1.StatusReasonConflict, err, "Into after a Failure")
		_, err = w.getWeb().Get()
		requireIs(t, apierrors.IsConflict, metav1.StatusReasonConflict, err, "Get after a Failure")
		silent := fakeapi.Body("application/json", `{"kind":"Status","apiVersion":"v1"}`)
		w.script("200, with a Status that says nothing", "", fakeapi.Times(2, silent)...)
		require.Error(t, w.getWeb().Into(d), "the error of Into after a Status that says nothing")
		_, err = w.getWeb().Get()
		require.Error(t, err, "the error of Get after a Status that says nothing")
	})
}

func TestTask2_Success_is_no_error(t *testing.T) {
	guard.Test(t, "A Status that says Success is not an error, and an object like any other: a deletion is answered "+
		"with one.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"), deployment("db"), deployment("cdn"))
		// The text of such a Status is empty, so the error is shown with its type.
		err := w.do(w.on("DELETE").Name("web")).Error()
		require.Equal(t, "no error", short(err), "the error of Do")
		status := &metav1.Status{}
		err = w.do(w.on("DELETE").Name("db")).Into(status)
		require.Equal(t, "no error", short(err), "the error of Into")
		require.Equal(t, "Success", status.Status, "the status of the Status")
		obj, err := w.do(w.on("DELETE").Name("cdn")).Get()
		require.Equal(t, "no error", short(err), "the error of Get")
		require.IsType(t, &metav1.Status{}, obj, "the object that Get returns")
	})
}

func TestTask2_Empty_body_is_an_error(t *testing.T) {
	guard.Test(t, "An empty body is an error: a Deployment whose fields all are empty looks like one without "+
		"replicas, and a program would act on it.", func(t *guard.T) {
		w := newWorld(t)
		w.script("200, and no body", "", fakeapi.Times(2, fakeapi.Body("application/json", ""))...)
		require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into")
		t.Rule("An empty body is an error: the caller of Get would use an object that does not exist.")
		_, err := w.getWeb().Get()
		require.Error(t, err, "the error of Get")
	})
}

func TestTask2_Long_answer_is_read_to_its_end(t *testing.T) {
	guard.Test(t, "Do reads the answer to its end, however long it is: a list of a large cluster has hundreds of "+
		"megabytes.", func(t *guard.T) {
		w := newWorld(t)
		name := strings.Repeat("x", 4<<20)
		body := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"` + name + `"}}`
		w.script("an answer of 4 MiB, without a length", "", fakeapi.Body("application/json", body))
		d := &appsv1.Deployment{}
		require.NoError(t, w.getWeb().Into(d), "the error of Into")
		require.Equal(t, len(name), len(d.Name), "the length of the object's name")
	})
}

func TestTask2_Body_that_cannot_be_read_is_an_error(t *testing.T) {
	guard.Test(t, "A body that cannot be read is an error: there is no object in it.", func(t *guard.T) {
		for _, body := range []string{
			`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"two"}}`,
			`{"kind":"Deployment","apiVersion":"apps/v1"`,
			`<html>`,
		} {
			w := newWorld(t)
			w.script("200, with the body "+body, "", fakeapi.Body("application/json", body))
			require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into for the body "+body)
		}
		t.Rule("An unknown content type is an error: a page for signing in comes with code 200, too.")
		w := newWorld(t)
		w.script("200, of an unknown content type", "", fakeapi.Times(2, fakeapi.Body("text/html", "<html>"))...)
		require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into for a page of HTML")
		_, err := w.getWeb().Get()
		require.Error(t, err, "the error of Get for a page of HTML")
	})
}

func TestTask2_Names_of_fields_are_case_sensitive(t *testing.T) {
	guard.Test(t, "Unknown fields are not an error: a newer server has more of them.", func(t *guard.T) {
		w := newWorld(t)
		body := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","Namespace":"x"},` +
			`"future":{"a":[1,2]}}`
		w.script("a field in other letters, and an unknown one", "", fakeapi.Body("application/json", body))
		d := &appsv1.Deployment{}
		require.NoError(t, w.getWeb().Into(d), "the error of Into")
		t.Rule("The names of fields are case-sensitive: encoding/json would take Namespace for namespace, and the " +
			"API does not.")
		require.Equal(t, metav1.ObjectMeta{Name: "web"}, d.ObjectMeta, "the metadata of the object")
	})
}

func TestTask2_Answer_that_breaks_off_is_an_error(t *testing.T) {
	guard.Test(t, "A body that breaks off is an error: half an answer is not an answer, also if it is not read as "+
		"JSON.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		w.script("the connection breaks after 50 bytes of the body", "", fakeapi.Times(3, fakeapi.Cut(50))...)
		require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into")
		_, err := w.getWeb().Raw()
		require.Error(t, err, "the error of Raw")
		t.Did("DoRaw")
		_, err = w.on("GET").Name("web").DoRaw(t.Context())
		require.Error(t, err, "the error of DoRaw")
	})
}

func TestTask2_Connection_is_used_again(t *testing.T) {
	guard.Test(t, "Nothing is left behind: an answer is read to its end and closed, or each request makes a new "+
		"connection, with a TLS handshake.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		for range 5 {
			require.NoError(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into for web")
			require.Error(t, w.do(w.on("GET").Name("db")).Error(), "the error of Do for db, which does not exist")
		}
		require.Equal(t, 1, w.connections(), "connections made")
	})
}

func TestTask2_Every_body_is_closed(t *testing.T) {
	guard.Test(t, "Nothing is left behind: a body that is not closed keeps its connection, and two goroutines, "+
		"forever.", func(t *guard.T) {
		bodies := &closings{}
		w := newWorld(t, counting(bodies))
		w.Create(deployment("web"))
		w.getWeb()
		w.do(w.on("GET").Name("db"))
		w.script("an answer that breaks off", "", fakeapi.Cut(10))
		w.getWeb()
		t.Did("DoRaw of web, and of db, which does not exist")
		w.on("GET").Name("web").DoRaw(t.Context())
		w.on("GET").Name("db").DoRaw(t.Context())
		require.Equal(t, 0, bodies.open, "open bodies after five requests")
	})
}

func TestTask2_Server_that_is_away_is_an_error(t *testing.T) {
	guard.Test(t, "A request without an answer is an error.", func(t *guard.T) {
		w := newWorld(t)
		w.did("the server goes away")
		w.Down()
		require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into")
		require.Error(t, w.getWeb().Error(), "the error of Error")
	})
}
