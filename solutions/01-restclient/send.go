package restclient

// This file sends a request, and sends it again if the server asks for that or the connection broke in a way that does no
// harm. It stands between the builder (request.go) and the answer (result.go). It mirrors client-go's rest/with_retry.go
// and the part of rest/request.go that sends.
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
	var result Result
	if err := r.exchange(ctx, func(resp *http.Response) { result = r.read(resp) }); err != nil {
		return Result{err: err}
	}
	return result
}

// DoRaw is Do, but returns the body of the answer as it came. An answer other than 2xx is an error: what the server says
// in its body is returned along with it, and not read. A body that breaks off is an error. Mirrors rest.Request.DoRaw.
func (r *Request) DoRaw(ctx context.Context) ([]byte, error) {
	var result Result
	if err := r.exchange(ctx, func(resp *http.Response) { result = r.read(resp) }); err != nil {
		return nil, err
	}
	return result.body, result.err
}

// exchange sends the request, hands the answer to read, and closes it.
func (r *Request) exchange(ctx context.Context, read func(*http.Response)) error {
	if err := r.check(); err != nil {
		return err
	}
	// The limiter first: a request that had to wait would otherwise time out before it was sent.
	if err := r.throttle(ctx); err != nil {
		return err
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
		return err
	}
	defer discard(resp)
	read(resp)
	return nil
}

// check returns what is wrong with the request, before it is sent.
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

// send tries the request until there is an answer that is the last one, whose body the caller closes. Harmless says after
// which errors it may be sent again.
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

// newHTTPRequest makes the request anew for each try: the last one's body has been read, and may still be (#113933).
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

// retryAfter says whether to send the request again, and how long to wait before.
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

// retryAfterSeconds reads the header, which may also be a date; that is none.
func retryAfterSeconds(resp *http.Response) (int, bool) {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return seconds, err == nil
}

// drainLimit is how much of an answer is read that nobody wants. A connection can only be used again when the answer has
// been read to its end (#31016); if there is more, a new connection is cheaper.
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
