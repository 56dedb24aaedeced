package deltafifo

// This file has the methods for all objects at once.

import (
	"maps"

	"k8s.io/client-go/tools/cache"
)

// Replace records that the objects of list exist, and no others. It transforms the list before it takes the lock.
func (q *DeltaFIFO) Replace(list []any, _ string) error {
	keys, objs := make([]string, len(list)), make([]any, len(list))
	listed := make(map[string]bool, len(list))
	for i, obj := range list {
		var err error
		if keys[i], objs[i], err = q.arrive(obj); err != nil {
			return err
		}
		listed[keys[i]] = true
	}
	change := cache.Sync
	if q.opts.EmitDeltaTypeReplaced {
		change = cache.Replaced
	}
	q.acquire()
	defer q.release()
	gone := q.unlisted(listed)
	for i, key := range keys {
		q.enqueue(key, cache.Delta{Type: change, Object: objs[i]})
	}
	for key, obj := range gone {
		q.enqueue(key, cache.Delta{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: key, Obj: obj}})
	}
	q.begin(false)
	return nil
}

// unlisted returns the newest object of each key that is pending or known but not listed. The caller holds the lock.
func (q *DeltaFIFO) unlisted(listed map[string]bool) map[string]any {
	gone := q.idle(func(key string) bool { return !listed[key] })
	for key := range q.byKey {
		if listed[key] {
			continue
		}
		gone[key] = q.deltas(key).Newest().Object
		if tombstone, ok := gone[key].(cache.DeletedFinalStateUnknown); ok {
			gone[key] = tombstone.Obj
		}
	}
	return gone
}

// idle returns the known objects without pending deltas, with nil for those that cannot be found. The caller holds the
// lock.
func (q *DeltaFIFO) idle(wanted func(key string) bool) map[string]any {
	objs := map[string]any{}
	if q.opts.KnownObjects == nil {
		return objs
	}
	for _, key := range q.opts.KnownObjects.ListKeys() {
		if q.deltas(key) == nil && wanted(key) {
			obj, exists, err := q.opts.KnownObjects.GetByKey(key)
			if err != nil || !exists {
				obj = nil
			}
			objs[key] = obj
		}
	}
	return objs
}

// Resync records a Sync for every known object without pending deltas.
func (q *DeltaFIFO) Resync() error {
	q.acquire()
	defer q.release()
	objs := q.idle(func(string) bool { return true })
	maps.DeleteFunc(objs, func(_ string, obj any) bool { return obj == nil })
	for key, obj := range objs {
		q.enqueue(key, cache.Delta{Type: cache.Sync, Object: obj})
	}
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
