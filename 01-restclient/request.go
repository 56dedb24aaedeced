package restclient

// This file is the builder: each method adds one thing to the request, and URL puts them together. Nothing is sent
// here; send.go does that. It mirrors the first part of client-go's rest/request.go.

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"client-go-workshop/internal/testkit/todo"
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
func (r *Request) Error() error { return r.err }

// fail keeps the first error.
func (r *Request) fail(format string, args ...any) *Request {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	return r
}

// Namespace says in which namespace the object is, or is looked for. An empty one stands for all of them, and adds
// nothing to the path. It can be set once, also if it was empty. Mirrors rest.Request.Namespace.
func (r *Request) Namespace(namespace string) *Request {
	panic(todo.Task(1, "Request.Namespace"))
}

// Resource says which resource: the plural, "deployments". It can be set once. Mirrors rest.Request.Resource.
func (r *Request) Resource(resource string) *Request {
	panic(todo.Task(1, "Request.Resource"))
}

// Name says which object. It must not be empty: without a name the request is about all of them, and to delete all of
// them is seldom what was meant. It can be set once. Mirrors rest.Request.Name.
func (r *Request) Name(name string) *Request {
	panic(todo.Task(1, "Request.Name"))
}

// SubResource says which part of the object, "status" or "scale". It may have several segments, each its own argument.
// It can be set once. Mirrors rest.Request.SubResource.
func (r *Request) SubResource(segments ...string) *Request {
	panic(todo.Task(1, "Request.SubResource"))
}

// Param adds a query parameter. One that is there already stays, too. Mirrors rest.Request.Param.
func (r *Request) Param(name, value string) *Request {
	panic(todo.Task(1, "Request.Param"))
}

// VersionedParams adds the fields of obj, for instance metav1.ListOptions, as query parameters, as codec writes them
// for the client's group and version. What is there already stays, too. Mirrors rest.Request.VersionedParams.
func (r *Request) VersionedParams(obj runtime.Object, codec runtime.ParameterCodec) *Request {
	panic(todo.Task(1, "Request.VersionedParams"))
}

// Timeout limits the time that Do and DoRaw take, all tries together, and tells the server of it by the query parameter
// "timeout". A watch or a stream is not limited: there only the server is told. 0 is no limit. Mirrors
// rest.Request.Timeout.
func (r *Request) Timeout(d time.Duration) *Request {
	panic(todo.Task(1, "Request.Timeout"))
}

// URL returns what the request would be sent to: the server, the path its host has, the group and version, then
// namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, of which any may be missing, and the query. It belongs to the caller.
// Mirrors rest.Request.URL.
func (r *Request) URL() *url.URL {
	panic(todo.Task(1, "Request.URL"))
}

// Body says what is sent. An object is written as the client's content type wants it, with its kind and version, and
// that content type is sent with it; a nil pointer to one is no body. A []byte and an io.Reader are sent as they are.
// Anything else is an error. Mirrors rest.Request.Body, which also takes the name of a file.
func (r *Request) Body(obj any) *Request {
	panic(todo.Task(3, "Request.Body"))
}

// MaxRetries says how often the request is tried again. A negative number is 0. Mirrors rest.Request.MaxRetries.
func (r *Request) MaxRetries(n int) *Request {
	panic(todo.Task(3, "Request.MaxRetries"))
}
