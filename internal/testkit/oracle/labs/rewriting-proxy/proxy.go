// Package rewritingproxy puts client-go under the proxy, in the place of the learner's layers: its frame reader splits
// the watches. client-go has no rewriting proxy, so the proxy itself is the solution's. If it fails a test here, the
// test needs more of a frame reader than its contract promises.
package rewritingproxy

import (
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	solution "client-go-workshop/labs/solutions/rewriting-proxy"
)

type (
	Config = solution.Config
	Proxy  = solution.Proxy
	View   = solution.View
)

// New returns a proxy on client-go's frame reader, whatever config has.
func New(config Config) (*Proxy, error) {
	if config.NewFrameReader != nil {
		config.NewFrameReader = serializer.Framer.NewFrameReader
	}
	return solution.New(config)
}
