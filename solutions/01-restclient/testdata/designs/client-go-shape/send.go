package restclient

import (
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

func (r *Request) Do(ctx context.Context) (result Result) {
	err := r.request(ctx, func(resp *http.Response) { result = r.read(resp) })
	if err != nil {
		return Result{err: err}
	}
	return result
}

func (r *Request) DoRaw(ctx context.Context) (body []byte, failure error) {
	err := r.request(ctx, func(resp *http.Response) { body, failure = r.read(resp).Raw() })
	if err != nil {
		return nil, err
	}
	return body, failure
}

// request sends the request, and calls read with the last answer.
func (r *Request) request(ctx context.Context, read func(*http.Response)) error {
	if err := r.preflight(); err != nil {
		return err
	}
	if err := r.throttle(ctx); err != nil {
		return err
	}
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	retry := &retry{request: r, harmless: func(err error) bool {
		return r.verb == http.MethodGet &&
			(utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err))
	}}
	for {
		resp, err := retry.try(ctx)
		if retry.again(resp, err) {
			release(resp)
			continue
		}
		if err != nil {
			return retry.explain(err)
		}
		defer release(resp)
		read(resp)
		return nil
	}
}

func (r *Request) preflight() error {
	if r.err != nil || r.namespace == nil || *r.namespace != "" {
		return r.err
	}
	switch r.verb {
	case "POST":
		return errors.New("a POST needs a namespace")
	case "GET", "PUT", "DELETE":
		if r.object != nil {
			return errors.New("an object needs a namespace")
		}
	}
	return nil
}

func (r *Request) throttle(ctx context.Context) error {
	if r.client.limiter == nil {
		return nil
	}
	err := r.client.limiter.Wait(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("client rate limiter Wait returned an error: %w", err)
}

// retry is the state of the tries of one call.
type retry struct {
	request  *Request
	harmless func(error) bool

	tries         int
	wait          time.Duration
	last, earlier error // the latest error without an answer, and the one before it
}

// try waits until a try is due, and does it.
func (t *retry) try(ctx context.Context) (*http.Response, error) {
	if err := t.before(ctx); err != nil {
		return nil, err
	}
	t.tries++
	request, err := t.request.newHTTPRequest(ctx)
	if err != nil {
		return nil, err
	}
	return t.request.client.http.Do(request)
}

// before waits for the time and for the limiter.
func (t *retry) before(ctx context.Context) error {
	if ctx.Err() != nil || t.tries == 0 {
		return ctx.Err()
	}
	ctxOrTime, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	<-ctxOrTime.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.request.throttle(ctx)
}

// again reports whether another try is due.
func (t *retry) again(resp *http.Response, err error) bool {
	if err != nil {
		if t.last != nil {
			t.earlier = t.last
		}
		t.last = err
	}
	if t.request.once || t.tries > t.request.maxRetries {
		return false
	}
	if err != nil {
		t.wait = time.Second
		return t.harmless(err)
	}
	seconds, ok := retryAfterSeconds(resp)
	t.wait = time.Duration(seconds) * time.Second
	return ok && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode/100 >= 5)
}

// explain names an earlier error in the last one, which may be that of an answer.
func (t *retry) explain(err error) error {
	earlier := t.last
	if err == t.last {
		earlier = t.earlier
	}
	if earlier == nil || earlier.Error() == err.Error() {
		return err
	}
	if u, ok := earlier.(*url.Error); ok {
		earlier = u.Err
	}
	return &explained{err, earlier}
}

type explained struct{ error, earlier error }

func (e *explained) Unwrap() error { return e.error }
func (e *explained) Error() string {
	return fmt.Sprintf("%v - error from a previous attempt: %v", e.error, e.earlier)
}

func (r *Request) newHTTPRequest(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if r.payload != nil {
		body = r.payload()
	}
	request, err := http.NewRequestWithContext(ctx, r.verb, r.URL().String(), body)
	if err == nil {
		request.Header = r.headers.Clone()
	}
	return request, err
}

func retryAfterSeconds(resp *http.Response) (int, bool) {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return seconds, err == nil
}

// release reads a little of an answer, and closes it.
func release(resp *http.Response) {
	if resp == nil {
		return
	}
	defer resp.Body.Close()
	if resp.ContentLength <= 2<<10 {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 2<<10))
	}
}
