// Package rewritingproxy is the lab as one httputil.ReverseProxy with hooks. The solution writes its answers itself, so
// it can send events together that have come together, and has each step of an answer in its own code. Here the
// standard library copies, flushes and breaks off: Rewrite puts the request of Request in place, ModifyResponse
// replaces the body, and an error of ModifyResponse reaches ErrorHandler before anything is sent. It flushes after each
// Read of the body, so the body of a watch returns one event for each Read.
package rewritingproxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Config is what a Proxy is made from.
type Config struct {
	Upstream       *url.URL
	Transport      http.RoundTripper
	NewFrameReader func(body io.ReadCloser) io.ReadCloser
	View           View
}

// Proxy is an http.Handler.
type Proxy struct {
	config          Config
	pass, rewriting *httputil.ReverseProxy
}

var errConfig = errors.New("make a proxy: it needs Upstream, Transport and NewFrameReader, and a Factor of 1 or more")

// exchange is what the hooks know of a request. It is a value of the request's context.
type exchange struct {
	out    *http.Request
	target target
}

func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchange{}).(*exchange) }

// New returns a proxy.
func New(config Config) (*Proxy, error) {
	if config.Upstream == nil || config.Transport == nil || config.NewFrameReader == nil || config.View.Factor < 1 {
		return nil, errConfig
	}
	p := &Proxy{config: config}
	p.pass = &httputil.ReverseProxy{
		Transport: config.Transport, ErrorHandler: failed,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(config.Upstream)
			r.SetXForwarded()
			removeIdentity(r.Out.Header)
		},
	}
	p.rewriting = &httputil.ReverseProxy{
		Transport: config.Transport, ErrorHandler: failed, ModifyResponse: p.modify,
		ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			made := exchangeOf(r.In).out
			r.Out.URL, r.Out.Host, r.Out.Header = made.URL, made.Host, made.Header
			r.Out.Body, r.Out.GetBody, r.Out.ContentLength = made.Body, made.GetBody, made.ContentLength
		},
	}
	return p, nil
}

// ServeHTTP answers a request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, ok := targetOf(r)
	if !ok {
		p.pass.ServeHTTP(w, r)
		return
	}
	out, err := p.Request(r)
	if err == nil && t.name != "" && (r.Method != http.MethodGet || t.subresource != "") {
		err = p.checkVisible(out, t)
	}
	if err != nil {
		writeError(w, err)
		return
	}
	ctx := context.WithValue(r.Context(), exchange{}, &exchange{out, t})
	p.rewriting.ServeHTTP(w, r.WithContext(ctx))
}

// failed answers with an error of the proxy, or of the connection to the API server.
func failed(w http.ResponseWriter, _ *http.Request, err error) {
	if known := apierrors.APIStatus(nil); !errors.As(err, &known) {
		err = badGateway("send the request to the API server: %w", err)
	}
	writeError(w, err)
}
