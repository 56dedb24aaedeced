package restclient

// This file sends a request, and sends it again if the server asks for that or the connection broke in a way that does
// no harm. It stands between the builder (request.go) and the answer (result.go). It mirrors client-go's
// rest/with_retry.go and the part of rest/request.go that sends.

import (
	"context"

	"client-go-workshop/internal/testkit/todo"
)

// Do sends the request and reads the answer to its end. The Result has the error if there is one.
//
// A builder error, or a request with an impossible namespace, is returned and nothing is sent: a POST with an empty
// namespace, or a GET, PUT or DELETE of a name with an empty namespace, where Namespace was called.
//
// Do tries the request again, at most MaxRetries times, in two cases. If the answer is 429 or any 5xx and has a
// Retry-After header that is a whole number, it does so that many seconds later. If a GET's connection broke without an
// answer (a reset, an EOF, "HTTP/2 connection lost"), a second later. In other cases a change might be made twice, or
// no server listens. A body that is an io.Reader has been read, so such a request is never tried again.
//
// An answer without a content type is read as one of the client's own.
//
// The rate limiter is asked before each try, with the context. Its wait before the first try does not count for
// Timeout; its wait before another try does. When the context ends, Do returns at once with the context's error, and
// does not mention the limiter if that was waiting. Mirrors rest.Request.Do.
func (r *Request) Do(ctx context.Context) Result {
	panic(todo.Task(2, "Request.Do"))
}

// DoRaw is Do, but returns the body of the answer as it came. An answer other than 2xx is an error, and its body is
// returned along with the error, not decoded. A body that breaks off is an error. Mirrors rest.Request.DoRaw.
func (r *Request) DoRaw(ctx context.Context) ([]byte, error) {
	panic(todo.Task(2, "Request.DoRaw"))
}
