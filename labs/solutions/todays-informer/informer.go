package todaysinformer

// This file puts the queue and the consumer under the informer of chapter 07. It mirrors newQueueFIFO and processLoop
// of client-go's tools/cache/controller.go.

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
)

// NewQueue returns the queue of an informer. A list is one item of the queue, and the consumer compares it with the
// store. Writers do not wait while an item is processed. The queue passes bookmarks on to the consumer. Each object
// goes through the transformer. A Reflector finds the transformer in the queue, so an object of a streamed list goes
// through it twice: when it arrives, and with the list.
//
// It mirrors cache.newQueueFIFO.
//
//workshop:task 5
func NewQueue(
	newRealFIFO func(options cache.RealFIFOOptions) layers.RealFIFO, transformer cache.TransformFunc,
) cache.QueueWithBatch {
	return NewBatchQueue(newRealFIFO(cache.RealFIFOOptions{
		AtomicEvents:          true,
		UnlockWhileProcessing: true,
		EmitDeltaTypeBookmark: true,
		Transformer:           transformer,
	}))
}

// Pop takes one item or one batch from the queue and applies it to the store. If the queue has batches
// (cache.QueueWithBatch), Pop takes a batch. Pop holds the lock while the store changes and the handler is called, and
// not while it waits for an item. If the queue is empty and closed, Pop returns cache.ErrFIFOClosed. Pop returns the
// error of an item that cannot be applied.
//
// It mirrors cache.controller.processLoop.
//
//workshop:task 5
func Pop(queue cache.Queue, store cache.Store, handler cache.ResourceEventHandler, lock sync.Locker) error {
	single := func(obj any, isInInitialList bool) error {
		deltas, ok := obj.(cache.Deltas)
		if !ok {
			return fmt.Errorf("process an item of the queue: %T instead of Deltas", obj)
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

// On returns the layers with a RealFIFO as the queue, and with Pop as its consumer.
func On(below layers.Layers) layers.Layers {
	newRealFIFO := below.NewRealFIFO
	below.NewDeltaFIFO = func(options cache.DeltaFIFOOptions) cache.Queue {
		return NewQueue(newRealFIFO, options.Transformer)
	}
	below.Pop = Pop
	return below
}

// NewSharedIndexInformerOn returns an informer of chapter 07 that stands on the queue and the consumer of this package.
// newInformer is the constructor of chapter 07, and below are the other layers. Client-go has no such function, because
// its layers are fixed.
func NewSharedIndexInformerOn(newInformer layers.NewInformer, below layers.Layers, lw cache.ListerWatcher,
	example runtime.Object, options cache.SharedIndexInformerOptions,
) cache.SharedIndexInformer {
	return newInformer(On(below), lw, example, options)
}
