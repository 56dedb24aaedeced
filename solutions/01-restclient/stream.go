package restclient

// This file has the methods that return before the answer has ended: Stream returns its bytes, and Watch its events. It
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
	if r.err != nil {
		return nil, r.err
	}
	if err := r.throttle(ctx); err != nil {
		return nil, err
	}
	resp, _, err := r.send(ctx, func(error) bool { return false })
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer discard(resp)
		return nil, r.read(resp).Error()
	}
	return resp.Body, nil
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
	if r.err != nil {
		return nil, r.err
	}
	harmless := func(err error) bool {
		return ctx.Err() == nil && (utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err))
	}
	resp, earlier, err := r.send(ctx, harmless)
	if err != nil {
		if harmless(err) {
			return watch.NewEmptyWatch(), nil
		}
		return nil, withEarlier(err, earlier)
	}
	if resp.StatusCode != http.StatusOK {
		defer discard(resp)
		return nil, withEarlier(r.unexpected(resp), earlier)
	}
	return r.client.newWatcher(resp.Body, resp.Header.Get("Content-Type"), r.verb)
}

// unexpected returns the error for an answer that is not a stream of events.
func (r *Request) unexpected(resp *http.Response) error {
	if err := r.read(resp).Error(); err != nil {
		return err
	}
	return r.generic(resp, nil)
}
