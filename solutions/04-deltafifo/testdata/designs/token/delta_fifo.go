// Package deltafifo re-creates client-go's DeltaFIFO, the queue between the Reflector and the informer. For each object
// it holds the changes that the consumer has not received yet.
package deltafifo

// In this design the lock is a channel with room for one token, and each waiting Pop has a channel of its own. This is
// correct because a Pop that finds the queue empty adds its channel before it releases the lock, and a woken Pop looks
// again. Objects are transformed before the key function sees them. What has no order comes from a map, so each run has
// another order. A context tells that the queue has synced, and the keys of the first list have a mark.

import (
	"container/list"
	"context"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
)

// DeltaFIFO is a queue of keys. For each key it holds the changes since the key was last popped, oldest first: its
// cache.Deltas. It implements cache.Queue and cache.TransformingStore.
//
// Every method may be called from any goroutine. Only Pop waits for more than the lock.
//
// The consumer that pops an object and the consumer's store share it with the queue. The queue never changes an object.
type DeltaFIFO struct {
	token   chan struct{}            // the goroutine that put the token in has the lock
	entries *list.List               // of *entry
	byKey   map[string]*list.Element // the elements of entries
	waiting *list.List               // of chan struct{}, one for each waiting Pop
	begun   bool                     // the first list has come, or an event
	left    int                      // entries of the first list that have not been processed
	closed  atomic.Bool

	synced    context.Context
	setSynced context.CancelFunc
	opts      cache.DeltaFIFOOptions
}

// entry is a pending key.
type entry struct {
	key    string
	first  bool // the key is of the first list
	deltas cache.Deltas
}

var (
	_ cache.Queue             = (*DeltaFIFO)(nil)
	_ cache.TransformingStore = (*DeltaFIFO)(nil)
	_ cache.DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFOWithOptions returns an empty queue. The default KeyFunction is cache.MetaNamespaceKeyFunc.
//
// It mirrors cache.NewDeltaFIFOWithOptions.
func NewDeltaFIFOWithOptions(opts cache.DeltaFIFOOptions) *DeltaFIFO {
	if opts.KeyFunction == nil {
		opts.KeyFunction = cache.MetaNamespaceKeyFunc
	}
	if opts.Name == "" {
		opts.Name = "DeltaFIFO"
	}
	q := &DeltaFIFO{
		token:   make(chan struct{}, 1),
		entries: list.New(),
		byKey:   map[string]*list.Element{},
		waiting: list.New(),
		opts:    opts,
	}
	q.synced, q.setSynced = context.WithCancel(context.Background())
	return q
}

func (q *DeltaFIFO) acquire() { q.token <- struct{}{} }
func (q *DeltaFIFO) release() { <-q.token }

// KeyOf returns the key of an object, of a tombstone, or of the newest object in Deltas.
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
	return q.opts.KeyFunction(obj)
}

// transform returns the result of the transformer for obj. It returns obj itself if there is no transformer, or if obj
// is a tombstone, whose object has been transformed before.
func transform(transformer cache.TransformFunc, obj any) (any, error) {
	if _, ok := obj.(cache.DeletedFinalStateUnknown); ok || transformer == nil {
		return obj, nil
	}
	return transformer(obj)
}

// arrive transforms obj and finds its key. It does not need the lock.
func (q *DeltaFIFO) arrive(obj any) (string, any, error) {
	obj, err := transform(q.opts.Transformer, obj)
	if err != nil {
		return "", nil, err
	}
	key, err := q.KeyOf(obj)
	if err != nil {
		return "", nil, cache.KeyError{Obj: obj, Err: err}
	}
	return key, obj, nil
}

// begin marks the pending keys as the first list. Later calls do nothing.
func (q *DeltaFIFO) begin(event bool) {
	if q.begun {
		return
	}
	q.begun = true
	for e := q.entries.Front(); e != nil && !event; e = e.Next() {
		e.Value.(*entry).first = true
		q.left++
	}
	if q.left == 0 {
		q.setSynced()
	}
}

// deltas returns the pending deltas of key.
func (q *DeltaFIFO) deltas(key string) cache.Deltas {
	if e, ok := q.byKey[key]; ok {
		return e.Value.(*entry).deltas
	}
	return nil
}

// enqueue adds a delta, and wakes a waiting Pop if the key is new.
func (q *DeltaFIFO) enqueue(key string, delta cache.Delta) {
	if _, ok := q.byKey[key]; !ok {
		q.byKey[key] = q.entries.PushBack(&entry{key: key})
		if w := q.waiting.Front(); w != nil {
			close(q.waiting.Remove(w).(chan struct{}))
		}
	}
	e := q.byKey[key].Value.(*entry)
	last := e.deltas.Newest()
	if last == nil || last.Type != cache.Deleted || delta.Type != cache.Deleted {
		e.deltas = append(e.deltas, delta)
	} else if _, ok := last.Object.(cache.DeletedFinalStateUnknown); ok {
		*last = delta
	}
}

// Add records an Added.
func (q *DeltaFIFO) Add(obj any) error { return q.record(cache.Added, obj) }

// Update records an Updated.
func (q *DeltaFIFO) Update(obj any) error { return q.record(cache.Updated, obj) }

func (q *DeltaFIFO) record(change cache.DeltaType, obj any) error {
	key, obj, err := q.arrive(obj)
	if err != nil {
		return err
	}
	q.acquire()
	defer q.release()
	q.begin(true)
	q.enqueue(key, cache.Delta{Type: change, Object: obj})
	return nil
}

// Delete records a Deleted if the object is pending or known.
func (q *DeltaFIFO) Delete(obj any) error {
	key, err := q.KeyOf(obj)
	if err != nil {
		return cache.KeyError{Obj: obj, Err: err}
	}
	q.acquire()
	defer q.release()
	q.begin(true)
	if q.deltas(key) == nil {
		if q.opts.KnownObjects == nil {
			return nil
		}
		if _, exists, err := q.opts.KnownObjects.GetByKey(key); !exists && err == nil {
			return nil
		}
	}
	if obj, err = transform(q.opts.Transformer, obj); err != nil {
		return err
	}
	q.enqueue(key, cache.Delta{Type: cache.Deleted, Object: obj})
	return nil
}

// Pop removes the first key and calls process with its deltas and the lock held.
func (q *DeltaFIFO) Pop(process cache.PopProcessFunc) (any, error) {
	q.acquire()
	defer q.release()
	for q.entries.Len() == 0 {
		if q.closed.Load() {
			return nil, cache.ErrFIFOClosed
		}
		wake := make(chan struct{})
		q.waiting.PushBack(wake)
		q.release()
		<-wake
		q.acquire()
	}
	e := q.entries.Remove(q.entries.Front()).(*entry)
	delete(q.byKey, e.key)
	if e.first {
		defer func() {
			if q.left--; q.left == 0 {
				q.setSynced()
			}
		}()
	}
	return e.deltas, process(e.deltas, e.first)
}

// HasSynced reports whether the first list has been processed.
func (q *DeltaFIFO) HasSynced() bool { return q.synced.Err() != nil }

// Done returns a channel that is closed when HasSynced becomes true.
func (q *DeltaFIFO) Done() <-chan struct{} { return q.synced.Done() }

// HasSyncedChecker returns the queue itself.
func (q *DeltaFIFO) HasSyncedChecker() cache.DoneChecker { return q }

// Name returns the name in the options, or "DeltaFIFO".
func (q *DeltaFIFO) Name() string { return q.opts.Name }

// Transformer returns the transformer in the options, nil if there is none.
func (q *DeltaFIFO) Transformer() cache.TransformFunc { return q.opts.Transformer }

// Close makes every Pop return cache.ErrFIFOClosed as soon as the queue is empty.
func (q *DeltaFIFO) Close() {
	q.acquire()
	defer q.release()
	q.closed.Store(true)
	for w := q.waiting.Front(); w != nil; w = q.waiting.Front() {
		close(q.waiting.Remove(w).(chan struct{}))
	}
}

// IsClosed reports whether Close has been called.
func (q *DeltaFIFO) IsClosed() bool { return q.closed.Load() }
