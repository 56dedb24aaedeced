package restclient

// This file has the methods that return before the answer has ended: Stream returns its bytes, and Watch its events. It
// mirrors Request.Stream and Request.Watch of client-go's rest/request.go.

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/todo"
)

// Stream sends the request and returns the body of the answer, which the caller reads and closes. An answer other than
// 2xx is an error with the server's message. A builder error is returned, and nothing is sent. A request that is not
// sent does not wait for the limiter. Stream and Watch do not change the request, which can be sent again.
//
// The request is sent again after 429 and 5xx with Retry-After, as by Do, and never after a broken connection. Each try
// waits for the rate limiter first, with the context.
//
// Timeout does not limit a stream or a watch. When the context ends, Stream returns at once with the context's error,
// and so does a Read of the body.
//
// It mirrors rest.Request.Stream.
func (r *Request) Stream(ctx context.Context) (io.ReadCloser, error) {
	panic(todo.Task(4, "Request.Stream"))
}

// Watch sends the request and returns the events of the answer, each as it comes. A watch lasts until the server or the
// context ends it, or until Stop. Timeout does not limit a stream or a watch.
//
// A builder error is returned, and nothing is sent. An answer other than 200 is an error with the server's message.
// Stream and Watch do not change the request, which can be sent again.
//
// The request is sent again after 429 and 5xx with Retry-After, as by Do. A watch is also sent again, a second later,
// if the connection is reset, ends without an answer or times out, whatever the verb. If the last try fails like this,
// Watch returns an empty watch and no error. Any other error, even a Status, also names the error of an earlier try, as
// with Do. Each try of a watch but the first waits for the rate limiter.
//
// When the context ends, Watch returns at once with the context's error, not with an empty watch.
//
// It mirrors rest.Request.Watch.
func (r *Request) Watch(ctx context.Context) (watch.Interface, error) {
	panic(todo.Task(4, "Request.Watch"))
}
