package fakeapi

// This file writes answers: an object in the form that the client asked for, or an error as a Status.

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var jsonInfo, _ = runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)

// accepted is the form of an answer that the client accepts.
type accepted struct {
	info runtime.SerializerInfo
	// table asks for a Table instead of the object, and meta for its metadata only.
	table, meta bool
	// include is how much of the object is in a row of a Table: Object, Metadata or None.
	include string
	pretty  bool
}

// negotiate returns the first form of the Accept header that the server has. Without the header that is JSON.
func negotiate(r *http.Request) (accepted, error) {
	header := cmp.Or(strings.Join(r.Header.Values("Accept"), ","), "*/*")
	for clause := range strings.SplitSeq(header, ",") {
		mediaType, params, err := mime.ParseMediaType(clause)
		if err != nil {
			continue
		}
		if mediaType == "*/*" {
			mediaType = runtime.ContentTypeJSON
		}
		info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
		if !ok {
			continue
		}
		as := params["as"]
		a := accepted{
			info: info, pretty: pretty(r), include: r.URL.Query().Get("includeObject"),
			table: as == "Table", meta: as == "PartialObjectMetadata" || as == "PartialObjectMetadataList",
		}
		if as == "" || (a.table || a.meta) && params["g"] == metav1.GroupName && params["v"] == "v1" {
			return a, nil
		}
	}
	return accepted{}, notAcceptable(r)
}

// negotiatePlain returns the form of an answer that cannot be a Table. If the client does not accept any, it is JSON.
func negotiatePlain(r *http.Request) accepted {
	form, err := negotiate(r)
	if err != nil || form.table || form.meta {
		return accepted{info: jsonInfo, pretty: pretty(r)}
	}
	return form
}

// pretty reports whether the answer is indented: if the query asks for it, or by default for curl and browsers.
func pretty(r *http.Request) bool {
	if wanted := r.URL.Query().Get("pretty"); wanted != "" {
		return isTrue(wanted)
	}
	return slices.ContainsFunc([]string{"curl", "Wget", "Mozilla/5.0"}, func(agent string) bool {
		return strings.HasPrefix(r.UserAgent(), agent)
	})
}

// notAcceptable returns an error that lists the forms. A resource has forms for a watch, too.
func notAcceptable(r *http.Request) error {
	forms := "application/json, application/yaml, application/vnd.kubernetes.protobuf"
	if slices.ContainsFunc(resources, func(res *resource) bool { return res.gvr.Resource == path.Base(r.URL.Path) }) {
		forms += ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
	}
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+forms, &metav1.StatusDetails{})
}

// internal returns an error with code 500 and no reason.
func internal(message string) error {
	return statusError(http.StatusInternalServerError, "", message, nil)
}

func statusError(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message, Details: details}}
}

// answer writes an object of the call's resource, a list of them, or a Status.
func (c *call) answer(obj runtime.Object) error {
	form, err := negotiate(c.r)
	if _, ok := obj.(*metav1.Status); ok {
		form, err = negotiatePlain(c.r), nil
	}
	if c.res.custom != nil && form.info.MediaType == runtime.ContentTypeProtobuf {
		err = customNotAcceptable
	}
	if err != nil {
		return err
	}
	if obj, err = form.shape(c.res, obj, true); err != nil {
		return err
	}
	body, err := form.encode(obj)
	if err != nil {
		return err
	}
	release, err := c.hold(body)
	if err != nil {
		return err
	}
	defer release()
	c.endTurn()
	sendBody(c.w, form, c.code, body)
	return nil
}

// shape returns an object of a resource, or a list, as a Table or its metadata if the client asked for that. Only the
// first Table of a watch has the columns, its head. A Status stays.
func (a accepted) shape(res *resource, obj runtime.Object, withHead bool) (runtime.Object, error) {
	_, isStatus := obj.(*metav1.Status)
	switch {
	case a.table && !isStatus:
		return res.toTable(obj, a.include, withHead)
	case a.meta && !isStatus:
		return toMeta(obj), nil
	}
	return obj, nil
}

// write encodes an object and sends it. If it returns an error, it has sent nothing.
func write(w http.ResponseWriter, form accepted, code int, obj runtime.Object) error {
	body, err := form.encode(obj)
	if err != nil {
		return err
	}
	sendBody(w, form, code, body)
	return nil
}

// encode encodes an object in this form.
func (a accepted) encode(obj runtime.Object) ([]byte, error) {
	if a.pretty && a.info.PrettySerializer != nil {
		return encode(a.info.PrettySerializer, obj)
	}
	return encode(a.info.Serializer, obj)
}

func sendBody(w http.ResponseWriter, form accepted, code int, body []byte) {
	w.Header().Set("Content-Type", form.info.MediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	w.Write(body)
}

// encode encodes an object with its kind and version. It does not change the object, which other goroutines may read.
func encode(s runtime.Encoder, obj runtime.Object) ([]byte, error) {
	if _, ok := obj.(runtime.Unstructured); ok {
		return runtime.Encode(s, obj)
	}
	kinds, _, err := scheme.ObjectKinds(obj)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	shallow := reflect.New(reflect.TypeOf(obj).Elem())
	shallow.Elem().Set(reflect.ValueOf(obj).Elem())
	encoder := codecs.WithoutConversion().EncoderForVersion(s, kinds[0].GroupVersion())
	return runtime.Encode(encoder, shallow.Interface().(runtime.Object))
}

// writeError answers with the Status of an error.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errPath) {
		http.NotFound(w, r)
		return
	}
	status := statusOfError(err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if err := write(w, negotiatePlain(r), int(status.Code), status); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// statusOfError returns the Status of an error.
func statusOfError(err error) *metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.Kind, status.APIVersion = "", "" // the encoder sets them
	if status.Status == "" {
		status.Status = metav1.StatusFailure
	}
	return &status
}
