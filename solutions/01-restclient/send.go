package restclient

// This file sends a request, and sends it again where that does no harm. request.go builds the request, and result.go
// decodes the answer. It mirrors client-go's rest/with_retry.go and the part of rest/request.go that sends.
//
//workshop:file task 2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
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
	return r.exchange(ctx)
}

// DoRaw sends the request as Do does, and returns the body of the answer as it came. An answer other than 2xx is an
// error, and its body is returned with it. A truncated body is an error. It mirrors rest.Request.DoRaw.
func (r *Request) DoRaw(ctx context.Context) ([]byte, error) {
	return r.exchange(ctx).Raw()
}

// exchange sends the request, reads the answer to its end and closes it.
func (r *Request) exchange(ctx context.Context) Result {
	if err := r.check(); err != nil {
		return Result{err: err}
	}
	// The limiter comes first: otherwise a request that waits for it times out before it is sent.
	if err := r.throttle(ctx); err != nil {
		return Result{err: err}
	}
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	resp, earlier, err := r.send(ctx, func(err error) bool {
		return r.verb == http.MethodGet &&
			(utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err))
	})
	if err != nil {
		return Result{err: withEarlier(err, earlier)}
	}
	defer discard(resp)
	return r.read(resp)
}

// check returns an error for a request that must not be sent: the builder's, or one about an empty namespace.
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

// send tries the request until no retry is due, and returns the last answer, whose body the caller closes, or the last
// error. earlier is the newest error of the tries before, or nil if all of them were answered. harmless reports whether
// the request may be sent again after an error. send does not retry a body that is an io.Reader, which can be read only
// once.
func (r *Request) send(ctx context.Context, harmless func(error) bool) (resp *http.Response, earlier, err error) {
	for tries := 0; ; tries++ {
		if err := ctx.Err(); err != nil {
			return nil, earlier, err
		}
		request, err := r.newHTTPRequest(ctx)
		if err != nil {
			return nil, earlier, err
		}
		resp, err := r.client.http.Do(request)
		wait, again := retryAfter(resp, err, harmless)
		if !again || tries >= r.maxRetries || r.body != nil {
			return resp, earlier, err
		}
		if err != nil {
			earlier = err
		} else {
			discard(resp)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, earlier, err
		}
		if err := r.throttle(ctx); err != nil {
			return nil, earlier, err
		}
	}
}

// withEarlier adds the error of an earlier try to the text of the last one, unless both say the same.
func withEarlier(err, earlier error) error {
	if earlier == nil || err.Error() == earlier.Error() {
		return err
	}
	var request *url.Error
	if errors.As(earlier, &request) {
		earlier = request.Err // without the method and the URL, which are in err
	}
	return fmt.Errorf("%w - error from a previous attempt: %v", err, earlier)
}

// newHTTPRequest makes a new request for each try, with a new reader of the same bytes: the last try has read its
// reader, and the transport may still read from it (#113933).
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

// retryAfter reports whether to send the request again, and how long to wait first.
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

// retryAfterSeconds returns the seconds in the header, and false if it has no whole number.
func retryAfterSeconds(resp *http.Response) (int, bool) {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return seconds, err == nil
}

// drainLimit limits how many bytes of an unwanted answer are read. A connection can be used again only after its answer
// was read to the end (#31016). If more bytes are left, a new connection is cheaper.
//
//workshop:omit
const drainLimit = 2 << 10

// discard closes an answer. It reads the rest first, if that is little.
func discard(resp *http.Response) {
	if resp.ContentLength <= drainLimit {
		io.CopyN(io.Discard, resp.Body, drainLimit)
	}
	resp.Body.Close()
}

// sleep waits for d or until the context ends, whichever is first.
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
