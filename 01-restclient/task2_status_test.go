package restclient_test

// Task 2: errors whose body is a whole Status, and errors whose body is something else.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Error_is_the_whole_status(t *testing.T) {
	const whole = "If the body is a Status whose status is Failure, the error is that Status, as an " +
		"apierrors.StatusError: the whole of it."
	guard.Test(t, whole, func(t *guard.T) {
		w := newWorld(t)
		errs := map[int32]error{}
		for _, code := range []int32{300, 400, 401, 403, 409, 410, 422, 429, 500, 503, 504} {
			sent := metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				ListMeta: metav1.ListMeta{Continue: "another-token"},
				Status:   "Failure", Reason: "Other", Code: code, Message: fmt.Sprint(code, strings.Repeat(": no", 1<<15)),
				Details: &metav1.StatusDetails{Name: "web", Kind: "deployments", UID: "u", RetryAfterSeconds: 7,
					Causes: []metav1.StatusCause{{Type: "FieldValueInvalid", Message: "no", Field: "spec.replicas"}}},
			}
			body, err := json.Marshal(sent)
			require.NoError(t, err, "the error of writing a Status")
			w.script(fmt.Sprint(code, ", with a Status in which every field is set"), "",
				answers(int(code), "application/json", string(body)))
			var status apierrors.APIStatus
			errs[code] = w.getWeb().Error()
			require.ErrorAs(t, errs[code], &status, "the error of Do")
			t.Rule(whole + " If a list has taken too long, the Status of its 410 has the token to continue with.")
			require.Equal(t, sent.ListMeta, status.Status().ListMeta, "the metadata of the Status of a %d", code)
			t.Rule(whole + " Its details name each invalid field, and the delay.")
			require.Equal(t, sent.Details, status.Status().Details, "the details of the Status of a %d", code)
			t.Rule(whole)
			require.True(t, sent.Message == status.Status().Message, "the error has the whole message of a %d", code)
			require.Equal(t, []any{sent.Reason, code}, []any{status.Status().Reason, status.Status().Code},
				"the reason and the code of the Status of a %d", code)
		}
		t.Rule(whole + " It belongs to its caller, and later answers do not change it.")
		for code, err := range guard.InOrder(errs) {
			require.EqualValues(t, code, statusIn(t, err).Code, "the code of an earlier error")
		}
	})
}

func TestTask2_Object_in_an_error_is_no_success(t *testing.T) {
	guard.Test(t, "Error returns nil after an answer of 2xx, and an error after any other answer or none. The body "+
		"does not matter.", func(t *guard.T) {
		w := newWorld(t)
		for code, reason := range guard.InOrder(map[int]metav1.StatusReason{500: metav1.StatusReasonInternalError,
			404: metav1.StatusReasonNotFound, 300: metav1.StatusReasonUnknown}) {
			for what, body := range guard.InOrder(map[string]string{
				"a Deployment":              `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"}}`,
				"a Status of Success":       `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
				"a Status without a status": `{"kind":"Status","apiVersion":"v1"}`,
			}) {
				w.script(fmt.Sprint(code, ", and the body is ", what), "",
					fakeapi.Times(2, answers(code, "application/json", body))...)
				err := w.getWeb().Error()
				require.Error(t, err, "the error of Do after %d with %s", code, what)
				require.Equal(t, reason, apierrors.ReasonForError(err), "its reason")
				require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into after %d with %s", code, what)
			}
		}
	})
}

func TestTask2_Error_names_the_clients_group(t *testing.T) {
	guard.Test(t, "Any other body gives an error with the code's reason, and the name, group and resource of the "+
		"request. The core group has no name.", func(t *guard.T) {
		w := newWorld(t)
		config := w.Config()
		config.QPS, config.APIPath, config.GroupVersion = -1, "/api", &corev1.SchemeGroupVersion
		config.NegotiatedSerializer = restclient.Codecs.WithoutConversion()
		core, err := restclient.RESTClientFor(config)
		require.NoError(t, err, "the error of RESTClientFor")
		w.script("404, and a page of HTML", "", answers(404, "text/html", "<html>"))
		t.Did("GET of the Pod web, with a client for the core group")
		err = w.do(core.Get().Namespace("default").Resource("pods").Name("web")).Error()
		details := statusIn(t, err).Details
		require.Equal(t, []string{"web", "", "pods"}, []string{details.Name, details.Group, details.Kind},
			"the name, the group and the resource in the error")
	})
}

func TestTask2_Each_answer_has_its_own_content_type(t *testing.T) {
	guard.Test(t, "Do does not change the request, which can be sent again: each answer is decoded in its own content "+
		"type.", func(t *guard.T) {
		w := newWorld(t)
		r := w.on("GET").Name("web")
		const inYAML = "kind: Deployment\napiVersion: apps/v1\nmetadata:\n  name: web\n"
		for _, answer := range []fakeapi.Fault{
			fakeapi.Body("application/json", string(manifest("web"))), fakeapi.Body("application/yaml", inYAML),
			fakeapi.Body("application/json", string(manifest("web"))),
		} {
			w.script("200, with a Deployment in JSON, then in YAML, then in JSON", "", answer)
			d := &appsv1.Deployment{}
			require.NoError(t, w.do(r).Into(d), "the error of Into")
			require.Equal(t, "web", d.Name, "the name of the object")
		}
	})
}
