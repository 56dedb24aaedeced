package todaysinformer

// This file replaces the content of the store by a list. A queue with atomic events does not know the store, so it
// cannot find the objects that a list no longer has. The consumer finds them here. It mirrors the second half of
// client-go's tools/cache/controller.go.

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// ReplaceAll makes a list the whole content of the store, and reports each difference to the handler. For readers of
// the store ReplaceAll is one step: they see the old content or the new one, and never half a list. The store's version
// becomes that of the list. The store changes first, then the handler is called: it finds the whole list in the store.
//
// A stored object that the list does not have is a deletion. The handler receives a tombstone with the key and the
// stored object. An object whose key the store has is an update, from the stored object to the listed one, even if
// nothing changed. Every other object is an addition, with isInInitialList. Deletions come first, in any order;
// additions and updates follow in the order of the list.
//
// If an object of the list has no key, the error is a cache.KeyError that carries the object. If the store refuses the
// list, ReplaceAll returns the error. After an error the store is the same as before, and the handler receives nothing.
//
// ReplaceAll does not change the objects or the list.
//
// It mirrors cache.processReplacedAllInfo.
//
//workshop:task 1
func ReplaceAll(
	handler cache.ResourceEventHandler, store cache.Store, list cache.ReplacedAllInfo, isInInitialList bool,
) error {
	missing := sets.New(store.ListKeys()...)
	before := make([]any, len(list.Objects)) // nil if the object is an addition
	for i, obj := range list.Objects {
		key, err := keyOf(obj)
		if err != nil {
			return cache.KeyError{Obj: obj, Err: err}
		}
		missing.Delete(key)
		if before[i], err = stored(store, key); err != nil {
			return err
		}
	}
	tombstones := make([]cache.DeletedFinalStateUnknown, 0, len(missing))
	for key := range missing {
		last, err := stored(store, key)
		if err != nil {
			return err
		}
		tombstones = append(tombstones, cache.DeletedFinalStateUnknown{Key: key, Obj: last})
	}

	if err := store.Replace(list.Objects, list.ResourceVersion); err != nil {
		return fmt.Errorf("replace the content of the store by a list: %w", err)
	}
	for _, tombstone := range tombstones {
		handler.OnDelete(tombstone)
	}
	for i, obj := range list.Objects {
		if before[i] != nil {
			handler.OnUpdate(before[i], obj)
		} else {
			handler.OnAdd(obj, isInInitialList)
		}
	}
	return nil
}

// stored returns the stored object, nil if there is none.
//
//workshop:omit
func stored(store cache.Store, key string) (any, error) {
	obj, exists, err := store.GetByKey(key)
	if err != nil {
		return nil, fmt.Errorf("look for %s in the store: %w", key, err)
	}
	if !exists {
		return nil, nil
	}
	return obj, nil
}
