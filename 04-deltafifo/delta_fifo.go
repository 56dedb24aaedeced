// Package deltafifo re-creates client-go's DeltaFIFO, the queue between the Reflector and the informer. For each object
// it holds the changes that the consumer has not received yet.
//
// delta_fifo.go has the queue, relist.go has the methods for all objects at once, and initial_list.go tracks the first
// list. real_fifo.go is the bonus, today's queue.
package deltafifo

// This file has the queue and the methods for single objects: Add, Update, Delete and Pop. The Reflector calls those
// that write, and the informer calls Pop. It mirrors client-go's tools/cache/delta_fifo.go, without tracing of slow
// process functions, and without NewDeltaFIFO, which is deprecated.

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/todo"
)

// DeltaFIFO is a queue of keys. For each key it holds the changes since the key was last popped, oldest first: its
// cache.Deltas. It implements cache.Queue and cache.TransformingStore.
//
// Every method may be called from any goroutine. Only Pop waits for more than the lock. If the transformer panics, the
// method that called it releases the lock and panics too.
//
// The consumer that pops an object and the consumer's store share it with the queue. The queue never changes an object.
type DeltaFIFO struct {
	lock    sync.Mutex // guards the fields down to closed
	changed *sync.Cond
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

// NewDeltaFIFOWithOptions returns an empty queue. The default KeyFunction is cache.MetaNamespaceKeyFunc.
//
// KnownObjects is the store that the consumer fills with popped objects; nil means that there is none. The queue reads
// KnownObjects while it holds its lock.
//
// NewDeltaFIFOWithOptions mirrors cache.NewDeltaFIFOWithOptions.
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

// KeyOf returns the key that a tombstone (cache.DeletedFinalStateUnknown) carries. For cache.Deltas it returns the key
// of the newest object in them, which may be a tombstone. For any other object it returns the key or the error of the
// key function. KeyOf does not take the lock, so process may call it.
//
// For empty Deltas KeyOf returns a cache.KeyError that wraps cache.ErrZeroLengthDeltasObject.
//
// It mirrors cache.DeltaFIFO.KeyOf.
func (q *DeltaFIFO) KeyOf(obj any) (string, error) {
	panic(todo.Task(1, "DeltaFIFO.KeyOf"))
}

// Add records an Added with obj itself, not a copy. The first pending delta of a key puts the key at the back of the
// queue. Later deltas do not move the key. The object goes through the transformer first, if there is one.
//
// A key with many pending deltas takes no more work than one with few.
//
// If an object has no key, the error is a cache.KeyError that carries the object and wraps the key function's error. An
// error of the transformer is returned unchanged. A change that fails leaves nothing in the queue.
//
// It mirrors cache.DeltaFIFO.Add.
func (q *DeltaFIFO) Add(obj any) error {
	panic(todo.Task(1, "DeltaFIFO.Add"))
}

// Update is like Add, but records an Updated. It mirrors cache.DeltaFIFO.Update.
func (q *DeltaFIFO) Update(obj any) error {
	panic(todo.Task(1, "DeltaFIFO.Update"))
}

// Delete is like Add, but records a Deleted. Instead of the object's last state, obj may be a tombstone. A tombstone
// does not go through the transformer.
//
// If the key has no pending deltas and the object is not known, Delete records nothing, does not call the transformer,
// and returns nil. Without known objects (nil) only pending deltas count. If the lookup of the known object fails,
// Delete records the deletion.
//
// Two deletions in a row become one. If the earlier deletion is a tombstone, the later one replaces it; otherwise the
// earlier one stays. Only deletions in a row are merged.
//
// It mirrors cache.DeltaFIFO.Delete.
func (q *DeltaFIFO) Delete(obj any) error {
	panic(todo.Task(2, "DeltaFIFO.Delete"))
}

// Pop removes the first key and calls process with its cache.Deltas, oldest first, and with whether the key belongs to
// the first list. It returns the error of process with the deltas, and does not put them back. The Deltas belong to the
// caller. The queue keeps nothing of a popped key.
//
// Pop blocks while the queue is empty. Several Pops may wait at the same time, and each key goes to one of them. If the
// queue is empty and closed, Pop returns cache.ErrFIFOClosed.
//
// process runs under the queue's lock. It must be quick, and must not call methods of the queue that take the lock
// (client-go's HasSynced does). If process panics, Pop releases the lock, counts the key as processed, and panics too.
//
// Pop mirrors cache.DeltaFIFO.Pop.
func (q *DeltaFIFO) Pop(process cache.PopProcessFunc) (any, error) {
	panic(todo.Task(1, "DeltaFIFO.Pop"))
}

// HasSynced reports whether every key that was in the queue after the first Replace, deletions included, has been
// popped and processed. Once true, it stays true.
//
// A key counts once, even if the list had two objects of it. A key counts even if process returned an error or
// panicked.
//
// If Add, Update or Delete is called before any Replace, HasSynced is true from then on, and no key belongs to the
// first list. A Delete before any Replace makes HasSynced true, even if it records nothing. Whether a call that
// returned an error counts is not specified.
//
// It mirrors cache.DeltaFIFO.HasSynced.
func (q *DeltaFIFO) HasSynced() bool {
	panic(todo.Task(4, "DeltaFIFO.HasSynced"))
}

// Done returns a channel that is closed when HasSynced becomes true. It mirrors cache.DeltaFIFO.Done.
func (q *DeltaFIFO) Done() <-chan struct{} {
	panic(todo.Task(4, "DeltaFIFO.Done"))
}

// HasSyncedChecker returns the queue itself, whose Name and Done make it a cache.DoneChecker for cache.WaitFor.
func (q *DeltaFIFO) HasSyncedChecker() cache.DoneChecker { return q }

// Name returns the name in the options, or "DeltaFIFO".
func (q *DeltaFIFO) Name() string { return q.name }

// Transformer returns the transformer in the options, nil if there is none.
func (q *DeltaFIFO) Transformer() cache.TransformFunc { return q.transformer }

// Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue is empty. The keys in a
// closed queue can still be popped. A closed queue still accepts changes. Closing again does nothing.
//
// It mirrors cache.DeltaFIFO.Close.
func (q *DeltaFIFO) Close() {
	panic(todo.Task(5, "DeltaFIFO.Close"))
}

// IsClosed reports whether Close has been called. It mirrors cache.DeltaFIFO.IsClosed.
func (q *DeltaFIFO) IsClosed() bool {
	panic(todo.Task(5, "DeltaFIFO.IsClosed"))
}
