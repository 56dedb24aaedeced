package restclient

// This file turns an answer into an object, or into an error with the server's message. It mirrors the last part of
// client-go's rest/request.go.
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

// Result is the outcome of a request: the answer, or the reason why there is none. It mirrors rest.Result.
type Result struct {
	body        []byte
	code        int
	contentType string
	decoder     *decoder
	err         error
}

// read reads an answer to its end. The Result's decoder is nil if no decoder exists for the content type, and its err
// is set unless the code is 2xx. Result.Error may find a Status in the body, which says more.
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

// readAll reads a body. If the server sends its length, readAll allocates the memory once. It does not believe a length
// above 64 MiB, for which a mistaken server could use up the memory.
func readAll(resp *http.Response) ([]byte, error) {
	if resp.ContentLength < 0 {
		return io.ReadAll(resp.Body)
	}
	var b bytes.Buffer
	b.Grow(int(min(resp.ContentLength, 64<<20)) + bytes.MinRead)
	_, err := b.ReadFrom(resp.Body)
	return b.Bytes(), err
}

// longestMessage limits how many bytes of a body an error contains.
//
//workshop:omit
const longestMessage = 2048

// generic returns the error for an answer without a Status. Proxies send such answers.
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

// Raw returns the body as it came. It mirrors rest.Result.Raw.
//
//workshop:keep
func (r Result) Raw() ([]byte, error) { return r.body, r.err }

// Error returns nil after an answer of 2xx, and an error after any other answer or none.
//
// If the body is a Status whose status is Failure, the error is that Status, as an apierrors.StatusError. A Status
// without an apiVersion is a v1 Status.
//
// Any other body gives an error with the code's reason, and the name, group and resource of the request. Such an error
// satisfies apierrors.IsUnexpectedServerError, and suggests the delay of Retry-After. Its text contains the first 2 KiB
// of the body, if the content type begins with text/ or is missing.
//
// It mirrors rest.Result.Error.
func (r Result) Error() error {
	if r.err == nil || r.decoder == nil || len(r.body) == 0 || !apierrors.IsUnexpectedServerError(r.err) {
		return r.err
	}
	// Old servers sent a Status without its version.
	obj, _, err := r.decoder.general.Decode(r.body, &schema.GroupVersionKind{Version: "v1"}, nil)
	if err != nil {
		return r.err
	}
	if status, ok := obj.(*metav1.Status); ok && status.Status == metav1.StatusFailure {
		return apierrors.FromObject(status)
	}
	return r.err
}

// Get returns the object in the answer, in the Go type of its kind.
//
// A Status other than Success is an error, whatever the code. An empty body is an error. A body that cannot be decoded
// is an error, and so is an unknown content type.
//
// It mirrors rest.Result.Get.
func (r Result) Get() (runtime.Object, error) {
	return r.decode(nil)
}

// Into decodes the object in the answer into obj. It returns the errors of Get. An object of another kind than obj is
// an error. A Result can be decoded any number of times.
//
// It mirrors rest.Result.Into.
func (r Result) Into(obj runtime.Object) error {
	if r.err == nil && len(r.body) == 0 {
		return fmt.Errorf("0-length response with status code: %d and content type: %s", r.code, r.contentType)
	}
	got, err := r.decode(obj)
	if err == nil && got != obj {
		return fmt.Errorf("the answer is a %T, and not a %T", got, obj)
	}
	return err
}

// decode returns the decoded object. It is into, if the object has the kind of into.
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
