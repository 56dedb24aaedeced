package restclient

// This file sends a request, and sends it again if the server asks for that or the connection broke in a way that does no
// harm. It stands between the builder (request.go) and the answer (result.go). It mirrors client-go's rest/with_retry.go
// and the part of rest/request.go that sends.

import (
	"context"

	"client-go-workshop/internal/testkit/todo"
)

// Do sends the request and reads the answer to its end. What went wrong is in the Result.
//
// A builder error, or a request that cannot be meant, is returned and nothing is sent: a POST with an empty namespace, or
// a GET, PUT or DELETE of a name with an empty namespace, where Namespace was called. Client-go lets a PATCH pass; yours
// need not.
//
// The request is tried again, at most MaxRetries times, if the answer is 429 or any 5xx and has a Retry-After header that
// is a whole number: that many seconds later; and if it is a GET whose connection broke without an answer (a reset, an EOF,
// "HTTP/2 connection lost"): a second later. Nothing else is: a change would perhaps be made twice, and a server that
// refuses connections is not there. A body that is an io.Reader has been read, so such a request is
// never tried again.
//
// An answer without a content type is read as one of the client's own.
//
// The rate limiter is asked before each try, with the context. What it takes before the first try does not count for
// Timeout; what it takes before another one does. When the context ends, Do returns at once with the context's error, and
// without a word about the limiter, if it was that which waited. Mirrors rest.Request.Do.
func (r *Request) Do(ctx context.Context) Result {
	panic(todo.Task(2, "Request.Do"))
}

// DoRaw is Do, but returns the body of the answer as it came. An answer other than 2xx is an error: what the server says
// in its body is returned along with it, and not read. A body that breaks off is an error. Mirrors rest.Request.DoRaw.
func (r *Request) DoRaw(ctx context.Context) ([]byte, error) {
	panic(todo.Task(2, "Request.DoRaw"))
}
