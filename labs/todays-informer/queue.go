package todaysinformer

// This file makes a queue with batches of a RealFIFO, which hands out one item at a time. It mirrors PopBatch of
// client-go's tools/cache/the_real_fifo.go.

import (
	"sync/atomic"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/todo"
)

// maxBatch is the largest number of changes in a batch.
const maxBatch = 1000

// BatchQueue is a RealFIFO that also hands out batches. It implements cache.QueueWithBatch. Any goroutine may write to
// the queue, but only one may call Pop or PopBatch.
type BatchQueue struct {
	layers.RealFIFO
	// waiting is the number of items in the queue. For a moment it can be lower, and even negative: an item is in the
	// queue first, and is counted then.
	waiting atomic.Int64
}

var (
	_ cache.QueueWithBatch    = (*BatchQueue)(nil)
	_ cache.TransformingStore = (*BatchQueue)(nil)
)

// NewBatchQueue returns a queue that stands on an empty RealFIFO with AtomicEvents and EmitDeltaTypeBookmark. The
// caller must not use the RealFIFO again.
func NewBatchQueue(fifo layers.RealFIFO) *BatchQueue { return &BatchQueue{RealFIFO: fifo} }

// PopBatch removes items and processes them in the order of arrival. It waits while the queue is empty. Changes of
// different objects that are waiting go to processBatch together, 1000 at most. A ReplacedAll, a SyncAll and a Bookmark
// are not in a batch: processSingle receives each of them alone, as cache.Deltas. No batch has two changes of one
// object, because the old state of the second one is not in the store yet. A change that is alone goes to
// processSingle. The slice that processBatch receives belongs to it.
//
// PopBatch does not wait for a batch to fill. HasSynced does not become true before the first list has been processed.
// PopBatch returns the errors of processBatch and processSingle. It does not put the items back. If the queue is empty
// and closed, PopBatch returns cache.ErrFIFOClosed.
//
// It mirrors cache.RealFIFO.PopBatch.
func (q *BatchQueue) PopBatch(processBatch cache.ProcessBatchFunc, processSingle cache.PopProcessFunc) error {
	panic(todo.Task(4, "BatchQueue.PopBatch"))
}

// Pop is the RealFIFO's. It counts the item that has left the queue. No item leaves a closed queue that is empty, and
// its count does not matter any more.
func (q *BatchQueue) Pop(process cache.PopProcessFunc) (any, error) {
	defer q.waiting.Add(-1) // also after a panic
	return q.RealFIFO.Pop(process)
}

// Add is the RealFIFO's. With AtomicEvents each call of Add, Update, Delete, Bookmark, Replace and Resync adds one item
// to the queue, which is counted here.
func (q *BatchQueue) Add(obj any) error { return q.count(q.RealFIFO.Add(obj)) }

// Update is described at Add.
func (q *BatchQueue) Update(obj any) error { return q.count(q.RealFIFO.Update(obj)) }

// Delete is described at Add.
func (q *BatchQueue) Delete(obj any) error { return q.count(q.RealFIFO.Delete(obj)) }

// Bookmark is described at Add.
func (q *BatchQueue) Bookmark(version string) error { return q.count(q.RealFIFO.Bookmark(version)) }

// Replace is described at Add.
func (q *BatchQueue) Replace(list []any, version string) error {
	return q.count(q.RealFIFO.Replace(list, version))
}

// Resync is described at Add.
func (q *BatchQueue) Resync() error { return q.count(q.RealFIFO.Resync()) }

// count counts one item if it has come in.
func (q *BatchQueue) count(err error) error {
	if err == nil {
		q.waiting.Add(1)
	}
	return err
}
