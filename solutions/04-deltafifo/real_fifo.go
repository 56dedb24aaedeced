package deltafifo

// This file is the bonus: the queue of every SharedInformer since client-go 0.36. Each change is an item of its own, in
// the order of arrival. It mirrors client-go's tools/cache/the_real_fifo.go.
//
// It leaves out PopBatch, with which an informer takes up to 1,000 items at once, metrics, tracing, and NewRealFIFO,
// which is deprecated.
//
//workshop:file task 6

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// RealFIFO is a queue of changes, which it does not merge. It implements cache.Queue and cache.TransformingStore. There
// are two kinds of it:
//
//   - With known objects, Replace and Resync compare as those of a DeltaFIFO do, and queue one item for each object.
//   - With AtomicEvents, the queue does not compare. Replace queues the whole list as one item, and the consumer
//     compares it with its store. So the consumer need not work under the queue's lock: with UnlockWhileProcessing it
//     does not.
//
// Every method may be called from any goroutine, but with UnlockWhileProcessing only one goroutine may call Pop. If the
// transformer panics, the method that called it releases the lock and panics too.
type RealFIFO struct {
	lock    sync.Mutex // guards the fields down to closed
	changed *sync.Cond
	items   []cache.Delta
	initialList
	closed bool

	keyFunc     cache.KeyFunc
	known       cache.KeyListerGetter // nil if and only if atomic
	atomic      bool
	unlock      bool
	bookmarks   bool
	transformer cache.TransformFunc // may be nil
	name        string
	logger      klog.Logger
}

var (
	_ cache.Queue             = (*RealFIFO)(nil)
	_ cache.TransformingStore = (*RealFIFO)(nil)
	_ cache.DoneChecker       = (*RealFIFO)(nil)
)

// NewRealFIFOWithOptions returns an empty queue. The default KeyFunction is cache.MetaNamespaceKeyFunc, and the default
// Name is "RealFIFO". Identifier and MetricsProvider are not used.
//
// NewRealFIFOWithOptions panics if the options contradict each other: KnownObjects are required without AtomicEvents
// and forbidden with them; UnlockWhileProcessing and EmitDeltaTypeBookmark require AtomicEvents.
//
// It mirrors cache.NewRealFIFOWithOptions.
func NewRealFIFOWithOptions(opts cache.RealFIFOOptions) *RealFIFO {
	if opts.AtomicEvents == (opts.KnownObjects != nil) {
		panic("a RealFIFO takes either KnownObjects or AtomicEvents")
	}
	if !opts.AtomicEvents && (opts.UnlockWhileProcessing || opts.EmitDeltaTypeBookmark) {
		panic("UnlockWhileProcessing and EmitDeltaTypeBookmark need AtomicEvents")
	}
	q := &RealFIFO{
		initialList: initialList{synced: make(chan struct{})},
		keyFunc:     opts.KeyFunction,
		known:       opts.KnownObjects,
		atomic:      opts.AtomicEvents,
		unlock:      opts.UnlockWhileProcessing,
		bookmarks:   opts.EmitDeltaTypeBookmark,
		transformer: opts.Transformer,
		name:        opts.Name,
		logger:      klog.Background(),
	}
	q.changed = sync.NewCond(&q.lock)
	if q.keyFunc == nil {
		q.keyFunc = cache.MetaNamespaceKeyFunc
	}
	if q.name == "" {
		q.name = "RealFIFO"
	}
	if opts.Logger != nil {
		q.logger = *opts.Logger
	}
	q.logger = klog.LoggerWithName(q.logger, q.name)
	return q
}

// Add puts an Added with obj at the end of the queue. Each change is an item of its own, and nothing is merged. Each
// item wakes one Pop. The object goes through the transformer first, if there is one, unless it is a tombstone.
//
// If an object has no key, the error is a cache.KeyError that carries the object and wraps the key function's error. A
// change that fails leaves nothing in the queue.
//
// It mirrors cache.RealFIFO.Add.
func (q *RealFIFO) Add(obj any) error { return q.record(cache.Added, obj) }

// Update is like Add, but puts an Updated at the end of the queue. It mirrors cache.RealFIFO.Update.
func (q *RealFIFO) Update(obj any) error { return q.record(cache.Updated, obj) }

// Delete is like Add, but puts a Deleted at the end of the queue, whether or not the object is known. It mirrors
// cache.RealFIFO.Delete.
func (q *RealFIFO) Delete(obj any) error { return q.record(cache.Deleted, obj) }

// record does the work of Add, Update and Delete.
func (q *RealFIFO) record(change cache.DeltaType, obj any) error {
	if _, err := q.keyOf(obj); err != nil {
		return cache.KeyError{Obj: obj, Err: err}
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	q.begin(0)
	obj, err := transform(q.transformer, obj)
	if err != nil {
		return err
	}
	q.enqueue(change, obj)
	return nil
}

// keyOf returns the key of an object or a tombstone.
func (q *RealFIFO) keyOf(obj any) (string, error) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Key, nil
	}
	return q.keyFunc(obj)
}

// enqueue appends an item, which is work for one Pop. The caller holds the lock.
func (q *RealFIFO) enqueue(change cache.DeltaType, obj any) {
	q.items = append(q.items, cache.Delta{Type: change, Object: obj})
	q.changed.Signal()
}

// Bookmark puts a Bookmark with a cache.BookmarkInfo at the end of the queue, if the options ask for
// EmitDeltaTypeBookmark; otherwise it does nothing. A Bookmark is not an event: HasSynced does not become true.
//
// It mirrors cache.RealFIFO.Bookmark.
func (q *RealFIFO) Bookmark(version string) error {
	if !q.bookmarks {
		return nil
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	q.enqueue(cache.Bookmark, cache.BookmarkInfo{ResourceVersion: version})
	return nil
}

// Replace records that the objects of list exist, and no others. The objects go through the transformer, and the list
// itself is not changed. Replace is one step: no other call takes effect in the middle of it.
//
// With AtomicEvents Replace queues one ReplacedAll with a cache.ReplacedAllInfo: the objects and the version. The
// caller must not touch the slice again.
//
// With known objects Replace first queues a Deleted with a tombstone for each key that is pending or known but not in
// the list, in any order. It then queues a Replaced for each object of the list. A key whose last pending item is
// a Deleted gets no second one. The tombstone carries the newest object: that of the last pending item, or otherwise
// the known one, or nil if it cannot be found.
//
// If an object of the list has no key, the error is a cache.KeyError that carries the object and wraps the key
// function's error. (With AtomicEvents client-go leaves this error to the consumer.) A Replace that fails leaves
// nothing in the queue, and is not the first list.
//
// Replace mirrors cache.RealFIFO.Replace.
func (q *RealFIFO) Replace(list []any, version string) error {
	listed := make(map[string]bool, len(list))
	for _, obj := range list {
		key, err := q.keyOf(obj)
		if err != nil {
			return cache.KeyError{Obj: obj, Err: err}
		}
		listed[key] = true
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	list, err := transformAll(q.transformer, list)
	if err != nil {
		return err
	}
	if q.atomic {
		q.enqueue(cache.ReplacedAll, cache.ReplacedAllInfo{ResourceVersion: version, Objects: list})
	} else {
		q.recordTombstones(listed)
		for _, obj := range list {
			q.enqueue(cache.Replaced, obj)
		}
	}
	q.begin(len(q.items))
	return nil
}

// recordTombstones records a deletion for each key that is pending or known but not listed. The caller holds the lock.
func (q *RealFIFO) recordTombstones(listed map[string]bool) {
	pending, order := q.pending()
	for _, key := range order {
		if last := pending[key]; !listed[key] && last.Type != cache.Deleted {
			q.enqueue(cache.Deleted, cache.DeletedFinalStateUnknown{Key: key, Obj: last.Object})
		}
	}
	for _, key := range q.known.ListKeys() {
		if _, queued := pending[key]; listed[key] || queued {
			continue
		}
		obj, exists, err := q.known.GetByKey(key)
		if err != nil || !exists {
			q.logger.Info("A known object that was deleted cannot be found, its tombstone is empty", "key", key, "err", err)
			obj = nil
		}
		q.enqueue(cache.Deleted, cache.DeletedFinalStateUnknown{Key: key, Obj: obj})
	}
}

// pending returns the last pending item of each key, and the keys in the order of their first pending items. The caller
// holds the lock.
func (q *RealFIFO) pending() (last map[string]cache.Delta, order []string) {
	last = make(map[string]cache.Delta, len(q.items))
	for _, item := range q.items {
		key, _ := q.keyOf(item.Object) // it had one when it came in
		if _, seen := last[key]; !seen {
			order = append(order, key)
		}
		last[key] = item
	}
	return last, order
}

// Resync lets the consumer process every object again. With AtomicEvents Resync queues one SyncAll with a
// cache.SyncAllInfo. With known objects it queues a Sync for each known object that has no pending items and can be
// found, in any order. The objects of a Resync do not go through the transformer again. A Resync is not an event:
// HasSynced does not become true. Resync does a fixed amount of work for each key that is pending or known.
//
// It mirrors cache.RealFIFO.Resync.
func (q *RealFIFO) Resync() error {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.atomic {
		q.enqueue(cache.SyncAll, cache.SyncAllInfo{})
		return nil
	}
	pending, _ := q.pending()
	for _, key := range q.known.ListKeys() {
		if _, queued := pending[key]; queued {
			continue
		}
		obj, exists, err := q.known.GetByKey(key)
		if err != nil || !exists {
			q.logger.Info("A known object cannot be found, it is not synced", "key", key, "err", err)
			continue
		}
		q.enqueue(cache.Sync, obj)
	}
	return nil
}

// mostItemsUnlocked is the length of the queue from which on a process function keeps the lock. While it holds the lock
// no item comes in, so a slow consumer slows down the Reflector before the queue fills the memory.
const mostItemsUnlocked = 2000

// Pop removes the first item and calls process with it, as cache.Deltas of length one, and with whether it belongs to
// the first list. It returns the error of process with the deltas, and does not put them back. The queue keeps nothing
// of a popped item.
//
// Pop blocks while the queue is empty. If the queue is empty and closed, Pop returns cache.ErrFIFOClosed.
//
// process runs under the queue's lock; with UnlockWhileProcessing it runs without the lock, unless 2000 items or more
// are waiting. If process panics, Pop releases the lock, counts the item as processed, and panics too.
//
// Pop mirrors cache.RealFIFO.Pop.
func (q *RealFIFO) Pop(process cache.PopProcessFunc) (any, error) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for len(q.items) == 0 {
		if q.closed {
			return nil, cache.ErrFIFOClosed
		}
		q.changed.Wait()
	}
	deltas := cache.Deltas{q.items[0]}
	q.items[0] = cache.Delta{} // the array behind the slice would keep it
	q.items = q.items[1:]
	if q.populated { // otherwise it is not of the first list, even if that comes while process runs
		defer q.processed()
	}
	if q.unlock && len(q.items) < mostItemsUnlocked {
		q.lock.Unlock()
		defer q.lock.Lock()
	}
	return deltas, process(deltas, !q.isDone())
}

// HasSynced reports whether every item that was in the queue after the first Replace has been popped and processed.
// With AtomicEvents the list is one item, even if it is empty. If Add, Update or Delete is called before any Replace,
// HasSynced is true from then on, and no item belongs to the first list.
//
// An item that was popped before the first Replace does not count, even if process still has it.
//
// It mirrors cache.RealFIFO.HasSynced.
func (q *RealFIFO) HasSynced() bool { return q.isDone() }

// Done returns a channel that is closed when HasSynced becomes true. It mirrors cache.RealFIFO.Done.
func (q *RealFIFO) Done() <-chan struct{} { return q.synced }

// HasSyncedChecker returns the queue itself, whose Name and Done make it a cache.DoneChecker for cache.WaitFor.
//
//workshop:keep
func (q *RealFIFO) HasSyncedChecker() cache.DoneChecker { return q }

// Name returns the name in the options, or "RealFIFO".
//
//workshop:keep
func (q *RealFIFO) Name() string { return q.name }

// Transformer returns the transformer in the options, nil if there is none.
//
//workshop:keep
func (q *RealFIFO) Transformer() cache.TransformFunc { return q.transformer }

// Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue is empty. Closing
// again does nothing. It mirrors cache.RealFIFO.Close.
func (q *RealFIFO) Close() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// IsClosed reports whether Close has been called. It mirrors cache.RealFIFO.IsClosed.
func (q *RealFIFO) IsClosed() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.closed
}
