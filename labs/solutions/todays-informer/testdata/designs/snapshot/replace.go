package todaysinformer

// This design compares two maps. It takes a snapshot of the store, changes the store, and then compares the snapshot
// with the list. It is correct because only the consumer writes to the store, so nothing changes between the snapshot
// and Replace. It needs more memory than the solution, and no calls of GetByKey.
//
// Both functions collect events first, and emit them after the store has changed.

import (
	"fmt"

	"k8s.io/client-go/tools/cache"
)

// event is one call of the handler: an addition has no old object, and a deletion no new one.
type event struct{ old, new any }

// emit calls the handler.
func (e event) emit(handler cache.ResourceEventHandler, isInInitialList bool) {
	switch {
	case e.new == nil:
		handler.OnDelete(e.old)
	case e.old == nil:
		handler.OnAdd(e.new, isInInitialList)
	default:
		handler.OnUpdate(e.old, e.new)
	}
}

func ReplaceAll(
	handler cache.ResourceEventHandler, store cache.Store, list cache.ReplacedAllInfo, isInInitialList bool,
) error {
	before, err := byKey(store.List())
	if err != nil {
		return err
	}
	after, err := byKey(list.Objects)
	if err != nil {
		return err
	}
	if err := store.Replace(list.Objects, list.ResourceVersion); err != nil {
		return fmt.Errorf("replace the content of the store by a list: %w", err)
	}
	for key, obj := range before {
		if _, listed := after[key]; !listed {
			event{old: cache.DeletedFinalStateUnknown{Key: key, Obj: obj}}.emit(handler, isInInitialList)
		}
	}
	for _, obj := range list.Objects {
		key, _ := keyOf(obj) // it had one above
		event{old: before[key], new: obj}.emit(handler, isInInitialList)
	}
	return nil
}

// byKey returns objects by their keys.
func byKey(objects []any) (map[string]any, error) {
	found := make(map[string]any, len(objects))
	for _, obj := range objects {
		key, err := keyOf(obj)
		if err != nil {
			return nil, cache.KeyError{Obj: obj, Err: err}
		}
		found[key] = obj
	}
	return found, nil
}
