package rewritingproxy

// This file is given. It makes the errors of the proxy, and answers with them: each is a Status, as a client of an API
// server expects it.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
)

const jsonType = "application/json"

// maxBody is the largest body of a request that an API server reads.
const maxBody = 3 << 20

var (
	deployments    = schema.GroupResource{Group: "apps", Resource: "deployments"}
	deploymentKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	replicasPath   = fieldpath.NewPath("spec", "replicas")
)

// notFound says that there is no Deployment of that name.
func notFound(name string) error { return apierrors.NewNotFound(deployments, name) }

// notAnInteger says that spec.replicas is not an integer.
func notAnInteger(value []byte) error {
	return invalid(string(value), "this proxy multiplies the number of replicas, so it must be an integer")
}

// notAMultiple says that no stored number is shown as n.
func notAMultiple(n, factor int64) error {
	return invalid(n, fmt.Sprintf("this proxy shows %d times the stored number, so it must be a multiple of %[1]d",
		factor))
}

func invalid(value any, detail string) error {
	return apierrors.NewInvalid(deploymentKind, "", fieldpath.ErrorList{fieldpath.Invalid(replicasPath, value, detail)})
}

// notAcceptable says that the client accepts no form of an answer that the proxy can rewrite.
func notAcceptable() error {
	return refusal(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"this proxy rewrites JSON only; accept application/json")
}

// badRequest says that the proxy cannot read a request, and why.
func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// tooLarge says that a body is larger than an API server reads.
func tooLarge() error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
}

// unsupported says that the proxy cannot read a request's body, and why.
func unsupported(why string) error {
	return refusal(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, why)
}

// unprocessable says that the proxy cannot translate a patch, and why.
func unprocessable(why string) error {
	return refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, why)
}

// badGateway says that the API server gave no answer that the proxy can use.
func badGateway(format string, args ...any) error {
	return refusal(http.StatusBadGateway, metav1.StatusReasonUnknown, fmt.Errorf(format, args...).Error())
}

func refusal(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

// statusOf returns the Status of an error as JSON, and its code.
func statusOf(err error) (code int, status []byte) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	s := known.Status()
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	status, err = json.Marshal(s)
	if err != nil { // a Status has only types that can be encoded
		panic(err)
	}
	return int(s.Code), status
}

// writeError answers with the Status of an error.
func writeError(w http.ResponseWriter, err error) {
	code, status := statusOf(err)
	writeJSON(w, code, status)
}

// writeJSON answers with a code and a body, under the headers that w already has.
func writeJSON(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	w.Write(body) // an error means that the client has gone
}
