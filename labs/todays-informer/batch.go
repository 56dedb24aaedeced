package todaysinformer

// This file applies many changes at once. Each write of a store takes its lock; while many goroutines read, each write
// waits for all of them. A batch waits once. It mirrors cache.processDeltasInBatch.

import (
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// ProcessDeltasInBatch applies deltas of different objects to the store and reports each change to the handler, the
// oldest first. The deltas are of the types Added, Updated, Replaced, Sync and Deleted. Otherwise ProcessDeltasInBatch
// returns an error, and nothing has changed.
//
// If the store is a cache.TransactionStore, the whole batch is one Transaction. The store changes first, then the
// handler is called: at its first call it finds the whole batch in the store. If the transaction fails for some objects
// (an object without a key, for example), the handler receives the successful changes only, and ProcessDeltasInBatch
// returns the error.
//
// A store without transactions receives one change after another, as in ProcessDeltas. An error of one object does not
// keep the others from the store. ProcessDeltasInBatch returns the errors of all objects.
//
// The store decides whether an object is an addition or an update. Only additions have isInInitialList.
//
// It mirrors cache.processDeltasInBatch.
func ProcessDeltasInBatch(
	handler cache.ResourceEventHandler, store cache.Store, deltas []cache.Delta, isInInitialList bool,
) error {
	panic(todo.Task(3, "ProcessDeltasInBatch"))
}

// batchable reports whether a delta is about one object, and not about the whole store.
func batchable(d cache.Delta) bool {
	switch d.Type {
	case cache.Added, cache.Updated, cache.Replaced, cache.Sync, cache.Deleted:
		return true
	default:
		return false
	}
}
