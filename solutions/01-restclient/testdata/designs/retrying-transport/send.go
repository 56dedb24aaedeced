package restclient

// Another correct design: the retries are in an http.RoundTripper, below http.Client.
//
//	Do, Stream, Watch ──▶ http.Client ──▶ [ retries ──▶ the config's transport ]
//
// http.Client sees one request and the last answer. It adds the URL to the last error, and nothing else knows how many
// tries there were. It is correct because each try is a clone with a reader of its own (http.Request.GetBody), because a
// RoundTripper gets the context with the request, and because each request has a transport of its own: nothing is shared
// but the connections below.
//
// It differs in send.go and stream.go.

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

func (r *Request) Do(ctx context.Context) Result {
	if err := r.check(); err != nil {
		return Result{err: err}
	}
	if err := r.throttle(ctx); err != nil {
		return Result{err: err}
	}
	if r.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		ctx = limited
	}
	out := r.open(ctx, func(err error) bool {
		return r.verb == "GET" &&
			(utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err))
	})
	if out.err != nil {
		return Result{err: out.explain(out.err)}
	}
	defer drain(out.resp)
	return r.read(out.resp)
}

func (r *Request) DoRaw(ctx context.Context) ([]byte, error) { return r.Do(ctx).Raw() }

func (r *Request) check() error {
	if r.err != nil {
		return r.err
	}
	if !r.namespaceSet || r.namespace != "" {
		return nil
	}
	named := r.name != "" && (r.verb == "GET" || r.verb == "PUT" || r.verb == "DELETE")
	if r.verb == "POST" || named {
		return fmt.Errorf("%s needs a namespace", r.verb)
	}
	return nil
}

func (r *Request) throttle(ctx context.Context) error {
	if r.client.limiter == nil {
		return nil
	}
	err := r.client.limiter.Wait(ctx)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("client rate limiter Wait returned an error: %w", err)
	}
	return err
}

// outcome is the last answer or the last error, and the error of an earlier try.
type outcome struct {
	resp         *http.Response
	err, earlier error
}

// explain adds the earlier error to the last one.
func (o outcome) explain(err error) error {
	last := err
	var request *url.Error
	if errors.As(err, &request) {
		last = request.Err
	}
	if o.earlier == nil || o.earlier.Error() == last.Error() {
		return err
	}
	return fmt.Errorf("%w - error from a previous attempt: %s", err, o.earlier)
}

// open sends the request through a transport of its own.
func (r *Request) open(ctx context.Context, harmless func(error) bool) outcome {
	if ctx.Err() != nil {
		return outcome{err: ctx.Err()}
	}
	body := r.body
	if r.bytes != nil {
		body = bytes.NewReader(r.bytes)
	}
	request, err := http.NewRequestWithContext(ctx, r.verb, r.URL().String(), body)
	if err != nil {
		return outcome{err: err}
	}
	request.Header = r.headers.Clone()
	t := &retries{Request: r, next: r.client.http.Transport, harmless: harmless}
	if t.next == nil {
		t.next = http.DefaultTransport
	}
	client := *r.client.http
	client.Transport = t
	resp, err := client.Do(request)
	return outcome{resp, err, t.earlier}
}

// retries is the transport of one request.
type retries struct {
	*Request
	next     http.RoundTripper
	harmless func(error) bool
	earlier  error
}

// RoundTrip implements http.RoundTripper.
func (t *retries) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	for left := t.maxRetries; ; left-- {
		resp, err := t.next.RoundTrip(request)
		wait, again := t.after(resp, err)
		if !again || left == 0 || t.body != nil {
			return resp, err
		}
		if err != nil {
			t.earlier = err
		} else {
			drain(resp)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := t.throttle(ctx); err != nil {
			return nil, err
		}
		if request, err = clone(request); err != nil {
			return nil, err
		}
	}
}

// clone returns the request with an unread body.
func clone(request *http.Request) (*http.Request, error) {
	next := request.Clone(request.Context())
	if request.GetBody == nil {
		return next, nil
	}
	body, err := request.GetBody()
	next.Body = body
	return next, err
}

// after reports whether another try is due, and when.
func (t *retries) after(resp *http.Response, err error) (time.Duration, bool) {
	if err != nil {
		return time.Second, t.harmless(err)
	}
	seconds, ok := retryAfterSeconds(resp)
	busy := resp.StatusCode == 429 || resp.StatusCode >= 500
	return time.Duration(max(seconds, 0)) * time.Second, ok && busy
}

func retryAfterSeconds(resp *http.Response) (int, bool) {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return seconds, err == nil
}

// drain reads a little of a body, so that its connection can be used again, and closes it.
func drain(resp *http.Response) {
	if resp.ContentLength <= 2048 {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 2048))
	}
	resp.Body.Close()
}
