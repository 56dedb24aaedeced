// Package rewritingproxy is a lab of the workshop: an HTTP proxy between Kubernetes clients and an API server that
// changes Deployments on the way. A client sees spec.replicas multiplied, and does not see objects with a label.
//
//	client ──▶ [ request ──▶ ] API server
//	       ◀── [ ◀── answer, or event by event ◀── frames ] ◀──
//
// The files, in the order in which a request passes through them:
//
//   - proxy.go, this one: sends a request on, and answers with what came back.
//   - target.go: finds out whether a request is about Deployments. All others pass as they are. It is given.
//   - request.go: makes the request for the API server.
//   - write.go: translates the body of a write.
//   - answer.go: rewrites an answer: an object, a list, or a Table.
//   - watch.go: rewrites a watch, event by event. frames.go, which is given, reads the events.
//   - view.go: rewrites one object. field.go, which is given, finds its fields.
//   - status.go: the errors of the proxy, as a Status. It is given.
//
// This package leaves out: bodies in protobuf, CBOR and YAML, which it refuses; other resources that show the same
// number, such as ReplicaSets; and who may use the proxy.
package rewritingproxy

import (
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Config is what a Proxy is made from.
type Config struct {
	// Upstream is the URL of the API server.
	Upstream *url.URL
	// Transport sends requests to the API server, with the credentials of the proxy.
	Transport http.RoundTripper
	// NewFrameReader is that of chapter 02: it splits the body of a watch into frames, and owns the body.
	NewFrameReader func(body io.ReadCloser) io.ReadCloser
	View           View
}

// Proxy is an http.Handler. Any goroutine may call its methods.
type Proxy struct {
	config Config
	// pass answers requests that are not about Deployments.
	pass *httputil.ReverseProxy
}

var errConfig = errors.New("make a proxy: it needs Upstream, Transport and NewFrameReader, and a Factor of 1 or more")

// New returns a proxy.
func New(config Config) (*Proxy, error) {
	if config.Upstream == nil || config.Transport == nil || config.NewFrameReader == nil || config.View.Factor < 1 {
		return nil, errConfig
	}
	return &Proxy{config: config, pass: &httputil.ReverseProxy{
		Transport: config.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(config.Upstream)
			r.SetXForwarded()
			removeIdentity(r.Out.Header)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			writeError(w, badGateway("send the request to the API server: %w", err))
		},
	}}, nil
}

// ServeHTTP answers a request. It implements http.Handler. A request that is not about Deployments passes as it is, and
// so does its answer, in any encoding.
//
// An answer with Deployments is rewritten: one object, a list or a page of it, and a Table. In a Table, the objects of
// the rows are rewritten, and the number behind the slash in the column Ready. In the Table of a Scale, the number is
// the cell in the column Desired. Without these columns, the cells stay as they are. The version of a list, its
// continue token and the number of remaining items stay as they are. The answer to a write is rewritten too. An error
// of the API server passes as it is, and so does a Status of success. A redirect passes too.
//
// A GET of a hidden object is answered with 404, as if there were no such object. The answer keeps the code and the
// headers of the API server, but for those that describe the old body or belong to the connection. An answer that the
// proxy cannot rewrite is not passed on: the client receives a 502. If the API server cannot be reached, or breaks off,
// the client receives a 502. Each answer of the proxy itself is a Status in JSON. ServeHTTP closes the body of each
// answer of the API server.
//
//workshop:task 3
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, ok := targetOf(r)
	if !ok {
		p.pass.ServeHTTP(w, r)
		return
	}
	if err := p.serve(w, r, t); err != nil {
		writeError(w, err)
	}
}

// serve answers a request for Deployments. If it returns an error, it has sent nothing.
//
//workshop:omit
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, t target) error {
	out, err := p.Request(r)
	if err != nil {
		return err
	}
	if t.name != "" && (r.Method != http.MethodGet || t.subresource != "") {
		if err := p.checkVisible(out, t); err != nil {
			return err
		}
	}
	resp, err := p.config.Transport.RoundTrip(out)
	if err != nil {
		return badGateway("send the request to the API server: %w", err)
	}
	defer resp.Body.Close()
	removeHopByHop(resp.Header)
	if t.watch && resp.StatusCode == http.StatusOK {
		return p.watch(w, resp)
	}
	return p.answer(w, resp, t)
}
