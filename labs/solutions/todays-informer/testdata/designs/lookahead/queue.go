package todaysinformer

// This design begins the next batch with an item that does not fit into the current one, in the same call. PopBatch
// returns when nothing is in its hand. It is correct because an item that is in its hand after a Pop is a change of one
// object, and more items are waiting: HasSynced does not depend on it, and the next Pop does not wait. The items are
// counted under a lock.

import (
	"errors"
	"sync"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
)

const maxBatch = 1000

type BatchQueue struct {
	layers.RealFIFO
	lock         sync.Mutex // guards the fields below
	added, taken int        // items
}

func NewBatchQueue(fifo layers.RealFIFO) *BatchQueue { return &BatchQueue{RealFIFO: fifo} }

func (q *BatchQueue) PopBatch(processBatch cache.ProcessBatchFunc, processSingle cache.PopProcessFunc) error {
	hand := hand{processBatch: processBatch, processSingle: processSingle, keys: map[string]bool{}}
	for {
		_, err := q.Pop(func(obj any, isInInitialList bool) error {
			hand.isInInitialList = isInInitialList
			for _, item := range obj.(cache.Deltas) {
				hand.take(item, q.isEmpty())
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(hand.batch) == 0 {
			return errors.Join(hand.errs...)
		}
	}
}

// hand has the items that were taken from the queue and are not processed yet.
type hand struct {
	processBatch    cache.ProcessBatchFunc
	processSingle   cache.PopProcessFunc
	isInInitialList bool
	batch           []cache.Delta
	keys            map[string]bool
	errs            []error
}

// take takes one more item. If it is the last one, everything in the hand is processed.
func (h *hand) take(item cache.Delta, last bool) {
	key, err := keyOf(item.Object)
	if err != nil || !batchable(item) {
		h.flush()
		h.errs = append(h.errs, h.processSingle(cache.Deltas{item}, h.isInInitialList))
		return
	}
	if h.keys[key] {
		h.flush()
	}
	h.batch, h.keys[key] = append(h.batch, item), true
	if last || len(h.batch) == maxBatch {
		h.flush()
	}
}

// flush processes the batch.
func (h *hand) flush() {
	switch len(h.batch) {
	case 0:
		return
	case 1:
		h.errs = append(h.errs, h.processSingle(cache.Deltas(h.batch), h.isInInitialList))
	default:
		h.errs = append(h.errs, h.processBatch(h.batch, h.isInInitialList))
	}
	h.batch = nil
	clear(h.keys)
}

// isEmpty reports whether no counted item is waiting.
func (q *BatchQueue) isEmpty() bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.taken >= q.added
}

func (q *BatchQueue) Pop(process cache.PopProcessFunc) (any, error) {
	return q.RealFIFO.Pop(func(obj any, isInInitialList bool) error {
		q.lock.Lock()
		q.taken++
		q.lock.Unlock()
		return process(obj, isInInitialList)
	})
}

func (q *BatchQueue) Add(obj any) error { return q.count(q.RealFIFO.Add(obj)) }

func (q *BatchQueue) Update(obj any) error { return q.count(q.RealFIFO.Update(obj)) }

func (q *BatchQueue) Delete(obj any) error { return q.count(q.RealFIFO.Delete(obj)) }

func (q *BatchQueue) Bookmark(version string) error { return q.count(q.RealFIFO.Bookmark(version)) }

func (q *BatchQueue) Replace(list []any, version string) error {
	return q.count(q.RealFIFO.Replace(list, version))
}

func (q *BatchQueue) Resync() error { return q.count(q.RealFIFO.Resync()) }

// count counts one item if it has come in.
func (q *BatchQueue) count(err error) error {
	q.lock.Lock()
	defer q.lock.Unlock()
	if err == nil {
		q.added++
	}
	return err
}
