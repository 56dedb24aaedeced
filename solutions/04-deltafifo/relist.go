package deltafifo

// This file is what the queue does when it hears of all objects at once. Replace: the Reflector has listed, at the
// start or because its watch broke, and now it has to be found out what was missed. Resync: nothing has happened, and
// the consumer wants to look at everything again. Both compare with the known objects, which delta_fifo.go hardly
// needs.
//
//workshop:file task 3

import (
	"k8s.io/client-go/tools/cache"
)

// Replace records that the objects of list, and no others, exist: first a delta for each of them, in the order of the
// list, then a deletion for each key that is pending or known and not in the list, in any order. All of that happens
// under one hold of the lock.
//
// The type of the first ones is Replaced, or Sync if the options do not ask for EmitDeltaTypeReplaced; either way the
// objects go through the transformer. The object of a deletion is a cache.DeletedFinalStateUnknown, because nobody has
// seen the object go. It carries the newest object that is known of: that of the last pending delta, or else the one in
// the known objects, or nil if they cannot find it. If the last pending delta is a tombstone itself, it is that one's
// object: a tombstone never holds a tombstone.
//
// An object without a key is a cache.KeyError; an error of the transformer is returned too. A Replace that failed was
// not the first list. The version is the Reflector's, and not used. Mirrors cache.DeltaFIFO.Replace.
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

// transformAll is what the transformer makes of each object, in a new slice, because the caller's is not ours to
// change.
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

// recordTombstones records a deletion for each key that is pending or known, but not listed. The caller holds the lock.
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

// recordTombstone records that an object was deleted unseen. The caller holds the lock.
func (q *DeltaFIFO) recordTombstone(key string, last any) {
	q.enqueue(key, cache.Delta{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: key, Obj: last}})
}

// Resync records a Sync of every known object that has no pending deltas, in any order. An object that has some is left
// out: the consumer will hear of it anyway, and of something newer than what it knows. The objects do not go through
// the transformer, because they have already. A known object that cannot be found is left out as well. Without known
// objects (nil) it does nothing. The error is always nil (client-go's is not, if a known object has no key). Mirrors
// cache.DeltaFIFO.Resync.
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
