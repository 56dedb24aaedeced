// Package todaysinformer is a lab of the workshop: the consumer of client-go's current informer. It joins the RealFIFO
// of chapter 04 and the streamed lists of chapter 03 to the informer of chapter 07.
//
//	Reflector ──▶ RealFIFO ──▶ [ BatchQueue ──▶ ProcessDeltas ] ──▶ Indexer
//	                                                └──▶ handlers
//
// The files, in the order of the tasks:
//
//   - replace.go: a whole list, in one step.
//   - process.go, this one: what one Pop returns.
//   - batch.go: many changes, as one transaction of the store.
//   - queue.go: a queue that hands out many changes at once.
//   - informer.go: the queue and the consumer under the informer of chapter 07.
//
// The package leaves out metrics, traces of slow handlers, and the gates that turn each part off.
package todaysinformer

import (
	"fmt"

	"k8s.io/client-go/tools/cache"
)

// keyOf returns the key under which an informer stores an object or a tombstone.
var keyOf = cache.DeletionHandlingMetaNamespaceKeyFunc

// ProcessDeltas applies deltas to the store and reports each change to the handler, the oldest first. The store changes
// first, then the handler is called: it finds each change in the store. If a delta cannot be applied, ProcessDeltas
// returns an error, and the handler does not receive the change.
//
// A ReplacedAll is a list, as in ReplaceAll. A SyncAll is an update of each stored object to itself, and does not write
// to the store. A Bookmark sets the version of the store, and the handler receives nothing. A Deleted removes the
// object, and the handler receives the object of the delta. For all other types the store decides whether an object is
// an addition or an update. Only additions have isInInitialList.
//
// If the object of a ReplacedAll, SyncAll or Bookmark has the wrong type, ProcessDeltas returns an error.
//
// It mirrors cache.processDeltas.
//
//workshop:task 2
func ProcessDeltas(
	handler cache.ResourceEventHandler, store cache.Store, deltas cache.Deltas, isInInitialList bool,
) error {
	for _, d := range deltas {
		if err := processDelta(handler, store, d, isInInitialList); err != nil {
			return err
		}
	}
	return nil
}

// processDelta applies one delta.
//
//workshop:omit
func processDelta(handler cache.ResourceEventHandler, store cache.Store, d cache.Delta, isInInitialList bool) error {
	switch d.Type {
	case cache.ReplacedAll:
		list, ok := d.Object.(cache.ReplacedAllInfo)
		if !ok {
			return fmt.Errorf("%T instead of a ReplacedAllInfo", d.Object)
		}
		return ReplaceAll(handler, store, list, isInInitialList)
	case cache.SyncAll:
		if _, ok := d.Object.(cache.SyncAllInfo); !ok {
			return fmt.Errorf("%T instead of a SyncAllInfo", d.Object)
		}
		for _, obj := range store.List() {
			handler.OnUpdate(obj, obj)
		}
		return nil
	case cache.Bookmark:
		bookmark, ok := d.Object.(cache.BookmarkInfo)
		if !ok {
			return fmt.Errorf("%T instead of a BookmarkInfo", d.Object)
		}
		store.Bookmark(bookmark.ResourceVersion)
		return nil
	case cache.Deleted:
		if err := store.Delete(d.Object); err != nil {
			return err
		}
		handler.OnDelete(d.Object)
		return nil
	}
	return storeOne(handler, store, d.Object, isInInitialList)
}

// storeOne stores one object. The store decides whether it is an addition or an update.
//
//workshop:omit
func storeOne(handler cache.ResourceEventHandler, store cache.Store, obj any, isInInitialList bool) error {
	old, exists, err := store.Get(obj)
	if err != nil {
		return err
	}
	if exists {
		if err := store.Update(obj); err != nil {
			return err
		}
		handler.OnUpdate(old, obj)
		return nil
	}
	if err := store.Add(obj); err != nil {
		return err
	}
	handler.OnAdd(obj, isInInitialList)
	return nil
}
