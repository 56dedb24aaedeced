//go:build yours

package rewritingproxy_test

// With -tags yours the chapters below can be yours. All of them must compile then.

import "client-go-workshop/internal/testkit/layers/yours"

func init() { sets["yours"] = yours.Layers }
