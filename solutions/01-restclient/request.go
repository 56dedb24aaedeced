package restclient

// This file builds requests: each method sets one part, and URL assembles the parts. It sends nothing; send.go does.
// It mirrors the first part of client-go's rest/request.go.
//
//workshop:file task 1

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// defaultRetries is how often a request is sent again, unless MaxRetries says otherwise.
const defaultRetries = 10

// Request is an HTTP request under construction. Its methods return it, so that calls can be chained. Its first error
// is kept: Error returns it, and so does each method that would send the request.
//
// Only one goroutine at a time may change a Request.
//
// It mirrors rest.Request.
type Request struct {
	client  *RESTClient
	verb    string
	headers http.Header
	params  url.Values

	namespace string
	// namespaceSet is true after a call of Namespace, even an empty one.
	//
	//workshop:omit
	namespaceSet bool
	resource     string
	name         string
	subresource  string

	body  io.Reader
	bytes []byte

	timeout    time.Duration
	maxRetries int

	err error
}

// Error returns the first error of the methods that built the request, or nil.
//
//workshop:keep
func (r *Request) Error() error { return r.err }

// fail keeps the first error.
func (r *Request) fail(format string, args ...any) *Request {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	return r
}

// set sets one segment of the path. It fails if the segment is set already, or if value would change the path around
// it.
func (r *Request) set(what string, field *string, value string) *Request {
	if r.err != nil {
		return r
	}
	if *field != "" {
		return r.fail("%s already set to %q, cannot change to %q", what, *field, value)
	}
	if err := checkSegment(value); err != nil {
		return r.fail("invalid %s %q: %w", what, value, err)
	}
	*field = value
	return r
}

// checkSegment returns an error if a segment would change the path around it: the server would see another resource, or
// another name.
func checkSegment(segment string) error {
	if segment == "." || segment == ".." {
		return fmt.Errorf("may not be %q", segment)
	}
	if i := strings.IndexAny(segment, "/%"); i >= 0 {
		return fmt.Errorf("may not contain %q", segment[i])
	}
	return nil
}

// Namespace sets the namespace of the object or of the list. An empty namespace stands for all namespaces, and adds
// nothing to the path.
//
// A segment of one or two dots, or one that contains a slash or a percent sign, is an error. A second call is an error,
// even after an empty namespace. It mirrors rest.Request.Namespace.
func (r *Request) Namespace(namespace string) *Request {
	if r.namespaceSet {
		return r.fail("namespace already set to %q, cannot change to %q", r.namespace, namespace)
	}
	r.namespaceSet = true
	return r.set("namespace", &r.namespace, namespace)
}

// Resource sets the resource, by its plural name: "deployments". A segment of one or two dots, or one that contains a
// slash or a percent sign, is an error, and so is a second call. It mirrors rest.Request.Resource.
func (r *Request) Resource(resource string) *Request { return r.set("resource", &r.resource, resource) }

// Name sets the name of the object. An empty name is an error. A segment of one or two dots, or one that contains a
// slash or a percent sign, is an error, and so is a second call. It mirrors rest.Request.Name.
func (r *Request) Name(name string) *Request {
	if name == "" {
		return r.fail("resource name may not be empty")
	}
	return r.set("resource name", &r.name, name)
}

// SubResource sets the subresource of the object, such as "status" or "scale". Each argument is one segment of the
// path. SubResource without arguments changes nothing.
//
// A segment of one or two dots, or one that contains a slash or a percent sign, is an error, and so is a second call.
// It mirrors rest.Request.SubResource.
func (r *Request) SubResource(segments ...string) *Request {
	for _, segment := range segments {
		if err := checkSegment(segment); err != nil {
			return r.fail("invalid subresource %q: %w", segment, err)
		}
	}
	if r.subresource != "" {
		return r.fail("subresource already set to %q, cannot change to %q", r.subresource, path.Join(segments...))
	}
	r.subresource = path.Join(segments...)
	return r
}

// Param adds a query parameter. Existing parameters stay. It mirrors rest.Request.Param.
func (r *Request) Param(name, value string) *Request {
	if r.params == nil {
		r.params = url.Values{}
	}
	r.params.Add(name, value)
	return r
}

// VersionedParams adds the fields of obj to the query, as codec encodes them for the client's group and version.
// Existing parameters stay. An obj that codec cannot encode is an error.
//
// It mirrors rest.Request.VersionedParams.
func (r *Request) VersionedParams(obj runtime.Object, codec runtime.ParameterCodec) *Request {
	params, err := codec.EncodeParameters(obj, r.client.content.version)
	if err != nil {
		return r.fail("encode the parameters %T: %w", obj, err)
	}
	for name, values := range params {
		for _, value := range values {
			r.Param(name, value)
		}
	}
	return r
}

// Timeout limits Do and DoRaw: all tries together, and reading the body. When the time is over, the error is
// context.DeadlineExceeded. Timeout does not limit a stream or a watch. The server receives it as the query parameter
// "timeout" (as in timeout=1m30s), and no other value of that parameter. A Timeout of 0 means no limit, and a later
// Timeout replaces an earlier one. It mirrors rest.Request.Timeout.
func (r *Request) Timeout(d time.Duration) *Request {
	r.timeout = d
	return r
}

// URL returns the server, the path of its host, the group and version, then
// namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, and the query. A part that is not set is not in the path. The path is
// escaped.
//
// It does not change the request. The result belongs to the caller. It mirrors rest.Request.URL.
func (r *Request) URL() *url.URL {
	segments := []string{r.client.prefix}
	if r.namespace != "" {
		segments = append(segments, "namespaces", r.namespace)
	}
	u := *r.client.base
	u.Path = path.Join(append(segments, r.resource, r.name, r.subresource)...)
	query := url.Values{}
	for name, values := range r.params {
		query[name] = slices.Clone(values)
	}
	if r.timeout != 0 {
		query.Set("timeout", r.timeout.String())
	}
	u.RawQuery = query.Encode()
	return &u
}

// Body sets the body of the request:
//   - An object is encoded at once, with its kind and version, in the client's content type, and sent with that
//     Content-Type.
//   - A nil pointer to an object changes nothing.
//   - A []byte and an io.Reader are sent as they are.
//
// Any other body, or an object that cannot be encoded, is an error. A later Body replaces an earlier one. An object or
// a []byte is sent with its length, and again after a redirect. It mirrors rest.Request.Body, which also takes the name
// of a file.
//
//workshop:task 3
func (r *Request) Body(obj any) *Request {
	switch b := obj.(type) {
	case []byte:
		r.bytes, r.body = b, nil
	case io.Reader:
		r.bytes, r.body = nil, b
	case runtime.Object:
		if reflect.ValueOf(b).IsNil() {
			return r
		}
		data, err := r.client.content.encode(b)
		if err != nil {
			return r.fail("encode %T: %w", obj, err)
		}
		r.bytes, r.body = data, nil
		r.headers.Set("Content-Type", r.client.content.contentType)
	default:
		return r.fail("unknown type used for body: %T", obj)
	}
	return r
}

// MaxRetries limits how often the request is sent again, by default 10 times. A negative number counts as 0. It mirrors
// rest.Request.MaxRetries.
//
//workshop:task 3
func (r *Request) MaxRetries(n int) *Request {
	r.maxRetries = max(n, 0)
	return r
}
