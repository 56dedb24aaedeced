// Package todaysinformer puts client-go behind the names of the lab todays-informer, so that the lab's tests run over
// the real thing. It only names things. If client-go fails a test, the test is wrong.
package todaysinformer

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/processdeltas"
)

var keyOf = cache.DeletionHandlingMetaNamespaceKeyFunc

func ReplaceAll(handler cache.ResourceEventHandler, store cache.Store, list cache.ReplacedAllInfo,
	isInInitialList bool) error {
	return processdeltas.ReplacedAll(klog.Background(), handler, list, store, isInInitialList, keyOf)
}

func ProcessDeltas(handler cache.ResourceEventHandler, store cache.Store, deltas cache.Deltas,
	isInInitialList bool) error {
	return processdeltas.One(klog.Background(), handler, store, deltas, isInInitialList, keyOf)
}

func ProcessDeltasInBatch(handler cache.ResourceEventHandler, store cache.Store, deltas []cache.Delta,
	isInInitialList bool) error {
	return processdeltas.Batch(klog.Background(), handler, store, deltas, isInInitialList, keyOf)
}

type BatchQueue = cache.RealFIFO

// NewBatchQueue does not use the given queue: client-go's RealFIFO has batches itself.
func NewBatchQueue(fifo layers.RealFIFO) *BatchQueue { return newRealFIFO(fifo.Transformer()) }

func NewQueue(_ func(options cache.RealFIFOOptions) layers.RealFIFO,
	transformer cache.TransformFunc) cache.QueueWithBatch {
	return newRealFIFO(transformer)
}

func newRealFIFO(transformer cache.TransformFunc) *cache.RealFIFO {
	return cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true, Transformer: transformer,
	})
}

func Pop(queue cache.Queue, store cache.Store, handler cache.ResourceEventHandler, lock sync.Locker) error {
	single := func(obj any, isInInitialList bool) error {
		deltas, ok := obj.(cache.Deltas)
		if !ok {
			return errors.New("object given as Process argument is not Deltas")
		}
		lock.Lock()
		defer lock.Unlock()
		return ProcessDeltas(handler, store, deltas, isInInitialList)
	}
	batches, ok := queue.(cache.QueueWithBatch)
	if !ok {
		_, err := queue.Pop(single)
		return err
	}
	return batches.PopBatch(func(deltas []cache.Delta, isInInitialList bool) error {
		lock.Lock()
		defer lock.Unlock()
		return ProcessDeltasInBatch(handler, store, deltas, isInInitialList)
	}, single)
}

func On(below layers.Layers) layers.Layers {
	below.NewDeltaFIFO = func(options cache.DeltaFIFOOptions) cache.Queue { return newRealFIFO(options.Transformer) }
	below.Pop = Pop
	return below
}

// NewSharedIndexInformerOn does not use the layers: client-go's informer stands on client-go's.
func NewSharedIndexInformerOn(_ layers.NewInformer, _ layers.Layers, lw cache.ListerWatcher, example runtime.Object,
	options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(lw, example, options)
}
