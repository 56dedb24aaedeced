// Package processdeltas names three functions of client-go that are not exported: those that apply the items of an
// informer's queue to its store. The oracle of the lab todays-informer needs them. An informer of client-go takes no
// foreign store, so the lab's tests of a store that fails cannot reach them otherwise.
//
// The linker connects the names. If client-go renames a function, a program with this package does not link; if it
// changes the parameters, the lab's tests over client-go fail.
package processdeltas

import (
	_ "unsafe" // for go:linkname

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// One is cache.processDeltas.
//
//go:linkname One k8s.io/client-go/tools/cache.processDeltas
func One(logger klog.Logger, handler cache.ResourceEventHandler, store cache.Store, deltas cache.Deltas,
	isInInitialList bool, keyFunc cache.KeyFunc) error

// Batch is cache.processDeltasInBatch.
//
//go:linkname Batch k8s.io/client-go/tools/cache.processDeltasInBatch
func Batch(logger klog.Logger, handler cache.ResourceEventHandler, store cache.Store, deltas []cache.Delta,
	isInInitialList bool, keyFunc cache.KeyFunc) error

// ReplacedAll is cache.processReplacedAllInfo.
//
//go:linkname ReplacedAll k8s.io/client-go/tools/cache.processReplacedAllInfo
func ReplacedAll(logger klog.Logger, handler cache.ResourceEventHandler, list cache.ReplacedAllInfo, store cache.Store,
	isInInitialList bool, keyFunc cache.KeyFunc) error
