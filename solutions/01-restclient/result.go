package restclient

// This file is what an answer means: an object, or an error that says what the server said. It stands behind send.go.
// It mirrors the last part of client-go's rest/request.go.
//
//workshop:file task 2

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Result is what came of a request: the answer, or why there is none. Mirrors rest.Result.
type Result struct {
	body []byte
	// code and contentType are those of the answer.
	code        int
	contentType string
	// decoder reads the body. It is nil if the content type is not one that can be read.
	decoder *decoder
	// err is why there is no object in the body. If the server answered, a Status in the body may say more.
	err error
}

// read reads an answer to its end.
func (r *Request) read(resp *http.Response) Result {
	body, err := readAll(resp)
	if err != nil {
		return Result{err: fmt.Errorf("read the answer to %s %s: %w", r.verb, r.URL(), err)}
	}
	result := Result{body: body, code: resp.StatusCode, contentType: resp.Header.Get("Content-Type")}
	if result.contentType == "" {
		result.contentType = r.client.content.contentType
	}
	result.decoder = r.client.content.decoderFor(result.contentType)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		result.err = r.generic(resp, body)
	}
	return result
}

// readAll reads a body into as much memory as it needs, if the server says how much that is.
func readAll(resp *http.Response) ([]byte, error) {
	if resp.ContentLength < 0 {
		return io.ReadAll(resp.Body)
	}
	var b bytes.Buffer
	b.Grow(int(resp.ContentLength) + bytes.MinRead)
	_, err := b.ReadFrom(resp.Body)
	return b.Bytes(), err
}

// longestMessage is how much of a body goes into an error.
//
//workshop:omit
const longestMessage = 2048

// generic is the error for an answer of which nothing is known but its code. A proxy on the way gives such answers.
func (r *Request) generic(resp *http.Response, body []byte) error {
	message := "unknown"
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == "" || strings.HasPrefix(media, "text/") {
		message = strings.TrimSpace(string(body[:min(len(body), longestMessage)]))
	}
	seconds, _ := retryAfterSeconds(resp)
	resource := schema.GroupResource{Group: r.client.content.version.Group, Resource: r.resource}
	return apierrors.NewGenericServerResponse(resp.StatusCode, r.verb, resource, r.name, message, seconds, true)
}

// Raw returns the body as it came. Mirrors rest.Result.Raw.
//
//workshop:keep
func (r Result) Raw() ([]byte, error) { return r.body, r.err }

// Error returns why there is no object in the answer, nil if there may be one. If the server answered something other
// than 2xx and its body is a Status that says Failure (a v1 one, if it has no apiVersion), the error is that Status: an
// apierrors.StatusError, for which apierrors.IsNotFound and the others are made. If the body is something else, the
// error is made of the code (apierrors.NewGenericServerResponse), as one that nobody expected
// (apierrors.IsUnexpectedServerError), with the seconds of Retry-After, and with the body in it if that is text: its
// content type begins with text/, or it has none. Mirrors rest.Result.Error.
func (r Result) Error() error {
	if r.err == nil || r.decoder == nil || len(r.body) == 0 || !apierrors.IsUnexpectedServerError(r.err) {
		return r.err
	}
	// Old servers did not say which version the Status is of.
	obj, _, err := r.decoder.general.Decode(r.body, &schema.GroupVersionKind{Version: "v1"}, nil)
	if err != nil {
		return r.err
	}
	if status, ok := obj.(*metav1.Status); ok && status.Status == metav1.StatusFailure {
		return apierrors.FromObject(status)
	}
	return r.err
}

// Get returns the object in the answer, of whatever kind it is. If that is a Status that does not say Success, it is
// the error, also if the code was 200. Mirrors rest.Result.Get.
func (r Result) Get() (runtime.Object, error) {
	return r.decode(nil)
}

// Into puts the object in the answer into obj. If the answer is a Status that does not say Success, it is the error,
// also if the code was 200. An empty body is an error: obj would look like an object whose fields all are empty. An
// object of another kind than obj leaves it as it is. Mirrors rest.Result.Into.
func (r Result) Into(obj runtime.Object) error {
	if r.err == nil && len(r.body) == 0 {
		return fmt.Errorf("0-length response with status code: %d and content type: %s", r.code, r.contentType)
	}
	_, err := r.decode(obj)
	return err
}

// decode reads the object, into obj if its kind is that of obj.
func (r Result) decode(into runtime.Object) (runtime.Object, error) {
	if r.err != nil {
		return nil, r.Error()
	}
	if r.decoder == nil {
		return nil, fmt.Errorf("serializer for %s doesn't exist", r.contentType)
	}
	obj, err := r.decoder.Decode(r.body, into)
	if err != nil {
		return nil, err
	}
	if status, ok := obj.(*metav1.Status); ok && obj != into && status.Status != metav1.StatusSuccess {
		return nil, apierrors.FromObject(status)
	}
	return obj, nil
}
