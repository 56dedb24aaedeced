package deltafifo

// This file has the methods for all objects at once. The Reflector calls Replace after each list: the first one, and
// one after each broken watch that it cannot resume. It calls Resync when the consumer wants to process every object
// again. Both compare with the known objects. Only what is exported is fixed; the rest is our choice.
//
//workshop:file task 3

import (
	"k8s.io/client-go/tools/cache"
)

// Replace records that the objects of list exist, and no others. It is one step: no other call takes effect in the
// middle of it. It changes neither the list nor its objects. The version is not used.
//
// Replace first records a delta for each object, in the order of the list, even for two objects of one key. The deltas
// of listed objects have the type Replaced, or Sync if the options do not ask for EmitDeltaTypeReplaced. With either
// type the objects go through the transformer. A pending deletion does not hide an object of the list.
//
// Replace then records a deletion for each key that is pending or known but not in the list, in any order. Without
// known objects (nil) only pending keys are compared with the list. The object of a deletion is a
// cache.DeletedFinalStateUnknown with the key and the newest object: that of the last pending delta, or otherwise the
// known one. If the known object cannot be found, the tombstone carries nil. A tombstone never holds a tombstone.
//
// If an object of the list has no key, the error is a cache.KeyError that carries the object and wraps the key
// function's error. Replace returns an error of the transformer. A Replace that fails leaves nothing in the queue, and
// is not the first list. (client-go's queues the objects before the one that fails.)
//
// Replace mirrors cache.DeltaFIFO.Replace.
func (q *DeltaFIFO) Replace(list []any, _ string) error {
	keys := make([]string, len(list))
	listed := make(map[string]bool, len(list))
	for i, obj := range list {
		key, err := q.KeyOf(obj)
		if err != nil {
			return cache.KeyError{Obj: obj, Err: err}
		}
		keys[i], listed[key] = key, true
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	list, err := transformAll(q.transformer, list) // all before the first one is queued: it may fail
	if err != nil {
		return err
	}
	for i, obj := range list {
		q.enqueue(keys[i], cache.Delta{Type: q.replaced, Object: obj})
	}
	q.recordTombstones(listed)
	q.begin(len(q.queue))
	return nil
}

// transformAll returns the transformed objects in a new slice, because list belongs to the caller of Replace.
func transformAll(transformer cache.TransformFunc, list []any) ([]any, error) {
	if transformer == nil {
		return list, nil
	}
	transformed := make([]any, len(list))
	for i, obj := range list {
		var err error
		if transformed[i], err = transform(transformer, obj); err != nil {
			return nil, err
		}
	}
	return transformed, nil
}

// recordTombstones records a deletion for each key that is pending or known but not listed. The caller holds the lock.
func (q *DeltaFIFO) recordTombstones(listed map[string]bool) {
	for _, key := range q.queue { // enqueue does not make it longer: each key is in it already
		if !listed[key] {
			last := q.items[key].Newest().Object
			if tombstone, ok := last.(cache.DeletedFinalStateUnknown); ok {
				last = tombstone.Obj
			}
			q.recordTombstone(key, last)
		}
	}
	if q.known == nil {
		return
	}
	for _, key := range q.known.ListKeys() {
		if listed[key] || len(q.items[key]) > 0 {
			continue
		}
		obj, exists, err := q.known.GetByKey(key)
		if err != nil || !exists {
			q.logger.Info("A known object that was deleted cannot be found, its tombstone is empty", "key", key, "err", err)
			obj = nil
		}
		q.recordTombstone(key, obj)
	}
}

// recordTombstone records a deletion of which no event came. The caller holds the lock.
func (q *DeltaFIFO) recordTombstone(key string, last any) {
	q.enqueue(key, cache.Delta{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: key, Obj: last}})
}

// Resync records a Sync for every known object without pending deltas, in any order. The Sync carries the known object
// itself, which does not go through the transformer again. Without known objects (nil) Resync does nothing.
//
// A known object that cannot be found is left out, and Resync returns nil. (client-go's returns an error if a known
// object has no key.) A Resync is not an event: HasSynced does not become true. Resync does a fixed amount of work for
// each key that is pending or known.
//
// It mirrors cache.DeltaFIFO.Resync.
//
//workshop:task 5
func (q *DeltaFIFO) Resync() error {
	if q.known == nil {
		return nil
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	for _, key := range q.known.ListKeys() {
		if len(q.items[key]) > 0 {
			continue
		}
		obj, exists, err := q.known.GetByKey(key)
		if err != nil || !exists {
			q.logger.Info("A known object cannot be found, it is not synced", "key", key, "err", err)
			continue
		}
		q.enqueue(key, cache.Delta{Type: cache.Sync, Object: obj})
	}
	return nil
}
