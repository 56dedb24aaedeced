// Package reflector puts client-go behind the names of chapter 03, so that the chapter's tests run over the real thing.
// It only names things. If client-go fails a test, the test is wrong.
package reflector

import (
	"time"

	"k8s.io/client-go/tools/cache"
)

type Reflector = cache.Reflector

func NewReflector(lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore,
	resyncPeriod time.Duration) *Reflector {
	return cache.NewReflector(lw, expectedType, store, resyncPeriod)
}

func NewReflectorWithOptions(lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore,
	options cache.ReflectorOptions) *Reflector {
	return cache.NewReflectorWithOptions(lw, expectedType, store, options)
}
