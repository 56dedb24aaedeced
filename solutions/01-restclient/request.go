package restclient

// This file is the builder: each method adds one thing to the request, and URL puts them together. Nothing is sent
// here; send.go does that. It mirrors the first part of client-go's rest/request.go.
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

// defaultRetries is how often a request is tried again, unless MaxRetries says otherwise.
const defaultRetries = 10

// Request is a request that is being built. Its methods return it, so that they can be written in one line. What goes
// wrong while it is built is kept, and returned by Error and by whatever would send it: one check at the end is enough.
//
// Namespace, Resource, Name and SubResource refuse a segment that is . or .., or has a / or a % in it: it could make
// the request one for something else.
//
// It is for one goroutine. Mirrors rest.Request.
type Request struct {
	client  *RESTClient
	verb    string
	headers http.Header
	params  url.Values

	namespace    string
	namespaceSet bool
	resource     string
	name         string
	subresource  string

	// body is what a reader gives, which is gone when it has been read; bytes can be sent any number of times. At most one
	// of them is set.
	body  io.Reader
	bytes []byte

	// timeout limits the whole of Do and DoRaw, all tries together. 0 is no limit.
	timeout    time.Duration
	maxRetries int

	// err is the first thing that went wrong.
	err error
}

// Error returns the first thing that went wrong while the request was built.
//
//workshop:keep
func (r *Request) Error() error { return r.err }

// fail keeps the first error.
//
//workshop:keep
func (r *Request) fail(format string, args ...any) *Request {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	return r
}

// set puts one segment of the path into its field, which must be empty, and the segment one that can stand in a path.
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

// checkSegment refuses what would change the path around it: the server would see another resource, or another name.
func checkSegment(segment string) error {
	if segment == "." || segment == ".." {
		return fmt.Errorf("may not be %q", segment)
	}
	if i := strings.IndexAny(segment, "/%"); i >= 0 {
		return fmt.Errorf("may not contain %q", segment[i])
	}
	return nil
}

// Namespace says in which namespace the object is, or is looked for. An empty one stands for all of them, and adds
// nothing to the path. It can be set once, also if it was empty. Mirrors rest.Request.Namespace.
func (r *Request) Namespace(namespace string) *Request {
	if r.namespaceSet {
		return r.fail("namespace already set to %q, cannot change to %q", r.namespace, namespace)
	}
	r.namespaceSet = true
	return r.set("namespace", &r.namespace, namespace)
}

// Resource says which resource: the plural, "deployments". It can be set once. Mirrors rest.Request.Resource.
func (r *Request) Resource(resource string) *Request { return r.set("resource", &r.resource, resource) }

// Name says which object. It must not be empty: without a name the request is about all of them, and to delete all of
// them is seldom what was meant. It can be set once. Mirrors rest.Request.Name.
func (r *Request) Name(name string) *Request {
	if name == "" {
		return r.fail("resource name may not be empty")
	}
	return r.set("resource name", &r.name, name)
}

// SubResource says which part of the object, "status" or "scale". It may have several segments, each its own argument.
// It can be set once. Mirrors rest.Request.SubResource.
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

// Param adds a query parameter. One that is there already stays, too. Mirrors rest.Request.Param.
func (r *Request) Param(name, value string) *Request {
	if r.params == nil {
		r.params = url.Values{}
	}
	r.params.Add(name, value)
	return r
}

// VersionedParams adds the fields of obj, for instance metav1.ListOptions, as query parameters, as codec writes them
// for the client's group and version. What is there already stays, too. Mirrors rest.Request.VersionedParams.
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

// Timeout limits the time that Do and DoRaw take, all tries together, and tells the server of it by the query parameter
// "timeout". A watch or a stream is not limited: there only the server is told. 0 is no limit. Mirrors
// rest.Request.Timeout.
func (r *Request) Timeout(d time.Duration) *Request {
	r.timeout = d
	return r
}

// URL returns what the request would be sent to: the server, the path its host has, the group and version, then
// namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, of which any may be missing, and the query. It belongs to the caller.
// Mirrors rest.Request.URL.
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

// Body says what is sent. An object is written as the client's content type wants it, with its kind and version, and
// that content type is sent with it; a nil pointer to one is no body. A []byte and an io.Reader are sent as they are.
// Anything else is an error. Mirrors rest.Request.Body, which also takes the name of a file.
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

// MaxRetries says how often the request is tried again. A negative number is 0. Mirrors rest.Request.MaxRetries.
//
//workshop:task 3
func (r *Request) MaxRetries(n int) *Request {
	r.maxRetries = max(n, 0)
	return r
}
