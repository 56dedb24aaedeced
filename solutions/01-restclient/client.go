// Package restclient sends Go objects to an API server and decodes its answers.
//
//	your code ──▶ typed client ──▶ [ Request ──▶ HTTP ──▶ Result ] ──▶ object, or a Status as an error
//
// The files, in the order in which a request passes through them:
//
//   - deployments.go: the typed client, which maps operations on a kind to requests.
//   - client.go: the state that all requests of a client share. It is given.
//   - request.go: the builder, from verbs and names to a URL.
//   - send.go: one request, with its retries.
//   - result.go: an answer, as an object or an error.
//   - stream.go: answers that are read while they arrive.
//   - scheme.go, decode.go: the types, and how to encode and decode them. They are given.
//
// The config is client-go's own rest.Config. rest.HTTPClientFor makes an http.Client from it, with its TLS settings and
// tokens. The package leaves out metrics, warnings, logging, the back-off by URL that two environment variables enable,
// and the fallback to JSON for a server that does not support a content type.
package restclient

// This file is given. It has the state that all requests of a client share: the http.Client, the limiter, the encoding.
// It mirrors client-go's rest/client.go.

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

// RESTClient makes requests to one group and version of an API server. Any number of goroutines may use it. It mirrors
// rest.RESTClient.
type RESTClient struct {
	// base is the server's URL with the path of its host, without the group and version.
	base *url.URL
	// prefix is the beginning of every request's path: the path of base, then /api/v1 or /apis/apps/v1.
	prefix string
	// content encodes and decodes objects.
	content content
	// limiter limits the rate of requests. It may be nil.
	limiter flowcontrol.RateLimiter
	// http sends requests. All clients with the same config share its transport, and so its connections.
	http *http.Client

	// NewWatcher decodes the body of a watch, and owns the body from then on. If it is nil, apimachinery's
	// watch.StreamWatcher decodes it. Chapter 02 sets another one. Client-go does not have this field.
	NewWatcher func(body io.ReadCloser, mediaType string) (watch.Interface, error)
}

// RESTClientFor returns a client for the group and version in config.GroupVersion, under config.APIPath. It encodes and
// decodes objects with config.NegotiatedSerializer. Without a RateLimiter, the client makes config.QPS requests a
// second, and config.Burst at once; the defaults are 5 and 10. A negative QPS means no limit.
//
// It mirrors rest.RESTClientFor.
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

// Verb starts a request with any HTTP method. It mirrors rest.RESTClient.Verb.
func (c *RESTClient) Verb(verb string) *Request {
	r := &Request{client: c, verb: verb, headers: http.Header{}, timeout: c.http.Timeout, maxRetries: defaultRetries}
	r.headers.Set("Accept", c.content.accept)
	return r
}

// Get starts a GET request. It mirrors rest.RESTClient.Get.
func (c *RESTClient) Get() *Request { return c.Verb("GET") }

// Post starts a POST request. It mirrors rest.RESTClient.Post.
func (c *RESTClient) Post() *Request { return c.Verb("POST") }

// Put starts a PUT request. It mirrors rest.RESTClient.Put.
func (c *RESTClient) Put() *Request { return c.Verb("PUT") }

// Delete starts a DELETE request. It mirrors rest.RESTClient.Delete.
func (c *RESTClient) Delete() *Request { return c.Verb("DELETE") }

// Patch starts a PATCH request. The type of the patch is the content type of its body. It mirrors
// rest.RESTClient.Patch.
func (c *RESTClient) Patch(pt types.PatchType) *Request {
	r := c.Verb("PATCH")
	r.headers.Set("Content-Type", string(pt))
	return r
}
