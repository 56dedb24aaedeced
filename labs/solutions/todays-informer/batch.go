package todaysinformer

// This file applies many changes at once. Each write of a store takes its lock; while many goroutines read, each write
// waits for all of them. A batch waits once. It mirrors cache.processDeltasInBatch.

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/cache"
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
//
//workshop:task 3
func ProcessDeltasInBatch(
	handler cache.ResourceEventHandler, store cache.Store, deltas []cache.Delta, isInInitialList bool,
) error {
	for _, d := range deltas {
		if !batchable(d) {
			return fmt.Errorf("process a batch: a delta of type %s must be processed alone", d.Type)
		}
	}
	if transactional, ok := store.(cache.TransactionStore); ok {
		return processTransaction(handler, store, transactional, deltas, isInInitialList)
	}
	var errs []error
	for _, d := range deltas {
		if err := processDelta(handler, store, d, isInInitialList); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
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

// processTransaction applies a batch as one transaction.
//
//workshop:omit
func processTransaction(handler cache.ResourceEventHandler, store cache.Store, transactional cache.TransactionStore,
	deltas []cache.Delta, isInInitialList bool,
) error {
	writes := make([]cache.Transaction, len(deltas))
	before := make([]any, len(deltas)) // of the updates
	for i, d := range deltas {
		writes[i] = cache.Transaction{Type: cache.TransactionTypeDelete, Object: d.Object}
		if d.Type == cache.Deleted {
			continue
		}
		old, exists, err := store.Get(d.Object)
		writes[i].Type = cache.TransactionTypeAdd
		if err == nil && exists { // if the object has no key, the transaction fails for it
			writes[i].Type, before[i] = cache.TransactionTypeUpdate, old
		}
	}
	notify := func(i int) {
		switch obj := writes[i].Object; writes[i].Type {
		case cache.TransactionTypeDelete:
			handler.OnDelete(obj)
		case cache.TransactionTypeUpdate:
			handler.OnUpdate(before[i], obj)
		default:
			handler.OnAdd(obj, isInInitialList)
		}
	}
	if failed := transactional.Transaction(writes...); failed != nil {
		for _, i := range failed.SuccessfulIndices {
			notify(i)
		}
		return fmt.Errorf("store a batch of %d objects: %w", len(deltas), failed)
	}
	for i := range writes {
		notify(i)
	}
	return nil
}
