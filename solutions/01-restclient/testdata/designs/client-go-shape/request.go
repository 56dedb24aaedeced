package restclient

// Another correct design, closer to client-go's own:
//
//   - request.go: each part of the path is a pointer, nil if it is not set, so that nothing needs a flag.
//   - send.go: a retry has a state, with a step before and one after each try (rest/with_retry.go), and request takes a
//     function that reads the answer.
//   - stream.go: Stream and Watch have loops of their own over the same steps.
//   - deployments.go: the typed client is generic code (gentype), and Deployments are one use of it.
//
// It is correct because the state of the retries belongs to one call, not to the Request or the client, and because the
// generic client takes options and arguments only to pass them on.

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

const defaultRetries = 10

type Request struct {
	client  *RESTClient
	verb    string
	headers http.Header
	params  url.Values

	namespace, kind, object, sub *string

	// resource and name are those of errors.
	resource, name string

	payload func() io.Reader // makes a new reader for each try
	once    bool             // the reader can be read once

	timeout    time.Duration
	maxRetries int
	err        error
}

func (r *Request) Error() error { return r.err }

func (r *Request) fail(format string, args ...any) *Request {
	return r.failed(fmt.Errorf(format, args...))
}

func (r *Request) failed(err error) *Request {
	if r.err == nil {
		r.err = err
	}
	return r
}

func (r *Request) part(what string, field **string, value string) *Request {
	switch {
	case *field != nil:
		return r.fail("the %s is set twice: %q and %q", what, **field, value)
	case value == "." || value == ".." || strings.ContainsAny(value, "/%"):
		return r.fail("invalid %s %q", what, value)
	case r.err == nil:
		*field = &value
	}
	return r
}

func (r *Request) Namespace(namespace string) *Request {
	return r.part("namespace", &r.namespace, namespace)
}

func (r *Request) Resource(resource string) *Request {
	r.resource = resource
	return r.part("resource", &r.kind, resource)
}

func (r *Request) Name(name string) *Request {
	if name == "" {
		return r.failed(errors.New("the name is empty"))
	}
	r.name = name
	return r.part("name", &r.object, name)
}

func (r *Request) SubResource(segments ...string) *Request {
	if len(segments) == 0 {
		return r
	}
	for _, segment := range segments {
		var valid *string
		r.part("subresource", &valid, segment)
	}
	if r.sub != nil {
		return r.fail("the subresource is set twice")
	}
	joined := path.Join(segments...)
	r.sub = &joined
	return r
}

func (r *Request) Param(name, value string) *Request {
	if r.params == nil {
		r.params = url.Values{}
	}
	r.params[name] = append(r.params[name], value)
	return r
}

func (r *Request) VersionedParams(obj runtime.Object, codec runtime.ParameterCodec) *Request {
	params, err := codec.EncodeParameters(obj, r.client.content.version)
	if err != nil {
		return r.failed(err)
	}
	for name, values := range params {
		for _, value := range values {
			r.Param(name, value)
		}
	}
	return r
}

func (r *Request) Timeout(d time.Duration) *Request {
	r.timeout = d
	return r
}

func (r *Request) URL() *url.URL {
	p := r.client.prefix
	if r.namespace != nil && *r.namespace != "" {
		p = path.Join(p, "namespaces", *r.namespace)
	}
	for _, part := range []*string{r.kind, r.object, r.sub} {
		if part != nil {
			p = path.Join(p, *part)
		}
	}
	query := url.Values{}
	for name, values := range r.params {
		query[name] = append([]string(nil), values...)
	}
	if r.timeout != 0 {
		query.Set("timeout", r.timeout.String())
	}
	u := *r.client.base
	u.Path, u.RawQuery = p, query.Encode()
	return &u
}

func (r *Request) Body(obj any) *Request {
	switch b := obj.(type) {
	case []byte:
		return r.bytes(b)
	case io.Reader:
		r.payload, r.once = func() io.Reader { return b }, true
	case runtime.Object:
		if reflect.ValueOf(b).IsNil() {
			return r
		}
		data, err := r.client.content.encode(b)
		if err != nil {
			return r.failed(err)
		}
		r.headers.Set("Content-Type", r.client.content.contentType)
		return r.bytes(data)
	default:
		return r.fail("a %T cannot be sent", obj)
	}
	return r
}

func (r *Request) bytes(b []byte) *Request {
	r.payload, r.once = func() io.Reader { return strings.NewReader(string(b)) }, false
	return r
}

func (r *Request) MaxRetries(n int) *Request {
	r.maxRetries = max(n, 0)
	return r
}
