package deltafifo

// This file has the methods for all objects at once. The Reflector calls Replace after each list: the first one, and
// one after each broken watch that it cannot resume. It calls Resync when the consumer wants to process every object
// again. Both compare with the known objects.

import (
	"k8s.io/client-go/tools/cache"
)

// Replace records that the objects of list exist, and no others. Replace first records a delta for each object, in the
// order of the list, even for two objects of one key. Replace then records a deletion for each key that is pending or
// known but not in the list, in any order. A pending deletion does not hide an object of the list. Replace is one step:
// no other call takes effect in the middle of it.
//
// The deltas of listed objects have the type Replaced, or Sync if the options do not ask for EmitDeltaTypeReplaced.
// With either type the objects go through the transformer. Replace changes neither the list nor its objects. The object
// of a deletion is a cache.DeletedFinalStateUnknown with the key and the newest object: that of the last pending delta,
// or otherwise the known one. If the known object cannot be found, the tombstone carries nil. A tombstone never holds a
// tombstone. Without known objects (nil) only pending keys are compared with the list.
//
// If an object of the list has no key, the error is a cache.KeyError that carries the object and wraps the key
// function's error. Replace returns an error of the transformer. A Replace that fails is not the first list. The
// version is not used. Mirrors cache.DeltaFIFO.Replace.
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
	if !q.populated {
		for e := q.first; e != nil; e = e.next {
			e.listed = true
		}
	}
	q.begin(len(q.entries))
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
	for e := q.first; e != nil; e = e.next { // enqueue does not make it longer: each key is in it already
		if !listed[e.key] {
			last := e.deltas.Newest().Object
			if tombstone, ok := last.(cache.DeletedFinalStateUnknown); ok {
				last = tombstone.Obj
			}
			q.recordTombstone(e.key, last)
		}
	}
	if q.known == nil {
		return
	}
	for _, key := range q.known.ListKeys() {
		if listed[key] || q.entries[key] != nil {
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
// itself, which does not go through the transformer again. A known object that cannot be found is left out, and Resync
// returns nil. Without known objects (nil) Resync does nothing. A Resync is not an event: HasSynced does not become
// true. (client-go's returns an error if a known object has no key.) Mirrors cache.DeltaFIFO.Resync.
func (q *DeltaFIFO) Resync() error {
	if q.known == nil {
		return nil
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	for _, key := range q.known.ListKeys() {
		if q.entries[key] != nil {
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
