package restclient

// This file builds requests: each method sets one part, and URL assembles the parts. It sends nothing; send.go does.
// It mirrors the first part of client-go's rest/request.go.

import (
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"client-go-workshop/internal/testkit/todo"
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

	namespace   string
	resource    string
	name        string
	subresource string

	body  io.Reader
	bytes []byte

	timeout    time.Duration
	maxRetries int

	err error
}

// Error returns the first error of the methods that built the request, or nil.
func (r *Request) Error() error { return r.err }

// Namespace sets the namespace of the object or of the list. An empty namespace stands for all namespaces, and adds
// nothing to the path.
//
// A segment of one or two dots, or one that contains a slash or a percent sign, is an error. A second call is an error,
// even after an empty namespace. It mirrors rest.Request.Namespace.
func (r *Request) Namespace(namespace string) *Request {
	panic(todo.Task(1, "Request.Namespace"))
}

// Resource sets the resource, by its plural name: "deployments". A segment of one or two dots, or one that contains a
// slash or a percent sign, is an error, and so is a second call. It mirrors rest.Request.Resource.
func (r *Request) Resource(resource string) *Request {
	panic(todo.Task(1, "Request.Resource"))
}

// Name sets the name of the object. An empty name is an error. A segment of one or two dots, or one that contains a
// slash or a percent sign, is an error, and so is a second call. It mirrors rest.Request.Name.
func (r *Request) Name(name string) *Request {
	panic(todo.Task(1, "Request.Name"))
}

// SubResource sets the subresource of the object, such as "status" or "scale". Each argument is one segment of the
// path. SubResource without arguments changes nothing.
//
// A segment of one or two dots, or one that contains a slash or a percent sign, is an error, and so is a second call.
// It mirrors rest.Request.SubResource.
func (r *Request) SubResource(segments ...string) *Request {
	panic(todo.Task(1, "Request.SubResource"))
}

// Param adds a query parameter. Existing parameters stay. It mirrors rest.Request.Param.
func (r *Request) Param(name, value string) *Request {
	panic(todo.Task(1, "Request.Param"))
}

// VersionedParams adds the fields of obj to the query, as codec encodes them for the client's group and version.
// Existing parameters stay. An obj that codec cannot encode is an error.
//
// It mirrors rest.Request.VersionedParams.
func (r *Request) VersionedParams(obj runtime.Object, codec runtime.ParameterCodec) *Request {
	panic(todo.Task(1, "Request.VersionedParams"))
}

// Timeout limits Do and DoRaw: all tries together, and reading the body. When the time is over, the error is
// context.DeadlineExceeded. Timeout does not limit a stream or a watch. The server receives it as the query parameter
// "timeout" (as in timeout=1m30s), and no other value of that parameter. A Timeout of 0 means no limit, and a later
// Timeout replaces an earlier one. It mirrors rest.Request.Timeout.
func (r *Request) Timeout(d time.Duration) *Request {
	panic(todo.Task(1, "Request.Timeout"))
}

// URL returns the server, the path of its host, the group and version, then
// namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, and the query. A part that is not set is not in the path. The path is
// escaped.
//
// It does not change the request. The result belongs to the caller. It mirrors rest.Request.URL.
func (r *Request) URL() *url.URL {
	panic(todo.Task(1, "Request.URL"))
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
func (r *Request) Body(obj any) *Request {
	panic(todo.Task(3, "Request.Body"))
}

// MaxRetries limits how often the request is sent again, by default 10 times. A negative number counts as 0. It mirrors
// rest.Request.MaxRetries.
func (r *Request) MaxRetries(n int) *Request {
	panic(todo.Task(3, "Request.MaxRetries"))
}
