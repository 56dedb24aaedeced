package restclient

// Another correct design: each error has a text of its own, and wraps the Status.
//
//	409, a page of HTML ──▶ "GET web: conflict …: <html>" ──▶ wraps a StatusError
//
// A Status in the body is decoded at once. It is correct because apierrors and errors.As find a Status in a wrapped
// error. Only Error returns a Failure of the server itself.
//
// It differs in result.go.

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type Result struct {
	body    []byte
	decoder *decoder
	err     error
}

func (r *Request) read(resp *http.Response) Result {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Result{body: body, err: fmt.Errorf("%s of %s ends early: %w", r.verb, r.URL(), err)}
	}
	contentType := resp.Header.Get("Content-Type")
	if contentType == "" {
		contentType = r.client.content.contentType
	}
	result := Result{body: body, decoder: r.client.content.decoderFor(contentType)}
	if resp.StatusCode/100 != 2 {
		result.err = r.refusal(resp, result)
	}
	return result
}

// refusal returns the Failure in an answer, or an error made of the code.
func (r *Request) refusal(resp *http.Response, result Result) error {
	if result.decoder != nil {
		obj, _, err := result.decoder.general.Decode(result.body, &schema.GroupVersionKind{Version: "v1"}, nil)
		if status, ok := obj.(*metav1.Status); err == nil && ok && status.Status == metav1.StatusFailure {
			return apierrors.FromObject(status)
		}
	}
	return r.generic(resp, result.body)
}

func (r *Request) generic(resp *http.Response, body []byte) error {
	page := ""
	if t := resp.Header.Get("Content-Type"); t == "" || strings.HasPrefix(t, "text/") {
		page = string(body[:min(len(body), 2048)])
	}
	seconds, _ := retryAfterSeconds(resp)
	resource := schema.GroupResource{Group: r.client.content.version.Group, Resource: r.resource}
	status := apierrors.NewGenericServerResponse(resp.StatusCode, r.verb, resource, r.name, "", seconds, true)
	return fmt.Errorf("%s %s: %w: %s", r.verb, r.name, status, page)
}

func (r Result) Raw() ([]byte, error) { return r.body, r.err }

func (r Result) Error() error { return r.err }

func (r Result) Get() (runtime.Object, error) {
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("there is no object: %w", r.err)
	case len(r.body) == 0:
		return nil, errors.New("the answer has no body")
	case r.decoder == nil:
		return nil, errors.New("the answer has an unknown content type")
	}
	obj, err := r.decoder.Decode(r.body, nil)
	if err != nil {
		return nil, errors.Join(errors.New("the answer is not an object"), err)
	}
	if status, ok := obj.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
		return nil, fmt.Errorf("the answer has no object: %w", apierrors.FromObject(status))
	}
	return obj, nil
}

func (r Result) Into(obj runtime.Object) error {
	got, err := r.Get()
	if err != nil {
		return err
	}
	from, to := reflect.ValueOf(got), reflect.ValueOf(obj)
	if from.Type() != to.Type() {
		return fmt.Errorf("want a %T, got a %T", obj, got)
	}
	to.Elem().Set(from.Elem())
	return nil
}
