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
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
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
func ProcessDeltas(
	handler cache.ResourceEventHandler, store cache.Store, deltas cache.Deltas, isInInitialList bool,
) error {
	panic(todo.Task(2, "ProcessDeltas"))
}
