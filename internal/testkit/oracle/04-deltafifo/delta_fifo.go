// Package deltafifo puts client-go behind the names of chapter 04, so that the chapter's tests run over the real thing.
// It only names things. If client-go fails a test, the test is wrong.
package deltafifo

import "k8s.io/client-go/tools/cache"

type (
	DeltaFIFO = cache.DeltaFIFO
	RealFIFO  = cache.RealFIFO
)

func NewDeltaFIFOWithOptions(opts cache.DeltaFIFOOptions) *DeltaFIFO {
	return cache.NewDeltaFIFOWithOptions(opts)
}

func NewRealFIFOWithOptions(opts cache.RealFIFOOptions) *RealFIFO {
	return cache.NewRealFIFOWithOptions(opts)
}
