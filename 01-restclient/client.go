// Package restclient is chapter 01 of the workshop: from a Go object to bytes on the wire, and back.
//
//	your code ──▶ typed client ──▶ [ Request ──▶ HTTP ──▶ Result ] ──▶ object, or a Status as an error
//
// The files, in the order in which a request passes through them:
//
//   - deployments.go: the typed client, which knows kinds and knows no HTTP.
//   - client.go, this one: what all requests of a client share. It is given.
//   - request.go: the builder, from verbs and names to a URL.
//   - send.go: one request on its way, tried as often as it may be.
//   - result.go: what the answer means.
//   - stream.go: answers that do not end at once, or never.
//   - scheme.go, decode.go: which types there are, and how bytes become one. They are given.
//
// The config is client-go's own rest.Config, and so are TLS, tokens and kubeconfigs: rest.HTTPClientFor makes an
// http.Client of it. What is left out: metrics, warnings, logging, the back-off by URL that two environment variables
// switch on, and content types that the server turns out not to know.
package restclient

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// RESTClient makes requests to one group and version of an API server. It is for any number of goroutines. Mirrors
// rest.RESTClient.
type RESTClient struct {
	// base is the server's URL, with whatever path its host has, but without the group and version.
	base *url.URL
	// prefix is the path that all requests begin with: that of base, then /api/v1 or /apis/apps/v1.
	prefix string
	// content says how objects are written and read.
	content content
	// limiter is asked before each try. It may be nil.
	limiter flowcontrol.RateLimiter
	// http sends requests. Its transport, and so its connections, are shared by all clients with the same config.
	http *http.Client

	// NewWatcher makes events of the body of a watch, and owns it from then on. If it is nil, apimachinery's
	// watch.StreamWatcher does that. Chapter 02 has another one. Client-go has no such field.
	NewWatcher func(body io.ReadCloser, mediaType string) (watch.Interface, error)
}

// RESTClientFor returns a client for the group and version in config.GroupVersion, under config.APIPath, which writes
// and reads objects by config.NegotiatedSerializer. Without a RateLimiter it makes config.QPS requests a second and
// config.Burst at once, by default 5 and 10; with a negative QPS as many as it can. Mirrors rest.RESTClientFor.
func RESTClientFor(config *rest.Config) (*RESTClient, error) {
	if config.GroupVersion == nil || config.NegotiatedSerializer == nil {
		return nil, fmt.Errorf("make a REST client: the config needs a GroupVersion and a NegotiatedSerializer")
	}
	base, apiPath, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a REST client: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a REST client: %w", err)
	}
	return &RESTClient{
		base:    base,
		prefix:  path.Join("/", base.Path, apiPath),
		content: newContent(config),
		limiter: limiterFor(config),
		http:    client,
	}, nil
}

func limiterFor(config *rest.Config) flowcontrol.RateLimiter {
	qps, burst := config.QPS, config.Burst
	if qps == 0 {
		qps = rest.DefaultQPS
	}
	if burst == 0 {
		burst = rest.DefaultBurst
	}
	if config.RateLimiter != nil || qps < 0 {
		return config.RateLimiter
	}
	return flowcontrol.NewTokenBucketRateLimiter(qps, burst)
}

// Verb begins a request with any HTTP method. Mirrors rest.RESTClient.Verb.
func (c *RESTClient) Verb(verb string) *Request {
	r := &Request{client: c, verb: verb, headers: http.Header{}, timeout: c.http.Timeout, maxRetries: defaultRetries}
	r.headers.Set("Accept", c.content.accept)
	return r
}

// Get starts a request with that method.
func (c *RESTClient) Get() *Request { return c.Verb("GET") }

// Post starts a request with that method.
func (c *RESTClient) Post() *Request { return c.Verb("POST") }

// Put starts a request with that method.
func (c *RESTClient) Put() *Request { return c.Verb("PUT") }

// Delete starts a request with that method.
func (c *RESTClient) Delete() *Request { return c.Verb("DELETE") }

// Patch begins a PATCH; the type of the patch is the content type of its body.
func (c *RESTClient) Patch(pt types.PatchType) *Request {
	r := c.Verb("PATCH")
	r.headers.Set("Content-Type", string(pt))
	return r
}
