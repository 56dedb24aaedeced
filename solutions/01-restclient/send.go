package restclient

// This file sends a request, and sends it again if the server asks for that or the connection broke in a way that does
// no harm. It stands between the builder (request.go) and the answer (result.go). It mirrors client-go's
// rest/with_retry.go and the part of rest/request.go that sends.
//
//workshop:file task 2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
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
	return r.exchange(ctx)
}

// DoRaw is Do, but returns the body of the answer as it came. An answer other than 2xx is an error, and its body is
// returned along with the error, not decoded. A body that breaks off is an error. Mirrors rest.Request.DoRaw.
func (r *Request) DoRaw(ctx context.Context) ([]byte, error) {
	return r.exchange(ctx).Raw()
}

// exchange sends the request, reads the answer to its end and closes it.
func (r *Request) exchange(ctx context.Context) Result {
	if err := r.check(); err != nil {
		return Result{err: err}
	}
	// The limiter first: a request that had to wait would otherwise time out before it was sent.
	if err := r.throttle(ctx); err != nil {
		return Result{err: err}
	}
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	resp, err := r.send(ctx, func(err error) bool {
		return r.verb == http.MethodGet &&
			(utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err))
	})
	if err != nil {
		return Result{err: err}
	}
	defer discard(resp)
	return r.read(resp)
}

// check returns the request's error before it is sent: the builder's, or one about an empty namespace.
func (r *Request) check() error {
	if r.err != nil || !r.namespaceSet || r.namespace != "" {
		return r.err
	}
	switch {
	case r.verb == http.MethodPost:
		return errors.New("an empty namespace may not be set during creation")
	case r.name != "" && (r.verb == http.MethodGet || r.verb == http.MethodPut || r.verb == http.MethodDelete):
		return errors.New("an empty namespace may not be set when a resource name is provided")
	}
	return nil
}

// throttle waits until the limiter lets a request pass.
func (r *Request) throttle(ctx context.Context) error {
	if r.client.limiter == nil {
		return nil
	}
	err := r.client.limiter.Wait(ctx)
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err // the caller's doing, not the limiter's (#137694)
	}
	return fmt.Errorf("client rate limiter Wait returned an error: %w", err)
}

// send tries the request until no further try is due, and returns the last answer. The caller closes its body. harmless
// reports whether the request may be sent again after an error.
func (r *Request) send(ctx context.Context, harmless func(error) bool) (*http.Response, error) {
	for tries := 0; ; tries++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		request, err := r.newHTTPRequest(ctx)
		if err != nil {
			return nil, err
		}
		resp, err := r.client.http.Do(request)
		wait, again := retryAfter(resp, err, harmless)
		if !again || tries >= r.maxRetries || r.body != nil {
			return resp, err
		}
		if resp != nil {
			discard(resp)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		if err := r.throttle(ctx); err != nil {
			return nil, err
		}
	}
}

// newHTTPRequest makes a new request for each try: the last one's body has been read, and the transport may still read
// it (#113933).
func (r *Request) newHTTPRequest(ctx context.Context) (*http.Request, error) {
	body := r.body
	if r.bytes != nil {
		body = bytes.NewReader(r.bytes)
	}
	request, err := http.NewRequestWithContext(ctx, r.verb, r.URL().String(), body)
	if err != nil {
		return nil, err
	}
	request.Header = r.headers.Clone()
	return request, nil
}

// retryAfter reports whether to send the request again, and how long to wait before.
func retryAfter(resp *http.Response, err error, harmless func(error) bool) (time.Duration, bool) {
	if err != nil {
		return time.Second, harmless(err)
	}
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500 {
		return 0, false
	}
	seconds, ok := retryAfterSeconds(resp)
	return time.Duration(seconds) * time.Second, ok
}

// retryAfterSeconds returns the header's seconds. A date does not count.
func retryAfterSeconds(resp *http.Response) (int, bool) {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return seconds, err == nil
}

// drainLimit is how much of an unwanted answer is read, in bytes. A connection can only be used again when the answer
// has been read to its end (#31016); if there is more, a new connection is cheaper.
//
//workshop:omit
const drainLimit = 2 << 10

// discard reads what is left of an answer, if it is little, and closes it.
func discard(resp *http.Response) {
	if resp.ContentLength <= drainLimit {
		io.CopyN(io.Discard, resp.Body, drainLimit)
	}
	resp.Body.Close()
}

// sleep waits, but no longer than the context.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
