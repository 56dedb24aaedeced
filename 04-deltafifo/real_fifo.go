package deltafifo

// This file is the bonus: the queue that stands under every SharedInformer today. It keeps each change as an item of
// its own, in the order in which they came, and merges nothing. It mirrors client-go's tools/cache/the_real_fifo.go.
//
// It leaves out: PopBatch, by which an informer takes up to a thousand items at once; metrics and tracing; NewRealFIFO,
// which is deprecated.

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/todo"
)

// RealFIFO is a queue of changes. It implements cache.Queue and cache.TransformingStore. There are two kinds of it:
//
//   - With known objects it does what a DeltaFIFO does, Replace and Resync included, but for merging: it compares, and
//     puts one item into the queue for each object.
//   - With AtomicEvents it knows nothing. Replace puts all of the list into the queue as one item, Resync another one,
//     and the consumer compares, when it gets there, with what it has. Then nothing that the consumer does has to
//
// happen
//
//	under the queue's lock, and with UnlockWhileProcessing it does not.
//
// Every method may be called from any goroutine, but with UnlockWhileProcessing only one may call Pop.
type RealFIFO struct {
	// lock guards the fields down to closed. Whether it is held while a process function runs is an option.
	lock sync.Mutex
	// changed is signalled once for each new item, and broadcast when the queue is closed.
	changed *sync.Cond
	// items holds all changes, oldest first.
	items []cache.Delta
	initialList
	closed bool

	keyFunc     cache.KeyFunc
	known       cache.KeyListerGetter // nil exactly if atomic
	atomic      bool                  // a Replace is one item, and so is a Resync
	unlock      bool                  // process functions run without the lock
	bookmarks   bool                  // a Bookmark is an item too
	transformer cache.TransformFunc   // may be nil
	name        string
	logger      klog.Logger
}

var (
	_ cache.Queue             = (*RealFIFO)(nil)
	_ cache.TransformingStore = (*RealFIFO)(nil)
	_ cache.DoneChecker       = (*RealFIFO)(nil)
)

// NewRealFIFOWithOptions returns an empty queue. Without a KeyFunction it uses cache.MetaNamespaceKeyFunc, without a
// Name "RealFIFO". It does not use Identifier and MetricsProvider.
//
// It panics if the options contradict each other: KnownObjects are needed without AtomicEvents and forbidden with them;
// UnlockWhileProcessing and EmitDeltaTypeBookmark need AtomicEvents. Mirrors cache.NewRealFIFOWithOptions.
func NewRealFIFOWithOptions(opts cache.RealFIFOOptions) *RealFIFO {
	panic(todo.Task(6, "NewRealFIFOWithOptions"))
}

// Add puts an Added with obj at the end of the queue. The object goes through the transformer first, if there is one,
// unless it is a tombstone. An object without a key is a cache.KeyError. Mirrors cache.RealFIFO.Add.
func (q *RealFIFO) Add(obj any) error {
	panic(todo.Task(6, "RealFIFO.Add"))
}

// Update puts an Updated at the end of the queue, in every other way like Add. Mirrors cache.RealFIFO.Update.
func (q *RealFIFO) Update(obj any) error {
	panic(todo.Task(6, "RealFIFO.Update"))
}

// Delete puts a Deleted at the end of the queue, whether or not anyone has heard of obj, in every other way like Add.
// Mirrors cache.RealFIFO.Delete.
func (q *RealFIFO) Delete(obj any) error {
	panic(todo.Task(6, "RealFIFO.Delete"))
}

// Bookmark puts a Bookmark with a cache.BookmarkInfo at the end of the queue, if the options ask for
// EmitDeltaTypeBookmark; otherwise it does nothing. It is no event, and says nothing about the first list. Mirrors
// cache.RealFIFO.Bookmark.
func (q *RealFIFO) Bookmark(version string) error {
	panic(todo.Task(6, "RealFIFO.Bookmark"))
}

// Replace records that the objects of list, and no others, exist. The objects go through the transformer.
//
// With AtomicEvents it puts one ReplacedAll into the queue, with a cache.ReplacedAllInfo: the objects, in a slice that
// the caller may not touch any more, and the version. Otherwise first, in any order, a Deleted with a tombstone for
// each key that is pending or known and not in the list, and then a Replaced for each object in it. A key whose last
// pending item is a Deleted already gets no second one. A tombstone holds what a DeltaFIFO's does.
//
// Its errors are those of a DeltaFIFO's Replace (client-go's leaves objects without a key to the consumer, with
// AtomicEvents), and one that failed was not the first list either. Mirrors cache.RealFIFO.Replace.
func (q *RealFIFO) Replace(list []any, version string) error {
	panic(todo.Task(6, "RealFIFO.Replace"))
}

// Resync lets the consumer look at everything again. With AtomicEvents it puts one SyncAll into the queue, with a
// cache.SyncAllInfo. Otherwise it puts in a Sync for each known object that has no pending items and can be found, in
// any order; those objects do not go through the transformer. Mirrors cache.RealFIFO.Resync.
func (q *RealFIFO) Resync() error {
	panic(todo.Task(6, "RealFIFO.Resync"))
}

// mostItemsUnlocked is how long the queue may be for a process function to run without its lock. With the lock held
// nothing more comes in, so a slow consumer slows the Reflector down before the queue eats all memory.
const mostItemsUnlocked = 2000

// Pop takes the first item out of the queue and calls process with it, as cache.Deltas of length one, and with whether
// it belongs to the first list. It blocks until there is an item, or until the queue is closed and empty: then it
// returns cache.ErrFIFOClosed. The error of process is returned, with the deltas. Of an item that has been popped the
// queue keeps nothing, so that its object can be collected.
//
// process runs under the queue's lock; with UnlockWhileProcessing it runs without, unless 2000 items or more are
// waiting. Mirrors cache.RealFIFO.Pop.
func (q *RealFIFO) Pop(process cache.PopProcessFunc) (any, error) {
	panic(todo.Task(6, "RealFIFO.Pop"))
}

// HasSynced says whether everything that the first Replace put into the queue has been popped and processed, as for a
// DeltaFIFO. With AtomicEvents that is one item, even if the list was empty. Mirrors cache.RealFIFO.HasSynced.
func (q *RealFIFO) HasSynced() bool {
	panic(todo.Task(6, "RealFIFO.HasSynced"))
}

// Done returns a channel that is closed when HasSynced becomes true. Mirrors cache.RealFIFO.Done.
func (q *RealFIFO) Done() <-chan struct{} {
	panic(todo.Task(6, "RealFIFO.Done"))
}

// HasSyncedChecker returns the queue itself: with Name and Done it is a cache.DoneChecker, which can be waited for.
func (q *RealFIFO) HasSyncedChecker() cache.DoneChecker { return q }

// Name is the name in the options, or "RealFIFO".
func (q *RealFIFO) Name() string { return q.name }

// Transformer is the transformer in the options, nil if there is none.
func (q *RealFIFO) Transformer() cache.TransformFunc { return q.transformer }

// Close lets every Pop return cache.ErrFIFOClosed as soon as the queue is empty. Mirrors cache.RealFIFO.Close.
func (q *RealFIFO) Close() {
	panic(todo.Task(6, "RealFIFO.Close"))
}

// IsClosed says whether Close has been called. Mirrors cache.RealFIFO.IsClosed.
func (q *RealFIFO) IsClosed() bool {
	panic(todo.Task(6, "RealFIFO.IsClosed"))
}
