package restclient

// This file sends a request, and sends it again where that does no harm. request.go builds the request, and result.go
// decodes the answer. It mirrors client-go's rest/with_retry.go and the part of rest/request.go that sends.

import (
	"context"

	"client-go-workshop/internal/testkit/todo"
)

// Do sends the request and reads the answer to its end. It does not change the request, which can be sent again. An
// answer without a content type is decoded in the client's content type.
//
// A builder error is returned, and nothing is sent. After Namespace(""), a POST is an error, and so is a GET, PUT or
// DELETE of a name. A request that is not sent does not wait for the limiter.
//
// There are two reasons for a retry:
//   - If the answer is 429 or any 5xx, and its Retry-After header is a whole number, Do sends the request again that
//     many seconds later. A negative number counts as 0.
//   - If the connection of a GET breaks without an answer (a reset, an EOF, "http2: client connection lost"), Do sends
//     the request again a second later.
//
// In all other cases, Do sends the request once. A request is sent again at most MaxRetries times, and a request whose
// Body is an io.Reader is sent once. Each try sends the whole body. Before a retry, at most 2 KiB of the answer are
// read.
//
// After the last try, Do returns the answer or error of that try. If the last try has no answer, or the context ends
// before it, the error also names the latest error of an earlier try: "… - error from a previous attempt: EOF". It does
// not repeat the URL. If both errors are the same, it is named once.
//
// Each try waits for the rate limiter first, with the context. If the limiter returns an error, nothing is sent, and
// the error says "client rate limiter Wait returned an error". Timeout excludes the limiter's wait before the first
// try, and includes its wait before a retry.
//
// When the context ends, Do returns at once with the context's error, which does not mention the limiter.
//
// It mirrors rest.Request.Do.
func (r *Request) Do(ctx context.Context) Result {
	panic(todo.Task(2, "Request.Do"))
}

// DoRaw sends the request as Do does, and returns the body of the answer as it came. An answer other than 2xx is an
// error, and its body is returned with it. A truncated body is an error. It mirrors rest.Request.DoRaw.
func (r *Request) DoRaw(ctx context.Context) ([]byte, error) {
	panic(todo.Task(2, "Request.DoRaw"))
}
