// Package deltafifo re-creates client-go's DeltaFIFO: the queue between the Reflector and the informer. It keeps, for
// each object, what happened to it since the consumer last looked.
package deltafifo

// This file is the queue: what goes in one change at a time (Add, Update, Delete), and what comes out (Pop). It stands
// between the Reflector, which calls the methods that write, and the informer, which calls Pop. relist.go beside it
// has Replace and Resync, initial_list.go counts the first list. It mirrors client-go's tools/cache/delta_fifo.go.
//
// It leaves out: tracing of slow process functions, and NewDeltaFIFO, which is deprecated.
//
//workshop:file omit

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// DeltaFIFO is a queue of keys. For each key it holds the changes that have happened since the key was last popped,
// oldest first: its cache.Deltas. It implements cache.Queue and cache.TransformingStore.
//
// Every method may be called from any goroutine. None blocks for longer than another one holds the lock, but for Pop,
// which waits until there is something to pop.
//
// An object that has gone in is shared: with whoever pops it, and with the store it is put into. The queue never
// changes an object. The Deltas that Pop hands out belong to the caller.
type DeltaFIFO struct {
	// lock guards the fields down to closed. It is held while a process function runs.
	lock sync.Mutex
	// changed is signalled once for each key that comes into the queue, and broadcast when the queue is closed.
	changed *sync.Cond
	// items holds the pending deltas of each key, at least one.
	items map[string]cache.Deltas
	// queue holds the keys of items, each once, in the order in which their first pending deltas came.
	queue []string
	initialList
	closed bool

	keyFunc     cache.KeyFunc
	known       cache.KeyListerGetter // may be nil
	replaced    cache.DeltaType       // what Replace says of the objects in its list: Replaced or Sync
	transformer cache.TransformFunc   // may be nil
	name        string
	logger      klog.Logger
}

var (
	_ cache.Queue             = (*DeltaFIFO)(nil)
	_ cache.TransformingStore = (*DeltaFIFO)(nil)
	_ cache.DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFOWithOptions returns an empty queue. Without a KeyFunction it uses cache.MetaNamespaceKeyFunc.
// KnownObjects is the store that the consumer fills with what it pops; the queue asks it what the consumer knows, and
// calls it with its lock held. Mirrors cache.NewDeltaFIFOWithOptions.
func NewDeltaFIFOWithOptions(opts cache.DeltaFIFOOptions) *DeltaFIFO {
	q := &DeltaFIFO{
		items:       map[string]cache.Deltas{},
		initialList: initialList{synced: make(chan struct{})},
		keyFunc:     opts.KeyFunction,
		known:       opts.KnownObjects,
		replaced:    cache.Sync,
		transformer: opts.Transformer,
		name:        opts.Name,
		logger:      klog.Background(),
	}
	q.changed = sync.NewCond(&q.lock)
	if q.keyFunc == nil {
		q.keyFunc = cache.MetaNamespaceKeyFunc
	}
	if opts.EmitDeltaTypeReplaced {
		q.replaced = cache.Replaced
	}
	if q.name == "" {
		q.name = "DeltaFIFO"
	}
	if opts.Logger != nil {
		q.logger = *opts.Logger
	}
	q.logger = klog.LoggerWithName(q.logger, q.name)
	return q
}

// KeyOf returns the key of obj: of a tombstone (cache.DeletedFinalStateUnknown), the key it carries; of cache.Deltas,
// the key of the newest object in it, which may be a tombstone; of anything else, what the key function says. Empty
// Deltas are a cache.KeyError with cache.ErrZeroLengthDeltasObject in it. Mirrors cache.DeltaFIFO.KeyOf.
//
//workshop:task 1
func (q *DeltaFIFO) KeyOf(obj any) (string, error) {
	if deltas, ok := obj.(cache.Deltas); ok {
		if len(deltas) == 0 {
			return "", cache.KeyError{Obj: obj, Err: cache.ErrZeroLengthDeltasObject}
		}
		obj = deltas.Newest().Object
	}
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Key, nil
	}
	return q.keyFunc(obj)
}

// Add records that obj was added. The key's first pending delta puts the key at the back of the queue; later ones join
// it where it stands. The object goes through the transformer first, if there is one.
//
// An object without a key is a cache.KeyError; an error of the transformer is returned as it is. Then nothing has gone
// into the queue. Mirrors cache.DeltaFIFO.Add.
//
//workshop:task 1
func (q *DeltaFIFO) Add(obj any) error { return q.record(cache.Added, obj) }

// Update records that obj was changed, in every other way like Add. Mirrors cache.DeltaFIFO.Update.
//
//workshop:task 1
func (q *DeltaFIFO) Update(obj any) error { return q.record(cache.Updated, obj) }

// Delete records that obj was deleted, in every other way like Add. obj is the object's last state, or a tombstone,
// which does not go through the transformer: what is in it has been there before.
//
// If the key has no pending deltas, and the known objects do not have it either, nobody has to be told, and nothing is
// recorded; that is no error. Without known objects (nil) only pending deltas count. A lookup that fails proves
// nothing, so the deletion is recorded.
//
// Two deletions in a row are one. If the earlier one is a tombstone the later one takes its place, because it may know
// the object's last state; otherwise the earlier one stays. Only deletions are ever merged. Mirrors
// cache.DeltaFIFO.Delete.
//
//workshop:task 2
func (q *DeltaFIFO) Delete(obj any) error { return q.record(cache.Deleted, obj) }

// record is Add, Update and Delete.
func (q *DeltaFIFO) record(change cache.DeltaType, obj any) error {
	key, err := q.KeyOf(obj)
	if err != nil {
		return cache.KeyError{Obj: obj, Err: err}
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	q.begin(0)
	if change == cache.Deleted && !q.hasHeardOf(key) {
		return nil
	}
	if obj, err = transform(q.transformer, obj); err != nil {
		return err
	}
	q.enqueue(key, cache.Delta{Type: change, Object: obj})
	return nil
}

// hasHeardOf says whether the consumer knows the key, or will. The caller holds the lock.
func (q *DeltaFIFO) hasHeardOf(key string) bool {
	if len(q.items[key]) > 0 || q.known == nil {
		return len(q.items[key]) > 0
	}
	_, exists, err := q.known.GetByKey(key)
	return exists || err != nil
}

// transform is what the transformer makes of obj. There may be none, and a tombstone's object has been through it.
func transform(transformer cache.TransformFunc, obj any) (any, error) {
	if _, ok := obj.(cache.DeletedFinalStateUnknown); ok || transformer == nil {
		return obj, nil
	}
	return transformer(obj)
}

// enqueue adds delta to those of key. Waking one Pop is enough, because any Pop will do for a key, and there is one key
// more. The caller holds the lock.
func (q *DeltaFIFO) enqueue(key string, delta cache.Delta) {
	deltas, queued := q.items[key]
	if !queued {
		q.queue = append(q.queue, key)
		q.changed.Signal()
	}
	q.items[key] = merge(deltas, delta)
}

// merge appends delta to deltas, unless both end in a deletion.
func merge(deltas cache.Deltas, delta cache.Delta) cache.Deltas {
	last := deltas.Newest()
	if last == nil || last.Type != cache.Deleted || delta.Type != cache.Deleted {
		return append(deltas, delta)
	}
	if _, ok := last.Object.(cache.DeletedFinalStateUnknown); ok {
		*last = delta
	}
	return deltas
}

// Pop takes the first key out of the queue and calls process with its deltas, which are cache.Deltas, and with whether
// they belong to the first list. It blocks until there is a key, or until the queue is closed and empty: then it
// returns cache.ErrFIFOClosed. Several Pops may wait at the same time; each key goes to one of them.
//
// process runs under the queue's lock: what it changes in the known objects, nobody sees before the key has left the
// queue, or after. So it must be quick, and must not call methods of the queue that take the lock. Its error is
// returned, with the deltas; they are not put back. Mirrors cache.DeltaFIFO.Pop.
//
//workshop:task 1
func (q *DeltaFIFO) Pop(process cache.PopProcessFunc) (any, error) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for len(q.queue) == 0 { // more than one Pop may have been woken, or another one was faster
		if q.closed {
			return nil, cache.ErrFIFOClosed
		}
		q.changed.Wait()
	}
	key := q.queue[0]
	deltas := q.items[key]
	q.queue[0] = "" // the array behind the slice would keep it
	q.queue = q.queue[1:]
	delete(q.items, key)
	defer q.processed()
	return deltas, process(deltas, !q.isDone())
}

// HasSynced says whether everything that the first Replace put into the queue, deletions included, has been popped and
// processed. If Add, Update or Delete were called before, there is no first list to wait for, and it is true from then
// on; also if that Delete had nothing to record. Whether one that returned an error counts is left open. Once true it
// stays true. Mirrors cache.DeltaFIFO.HasSynced.
//
//workshop:task 4
func (q *DeltaFIFO) HasSynced() bool { return q.isDone() }

// Done returns a channel that is closed when HasSynced becomes true. Mirrors cache.DeltaFIFO.Done.
//
//workshop:task 4
func (q *DeltaFIFO) Done() <-chan struct{} { return q.synced }

// HasSyncedChecker returns the queue itself: with Name and Done it is a cache.DoneChecker, which can be waited for.
func (q *DeltaFIFO) HasSyncedChecker() cache.DoneChecker { return q }

// Name is the name in the options, or "DeltaFIFO".
func (q *DeltaFIFO) Name() string { return q.name }

// Transformer is the transformer in the options, nil if there is none.
func (q *DeltaFIFO) Transformer() cache.TransformFunc { return q.transformer }

// Close lets every Pop that waits, and every later one, return cache.ErrFIFOClosed, but not before the queue is empty:
// what is in it can still be popped. Closing again does nothing. Mirrors cache.DeltaFIFO.Close.
//
//workshop:task 5
func (q *DeltaFIFO) Close() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// IsClosed says whether Close has been called. Mirrors cache.DeltaFIFO.IsClosed.
//
//workshop:task 5
func (q *DeltaFIFO) IsClosed() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.closed
}
