package restclient

// This file is for answers that are read while they come: Stream hands out the bytes, Watch the events in them. It
// mirrors Request.Stream and Request.Watch of client-go's rest/request.go.
//
//workshop:file task 4

import (
	"context"
	"io"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
)

// Stream sends the request and returns the body of the answer, which the caller reads and closes. An answer other than
// 2xx is an error, as for Do. It is tried again after 429 and 5xx with Retry-After, as in Do, but never after a broken
// connection. A builder error is returned and nothing is sent, but what Do says of namespaces is not checked. The rate
// limiter is asked before each try. Timeout does not limit it. Mirrors rest.Request.Stream.
func (r *Request) Stream(ctx context.Context) (io.ReadCloser, error) {
	if r.err != nil {
		return nil, r.err
	}
	if err := r.throttle(ctx); err != nil {
		return nil, err
	}
	resp, err := r.send(ctx, func(error) bool { return false })
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer discard(resp)
		return nil, r.read(resp).Error()
	}
	return resp.Body, nil
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
	if r.err != nil {
		return nil, r.err
	}
	harmless := func(err error) bool { return utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err) }
	resp, err := r.send(ctx, harmless)
	if err != nil {
		if harmless(err) && ctx.Err() == nil {
			return watch.NewEmptyWatch(), nil
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer discard(resp)
		return nil, r.unexpected(resp)
	}
	return r.client.newWatcher(resp.Body, resp.Header.Get("Content-Type"), r.verb)
}

// unexpected is the error for an answer that is no stream of events.
func (r *Request) unexpected(resp *http.Response) error {
	if err := r.read(resp).Error(); err != nil {
		return err
	}
	return r.generic(resp, nil)
}
