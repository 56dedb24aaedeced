package todaysinformer

// This file has batches. It collects one event for each write.

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/tools/cache"
)

func ProcessDeltasInBatch(
	handler cache.ResourceEventHandler, store cache.Store, deltas []cache.Delta, isInInitialList bool,
) error {
	var writes []cache.Transaction
	var events []event
	for _, d := range deltas {
		if !batchable(d) {
			return fmt.Errorf("process a batch: a delta of type %s must be processed alone", d.Type)
		}
		write, e := plan(store, d)
		writes, events = append(writes, write), append(events, e)
	}
	var errs []error
	stored := func(i int) { events[i].emit(handler, isInInitialList) }
	if transactional, ok := store.(cache.TransactionStore); ok {
		failed := transactional.Transaction(writes...)
		if failed == nil {
			failed = &cache.TransactionError{SuccessfulIndices: indices(len(writes))}
		} else {
			errs = append(errs, failed)
		}
		for _, i := range failed.SuccessfulIndices {
			stored(i)
		}
		return errors.Join(errs...)
	}
	for i, w := range writes {
		if err := write(store, w); err != nil {
			errs = append(errs, err)
			continue
		}
		stored(i)
	}
	return errors.Join(errs...)
}

// indices returns 0 to n-1.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// plan returns the write and the event of a delta.
func plan(store cache.Store, d cache.Delta) (cache.Transaction, event) {
	if d.Type == cache.Deleted {
		return cache.Transaction{Type: cache.TransactionTypeDelete, Object: d.Object}, event{old: d.Object}
	}
	if old, exists, err := store.Get(d.Object); err == nil && exists {
		return cache.Transaction{Type: cache.TransactionTypeUpdate, Object: d.Object}, event{old: old, new: d.Object}
	}
	return cache.Transaction{Type: cache.TransactionTypeAdd, Object: d.Object}, event{new: d.Object}
}

// write writes to a store without transactions.
func write(store cache.Store, w cache.Transaction) error {
	switch w.Type {
	case cache.TransactionTypeDelete:
		return store.Delete(w.Object)
	case cache.TransactionTypeUpdate:
		return store.Update(w.Object)
	default:
		return store.Add(w.Object)
	}
}

// batchable reports whether a delta is about one object, and not about the whole store.
func batchable(d cache.Delta) bool {
	types := []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync, cache.Deleted}
	return slices.Contains(types, d.Type)
}
