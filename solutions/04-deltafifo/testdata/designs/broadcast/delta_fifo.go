// Package deltafifo re-creates client-go's DeltaFIFO, the queue between the Reflector and the informer. For each object
// it holds the changes that the consumer has not received yet.
package deltafifo

// This design uses a channel instead of a sync.Cond. A waiting Pop reads from the channel. Each change closes it and
// makes another one, so every waiting Pop wakes and checks the queue again. This is correct because Pop reads the
// changed field under the lock, without releasing it after it has seen an empty queue. The next change closes exactly
// this channel. All waiting Pops wake for each key, and all but one of them wait again.

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// DeltaFIFO is a queue of keys. For each key it holds the changes since the key was last popped, oldest first: its
// cache.Deltas. It implements cache.Queue and cache.TransformingStore.
//
// Every method may be called from any goroutine. Only Pop waits for more than the lock.
//
// The consumer that pops an object and the consumer's store share it with the queue. The queue never changes an object.
type DeltaFIFO struct {
	lock    sync.Mutex    // guards the fields down to closed
	changed chan struct{} // the next change closes it
	items   map[string]cache.Deltas
	queue   []string
	initialList
	closed bool

	keyFunc     cache.KeyFunc
	known       cache.KeyListerGetter // may be nil
	replaced    cache.DeltaType       // of the objects in a list: Replaced or Sync
	transformer cache.TransformFunc   // may be nil
	name        string
	logger      klog.Logger
}

var (
	_ cache.Queue             = (*DeltaFIFO)(nil)
	_ cache.TransformingStore = (*DeltaFIFO)(nil)
	_ cache.DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFOWithOptions returns an empty queue. The default KeyFunction is cache.MetaNamespaceKeyFunc. KnownObjects
// is the store that the consumer fills with popped objects; nil means that there is none. The queue reads KnownObjects
// while it holds its lock. Mirrors cache.NewDeltaFIFOWithOptions.
func NewDeltaFIFOWithOptions(opts cache.DeltaFIFOOptions) *DeltaFIFO {
	q := &DeltaFIFO{
		items:       map[string]cache.Deltas{},
		changed:     make(chan struct{}),
		initialList: initialList{synced: make(chan struct{})},
		keyFunc:     opts.KeyFunction,
		known:       opts.KnownObjects,
		replaced:    cache.Sync,
		transformer: opts.Transformer,
		name:        opts.Name,
		logger:      klog.Background(),
	}
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

// KeyOf returns the key that a tombstone (cache.DeletedFinalStateUnknown) carries. For cache.Deltas KeyOf returns the
// key of the newest object in them, which may be a tombstone. For any other object KeyOf returns the key or the error
// of the key function. For empty Deltas KeyOf returns a cache.KeyError that wraps cache.ErrZeroLengthDeltasObject.
// Mirrors cache.DeltaFIFO.KeyOf.
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

// Add records an Added with obj itself, not a copy. The first pending delta of a key puts the key at the back of the
// queue. Later deltas do not move the key. The object goes through the transformer first, if there is one.
//
// If an object has no key, the error is a cache.KeyError that carries the object and wraps the key function's error. An
// error of the transformer is returned unchanged. A change that fails leaves nothing in the queue. Mirrors
// cache.DeltaFIFO.Add.
func (q *DeltaFIFO) Add(obj any) error { return q.record(cache.Added, obj) }

// Update is like Add, but records an Updated. Mirrors cache.DeltaFIFO.Update.
func (q *DeltaFIFO) Update(obj any) error { return q.record(cache.Updated, obj) }

// Delete is like Add, but records a Deleted. Instead of the object's last state, obj may be a tombstone. A tombstone
// does not go through the transformer.
//
// If the key has no pending deltas and the object is not known, Delete records nothing and returns nil. Without known
// objects (nil) only pending deltas count. If the lookup of the known object fails, Delete records the deletion.
//
// Two deletions in a row become one. If the earlier deletion is a tombstone, the later one replaces it; otherwise the
// earlier one stays. Only deletions in a row are merged. Mirrors cache.DeltaFIFO.Delete.
func (q *DeltaFIFO) Delete(obj any) error { return q.record(cache.Deleted, obj) }

// record does the work of Add, Update and Delete. It computes the key of an added or updated object after the
// transformer, without the lock, and that of a deleted one before it, because the object may be unknown.
func (q *DeltaFIFO) record(change cache.DeltaType, obj any) error {
	var err error
	if change != cache.Deleted {
		if obj, err = transform(q.transformer, obj); err != nil {
			return err
		}
	}
	key, err := q.KeyOf(obj)
	if err != nil {
		return cache.KeyError{Obj: obj, Err: err}
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	q.begin(0)
	if change == cache.Deleted {
		if !q.isPendingOrKnown(key) {
			return nil
		}
		if obj, err = transform(q.transformer, obj); err != nil {
			return err
		}
	}
	q.enqueue(key, cache.Delta{Type: change, Object: obj})
	return nil
}

// isPendingOrKnown reports whether the consumer has the object of key, or will have it. The caller holds the lock.
func (q *DeltaFIFO) isPendingOrKnown(key string) bool {
	if len(q.items[key]) > 0 || q.known == nil {
		return len(q.items[key]) > 0
	}
	_, exists, err := q.known.GetByKey(key)
	return exists || err != nil
}

// transform returns the result of the transformer for obj. It returns obj itself if there is no transformer, or if obj
// is a tombstone, whose object has been transformed before.
func transform(transformer cache.TransformFunc, obj any) (any, error) {
	if _, ok := obj.(cache.DeletedFinalStateUnknown); ok || transformer == nil {
		return obj, nil
	}
	return transformer(obj)
}

// enqueue adds delta to the pending deltas of key. The caller holds the lock.
func (q *DeltaFIFO) enqueue(key string, delta cache.Delta) {
	deltas, queued := q.items[key]
	if !queued {
		q.queue = append(q.queue, key)
		q.broadcast()
	}
	q.items[key] = merge(deltas, delta)
}

// broadcast wakes every waiting Pop. The caller holds the lock.
func (q *DeltaFIFO) broadcast() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// merge appends delta to deltas, unless delta and the last of deltas are both deletions.
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

// Pop removes the first key and calls process with its cache.Deltas, oldest first, and with whether the key belongs to
// the first list. Pop blocks while the queue is empty. If the queue is empty and closed, Pop returns
// cache.ErrFIFOClosed. Several Pops may wait at the same time, and each key goes to one of them. The Deltas belong to
// the caller. The queue keeps nothing of a popped key.
//
// process runs under the queue's lock. It must be quick, and must not call methods of the queue that take the lock
// (client-go's HasSynced does). Pop returns the error of process with the deltas, and does not put them back. If
// process panics, Pop releases the lock and counts the key as processed. Mirrors cache.DeltaFIFO.Pop.
func (q *DeltaFIFO) Pop(process cache.PopProcessFunc) (any, error) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for len(q.queue) == 0 { // another Pop may have been faster
		if q.closed {
			return nil, cache.ErrFIFOClosed
		}
		q.wait()
	}
	key := q.queue[0]
	deltas := q.items[key]
	q.queue[0] = "" // the array behind the slice would keep it
	q.queue = q.queue[1:]
	delete(q.items, key)
	defer q.processed()
	return deltas, process(deltas, !q.isDone())
}

// wait releases the lock until the queue changes. The caller holds the lock.
func (q *DeltaFIFO) wait() {
	changed := q.changed
	q.lock.Unlock()
	<-changed
	q.lock.Lock()
}

// HasSynced reports whether every key that was in the queue after the first Replace, deletions included, has been
// popped and processed. A key counts once, even if the list had two objects of it. A key counts even if process
// returned an error or panicked. If Add, Update or Delete is called before any Replace, HasSynced is true from then on.
// A Delete before any Replace makes HasSynced true, even if it records nothing. Whether a call that returned an error
// counts is not specified. Once true, HasSynced stays true. Mirrors cache.DeltaFIFO.HasSynced.
func (q *DeltaFIFO) HasSynced() bool { return q.isDone() }

// Done returns a channel that is closed when HasSynced becomes true. Mirrors cache.DeltaFIFO.Done.
func (q *DeltaFIFO) Done() <-chan struct{} { return q.synced }

// HasSyncedChecker returns the queue itself, whose Name and Done make it a cache.DoneChecker for cache.WaitFor.
func (q *DeltaFIFO) HasSyncedChecker() cache.DoneChecker { return q }

// Name returns the name in the options, or "DeltaFIFO".
func (q *DeltaFIFO) Name() string { return q.name }

// Transformer returns the transformer in the options, nil if there is none.
func (q *DeltaFIFO) Transformer() cache.TransformFunc { return q.transformer }

// Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue is empty. The keys in a
// closed queue can still be popped. A closed queue still accepts changes. Closing again does nothing. Mirrors
// cache.DeltaFIFO.Close.
func (q *DeltaFIFO) Close() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.closed = true
	q.broadcast()
}

// IsClosed reports whether Close has been called. Mirrors cache.DeltaFIFO.IsClosed.
func (q *DeltaFIFO) IsClosed() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.closed
}
