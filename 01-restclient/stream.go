package restclient

// This file is for answers that are read while they come: Stream hands out the bytes, Watch the events in them. It
// mirrors Request.Stream and Request.Watch of client-go's rest/request.go.

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/todo"
)

// Stream sends the request and returns the body of the answer, which the caller reads and closes. An answer other than
// 2xx is an error, as for Do. It is tried again after 429 and 5xx with Retry-After, as in Do, but never after a broken
// connection. A builder error is returned and nothing is sent, but what Do says of namespaces is not checked. The rate
// limiter is asked before each try. Timeout does not limit it. Mirrors rest.Request.Stream.
func (r *Request) Stream(ctx context.Context) (io.ReadCloser, error) {
	panic(todo.Task(4, "Request.Stream"))
}

// Watch sends the request and returns the events of the answer. It goes on until the server or the context ends it, or
// until it is stopped; Timeout does not limit it. The rate limiter is not asked before the first try, since a watch is
// one request for many minutes of events, but before every other. A builder error is returned, as by Stream.
//
// It is tried again as in Do, and also if the connection was reset, ended without an answer or timed out, whatever the
// verb. If it is still so after the last try, the watch is empty, and no error: the server ends watches all the time,
// and who watches begins again anyway. A deadline of the context is none of these time-outs, though it looks like one:
// the context's error is returned. Any other answer than 200 is an error, as for Do. Mirrors rest.Request.Watch.
func (r *Request) Watch(ctx context.Context) (watch.Interface, error) {
	panic(todo.Task(4, "Request.Watch"))
}
