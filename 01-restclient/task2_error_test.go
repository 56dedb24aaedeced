package restclient_test

// Task 2: answers that are errors.

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// textIfText is the beginning of several rules.
const textIfText = "Its text contains the first 2 KiB of the body, if the content type begins with text/ or is missing"

func TestTask2_Error_is_the_servers_status(t *testing.T) {
	guard.Test(t, "The server's Status becomes an error that apierrors.IsNotFound and the others "+
		"recognize.", func(t *guard.T) {
		w := newWorld(t)
		err := w.getWeb().Into(&appsv1.Deployment{})
		requireIs(t, apierrors.IsNotFound, metav1.StatusReasonNotFound, err, "Into")
		require.ErrorContains(t, err, `deployments.apps "web" not found`, "the error of Into")
		t.Rule("If the body is a Status whose status is Failure, the error is that Status, as an " +
			"apierrors.StatusError. Its details say what was not found: perhaps the namespace, not the " +
			"object.")
		status := statusIn(t, err)
		want := &metav1.StatusDetails{Name: "web", Group: "apps", Kind: "deployments"}
		require.Equal(t, want, status.Details, "the details of the Status")
		t.Rule("The server's Status becomes an error that apierrors.IsNotFound and the others recognize: " +
			"Error, Get and Into return the same one.")
		require.Equal(t, status, statusIn(t, w.getWeb().Error()), "the Status of Error")
		_, get := w.getWeb().Get()
		require.Equal(t, status, statusIn(t, get), "the Status of Get")
	})
}

func TestTask2_Status_may_lack_its_version(t *testing.T) {
	guard.Test(t, "A Status without an apiVersion is a v1 Status: its reason is AlreadyExists, while the code "+
		"409 alone means a conflict.", func(t *guard.T) {
		w := newWorld(t)
		w.script("409, with a Status without an apiVersion", "", func(rw respond, _ *request, _ handler) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(409)
			io.WriteString(rw, `{"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409,`+
				`"message":"web is there"}`)
		})
		requireIs(t, apierrors.IsAlreadyExists, metav1.StatusReasonAlreadyExists, w.getWeb().Error(), "Do")
		t.Rule("If the body is a Status whose status is Failure, the error is that Status, as an " +
			"apierrors.StatusError: its code too.")
		w.script("500, with a Status of the code 404", "", answers(500, "application/json",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		err := w.getWeb().Error()
		requireIs(t, apierrors.IsNotFound, metav1.StatusReasonNotFound, err, "Do")
		require.EqualValues(t, 404, statusIn(t, err).Code, "the code of the error of Do")
		w.script("409, with a Status that has only a reason", "", answers(409, "application/json",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists"}`))
		err = w.getWeb().Error()
		requireIs(t, apierrors.IsAlreadyExists, metav1.StatusReasonAlreadyExists, err, "Do")
		require.Nil(t, statusIn(t, err).Details, "the details of the Status")
	})
}

func TestTask2_Status_comes_in_any_form(t *testing.T) {
	guard.Test(t, "If the body is a Status whose status is Failure, the error is that Status, as an "+
		"apierrors.StatusError: in each form that the client can decode, and in the client's own if the answer has no "+
		"content type.", func(t *guard.T) {
		status := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "deployments"}, "web").Status()
		status.APIVersion, status.Kind = "v1", "Status"
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML,
			runtime.ContentTypeProtobuf, ""} {
			info, _ := runtime.SerializerInfoForMediaType(restclient.Codecs.SupportedMediaTypes(),
				cmp.Or(contentType, runtime.ContentTypeJSON))
			body, err := runtime.Encode(info.Serializer, &status)
			require.NoError(t, err, "the error of writing a Status")
			w := newWorld(t)
			w.script(fmt.Sprintf("409, with a Status as %q", contentType), "", func(rw respond, _ *request, _ handler) {
				rw.Header()["Content-Type"] = []string{contentType}
				if contentType == "" {
					rw.Header()["Content-Type"] = nil
				}
				rw.WriteHeader(409)
				rw.Write(body)
			})
			requireIs(t, apierrors.IsAlreadyExists, metav1.StatusReasonAlreadyExists, w.getWeb().Error(),
				fmt.Sprintf("Do, with a Status as %q", contentType))
		}
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
	const (
		textInTheError = textIfText + ": the proxy's words are the only clue."
		unexpected     = "Such an error satisfies apierrors.IsUnexpectedServerError, and suggests the delay " +
			"of Retry-After."
		madeOfTheCode = "Any other body gives an error with the code's reason, and the name, group and " +
			"resource of the request."
	)
	guard.Test(t, textInTheError, func(t *guard.T) {
		w := newWorld(t)
		w.script("a proxy answers 502 in plain text", "", fakeapi.Text(502, "upstream is down"))
		err := w.getWeb().Into(&appsv1.Deployment{})
		require.ErrorContains(t, err, "upstream is down", "the error of Into after plain text")
		t.Rule(unexpected)
		requireIs(t, apierrors.IsUnexpectedServerError, "UnexpectedServerError", err, "Into after plain text")
		t.Rule(textInTheError)
		page := answers(502, "text/html; charset=utf-8", "<html>gateway 7 is down</html>")
		w.script("a proxy answers 502 with a page of HTML", "", page)
		require.ErrorContains(t, w.getWeb().Error(), "<html>gateway 7 is down</html>",
			"the error of Do after a page of HTML")
		w.script("a proxy answers 502 with XML", "", answers(502, "text/xml", "<error>gateway 8 is down</error>"))
		require.ErrorContains(t, w.getWeb().Error(), "gateway 8 is down", "the error of Do after XML")
		t.Rule(madeOfTheCode)
		w.script("404, and the body is not a Status", "", fakeapi.Text(404, "<html>"))
		requireIs(t, apierrors.IsNotFound, metav1.StatusReasonNotFound, w.getWeb().Error(), "Do after 404")
		w.script("401, and JSON that is not a Status", "", answers(401, "application/json", `{"status":"Failure"}`))
		requireIs(t, apierrors.IsUnauthorized, metav1.StatusReasonUnauthorized, w.getWeb().Error(), "Do after 401")
	})
}

func TestTask2_Error_says_what_else_is_known(t *testing.T) {
	guard.Test(t, textIfText+". A body without a content type is usually text.", func(t *guard.T) {
		w := newWorld(t)
		forbidden := func(contentType []string) fakeapi.Fault {
			return func(rw respond, _ *request, _ handler) {
				rw.Header()["Content-Type"] = contentType
				rw.Header().Set("Retry-After", "3600")
				rw.WriteHeader(403)
				io.WriteString(rw, "too often from this address")
			}
		}
		w.script("a proxy answers 403 with Retry-After 3600, and a body without a content type", "", forbidden(nil))
		err := w.getWeb().Error()
		require.ErrorContains(t, err, "too often from this address", "the error of Do without a content type")
		t.Rule("Such an error satisfies apierrors.IsUnexpectedServerError, and suggests the delay of " +
			"Retry-After: a caller that retries needs it.")
		seconds, _ := apierrors.SuggestsClientDelay(err)
		require.Equal(t, 3600, seconds, "seconds that the error suggests to wait")
		t.Rule("Such an error satisfies apierrors.IsUnexpectedServerError, and suggests the delay of " +
			"Retry-After.")
		for _, other := range []string{"application/octet-stream", "application/x-text+zip", "application/json"} {
			w.script("a proxy answers 403, and a body of type "+other, "", forbidden([]string{other}))
			err = w.getWeb().Error()
			requireIs(t, apierrors.IsUnexpectedServerError, "UnexpectedServerError", err, "Do after a body of bytes")
			t.Rule(textIfText + ". Binary data does not belong in logs.")
			require.NotContains(t, err.Error(), "too often", "the text of the error of Do after a body of bytes")
		}
	})
}

func TestTask2_DoRaw_returns_an_error_with_the_body(t *testing.T) {
	guard.Test(t, "An answer other than 2xx is an error, and its body is returned with it, "+
		"unchanged.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("DoRaw of a Deployment that does not exist")
		body, err := w.on("GET").Name("web").DoRaw(t.Context())
		requireIs(t, apierrors.IsNotFound, metav1.StatusReasonNotFound, err, "DoRaw")
		require.Contains(t, string(body), `"reason":"NotFound"`, "the body that DoRaw returns")
		text := strings.Repeat("0123456789abcdef", 1<<14)
		for _, code := range []int{300, 399, 404, 503} {
			w.script(fmt.Sprint(code, " with a text of 256 KiB"), "", answers(code, "text/plain", text))
			t.Did("DoRaw")
			body, err := w.on("GET").Name("web").DoRaw(t.Context())
			require.Error(t, err, "the error of DoRaw after %d", code)
			require.True(t, text == string(body), "the body after %d is the whole text; it has %d bytes", code, len(body))
		}
	})
}

func TestTask2_Failure_with_code_200_is_an_error(t *testing.T) {
	guard.Test(t, "A Status other than Success is an error, whatever the code: the answer has no "+
		"object.", func(t *guard.T) {
		w := newWorld(t)
		failure := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,` +
			`"message":"somebody was faster"}`
		d := &appsv1.Deployment{}
		for _, code := range []int{200, 201, 202} {
			w.script(fmt.Sprint(code, ", with a Status of Failure"), "",
				fakeapi.Times(2, answers(code, "application/json", failure))...)
			err := w.getWeb().Into(d)
			requireIs(t, apierrors.IsConflict, metav1.StatusReasonConflict, err, "Into after a Failure")
			_, err = w.getWeb().Get()
			requireIs(t, apierrors.IsConflict, metav1.StatusReasonConflict, err, "Get after a Failure")
			require.EqualValues(t, 409, statusIn(t, err).Code, "the code of the error of Get")
		}
		t.Rule("Error returns nil after an answer of 2xx: here only Get and Into decode the body.")
		w.script("200, with a Status of Failure", "", fakeapi.Body("application/json", failure))
		require.NoError(t, w.getWeb().Error(), "the error of Do after a Failure")
		t.Rule("A Status other than Success is an error, whatever the code.")
		silent := fakeapi.Body("application/json", `{"kind":"Status","apiVersion":"v1"}`)
		w.script("200, with a Status without a status", "", fakeapi.Times(2, silent)...)
		require.Error(t, w.getWeb().Into(d), "the error of Into after a Status that says nothing")
		_, err := w.getWeb().Get()
		require.Error(t, err, "the error of Get after a Status that says nothing")
	})
}

func TestTask2_Success_is_no_error(t *testing.T) {
	guard.Test(t, "Error returns nil after an answer of 2xx, and an error after any other answer or none. The "+
		"answer to a deletion is a Status of Success.", func(t *guard.T) {
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
	guard.Test(t, "An empty body is an error: a program would take the empty Deployment for one without "+
		"replicas, and act on it.", func(t *guard.T) {
		w := newWorld(t)
		for _, code := range []int{200, 201, 204} {
			w.script(fmt.Sprint(code, ", and no body"), "", fakeapi.Times(2, answers(code, "application/json", ""))...)
			t.Rule("An empty body is an error, whatever the code.")
			require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into after %d", code)
			t.Rule("An empty body is an error: the caller of Get would use a nil object.")
			_, err := w.getWeb().Get()
			require.Error(t, err, "the error of Get after %d", code)
			w.script(fmt.Sprint(code, ", an unknown content type, and no body"), "", answers(code, "image/png", ""))
			_, err = w.getWeb().Get()
			require.Error(t, err, "the error of Get after %d and an unknown content type", code)
		}
	})
}

func TestTask2_Body_that_cannot_be_read_is_an_error(t *testing.T) {
	guard.Test(t, "A body that cannot be decoded is an error, and so is an unknown content type: neither "+
		"contains an object.", func(t *guard.T) {
		for _, body := range []string{
			`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"two"}}`,
			`{"kind":"Deployment","apiVersion":"apps/v1"`,
			`<html>`,
			" \n",
		} {
			w := newWorld(t)
			w.script("200, with the body "+body, "", fakeapi.Body("application/json", body))
			require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into for the body "+body)
		}
		t.Rule("A body that cannot be decoded is an error, and so is an unknown content type: a sign-in page " +
			"also has the code 200.")
		w := newWorld(t)
		for _, unknown := range []string{"text/html", "text/plain", "application/octet-stream", "application/xml"} {
			for _, body := range []string{"<html>", string(manifest("web"))} {
				w.script("200, with the content type "+unknown, "", fakeapi.Times(2, fakeapi.Body(unknown, body))...)
				require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into for "+unknown)
				_, err := w.getWeb().Get()
				require.Error(t, err, "the error of Get for "+unknown)
			}
		}
	})
}

func TestTask2_Answer_that_breaks_off_is_an_error(t *testing.T) {
	guard.Test(t, "A truncated body is an error, even if nothing decodes it.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		broken := []fakeapi.Fault{fakeapi.Cut(50), brokenAfter(manifest("web"))}
		for i, what := range []string{"after 50 bytes of the body", "after a whole object, before the end of the body"} {
			what = "the connection breaks " + what
			w.script(what, "", fakeapi.Times(3, broken[i])...)
			require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into if "+what)
			_, err := w.getWeb().Raw()
			require.Error(t, err, "the error of Raw if "+what)
			t.Did("DoRaw")
			_, err = w.on("GET").Name("web").DoRaw(t.Context())
			require.Error(t, err, "the error of DoRaw if "+what)
		}
	})
}

// brokenAfter sends a body without its length, in chunks, and breaks the connection before the last chunk.
func brokenAfter(body []byte) fakeapi.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestTask2_Server_that_is_away_is_an_error(t *testing.T) {
	guard.Test(t, "Error returns nil after an answer of 2xx, and an error after any other answer or "+
		"none.", func(t *guard.T) {
		w := newWorld(t)
		w.did("the server stops")
		w.Down()
		require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into")
		require.Error(t, w.getWeb().Error(), "the error of Error")
	})
}

func TestTask2_Error_is_made_of_the_code(t *testing.T) {
	const madeOfTheCode = "Any other body gives an error with the code's reason, and the name, group and " +
		"resource of the request"
	guard.Test(t, madeOfTheCode+".", func(t *guard.T) {
		w := newWorld(t)
		for code, reason := range guard.InOrder(map[int]metav1.StatusReason{
			400: metav1.StatusReasonBadRequest, 401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden,
			404: metav1.StatusReasonNotFound, 405: metav1.StatusReasonMethodNotAllowed, 409: metav1.StatusReasonConflict,
			422: metav1.StatusReasonInvalid, 429: metav1.StatusReasonTooManyRequests, 300: metav1.StatusReasonUnknown,
			500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable,
			504: metav1.StatusReasonTimeout,
		}) {
			w.script(fmt.Sprint(code, ", and a page of HTML"), "", answers(code, "text/html", "<html>"))
			err := w.getWeb().Error()
			require.Error(t, err, "the error of Do after %d", code)
			require.Equal(t, reason, apierrors.ReasonForError(err), "the reason of the error after %d", code)
			status := statusIn(t, err)
			require.EqualValues(t, code, status.Code, "the code of the error after %d", code)
			t.Rule(madeOfTheCode + ".")
			got := []string{status.Details.Name, status.Details.Group, status.Details.Kind}
			require.Equal(t, []string{"web", "apps", "deployments"}, got,
				"the name, the group and the resource in the error after %d", code)
			t.Rule("Such an error suggests the delay of Retry-After: without that header, none.")
			require.Zero(t, status.Details.RetryAfterSeconds, "seconds that the error suggests to wait after %d", code)
		}
		t.Rule(madeOfTheCode + ": the subresource is not a part of it.")
		w.script("503, and a page of HTML", "", answers(503, "text/html", "<html>"))
		err := w.do(w.on("GET").Name("web").SubResource("status")).Error()
		require.Error(t, err, "the error of Do for a subresource")
		require.Equal(t, "deployments", statusIn(t, err).Details.Kind, "the resource in the error")
		t.Rule(madeOfTheCode + ". For 409 the verb matters: after a POST it means that the object exists.")
		w.script("409, and a page of HTML", "", answers(409, "text/html", "<html>"))
		requireIs(t, apierrors.IsAlreadyExists, metav1.StatusReasonAlreadyExists, w.do(w.on("POST")).Error(), "a POST")
	})
}

func TestTask2_Text_of_an_error_is_short(t *testing.T) {
	guard.Test(t, textIfText+". An error with a page of a megabyte fills the logs.", func(t *guard.T) {
		w := newWorld(t)
		for _, piece := range []string{"0123456789abcdef", "0123456\n89abcdef", "äöüßäöüß"} { // of 16 bytes
			w.script("502 with a megabyte of text", "", fakeapi.Text(502, strings.Repeat(piece, 128)+strings.Repeat("#", 1<<20)))
			err := w.getWeb().Error()
			require.Error(t, err, "the error of Do")
			text := strings.ReplaceAll(err.Error(), `\n`, "\n") // apierrors quotes the body of a 502
			require.Contains(t, text, strings.Repeat(piece, 128), "the text of the error")
			require.NotContains(t, text, "#", "the text of the error, after the first 2 KiB of the body")
		}
	})
}

func TestTask2_Every_2xx_is_a_success(t *testing.T) {
	guard.Test(t, "Error returns nil after an answer of 2xx, and an error after any other answer or none: 201 "+
		"follows a POST, and 202 means that the work continues.", func(t *guard.T) {
		w := newWorld(t)
		const body = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"}}`
		for _, code := range []int{200, 201, 202, 203, 206} {
			w.script(fmt.Sprint(code), "", fakeapi.Times(2, answers(code, "application/json", body))...)
			d := &appsv1.Deployment{}
			require.NoError(t, w.getWeb().Into(d), "the error of Into after %d", code)
			require.Equal(t, "web", d.Name, "the name of the object after %d", code)
			t.Did("DoRaw")
			_, err := w.on("GET").Name("web").DoRaw(t.Context())
			require.NoError(t, err, "the error of DoRaw after %d", code)
		}
	})
}

func TestTask2_Object_of_another_kind_is_an_error(t *testing.T) {
	guard.Test(t, "An object of another kind than obj is an error: otherwise obj stays empty, and looks like a "+
		"result.",
		func(t *guard.T) {
			w := newWorld(t)
			w.Create(deployment("web"))
			t.Did("GET of a list, and Into with a Deployment")
			require.Error(t, w.do(w.on("GET")).Into(&appsv1.Deployment{}), "the error of Into with a Deployment")
			t.Did("GET of a Deployment, and Into with a list")
			require.Error(t, w.getWeb().Into(&appsv1.DeploymentList{}), "the error of Into with a list")
			t.Did("DELETE, which is answered with a Status, and Into with a Deployment")
			require.Error(t, w.do(w.on("DELETE").Name("web")).Into(&appsv1.Deployment{}), "the error of Into after a DELETE")
		})
}
