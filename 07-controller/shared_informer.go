// This file is the shared informer: one list and watch, one cache, and any number of handlers that hear of every
// change.
//
//	Reflector ──▶ DeltaFIFO ──▶ [ deltas: first the store, then the handlers' queues ] ──▶ handler, handler, handler
//	                                  └──▶ Indexer
//
// It is made of four files:
//   - shared_informer.go, this one: what it consists of, and what can be set and asked.
//   - informer_run.go: how it starts, how it stops, and what happens with each delta.
//   - listener.go: one handler, and the queue that keeps it from holding up the others.
//   - handlers.go: handlers come, also late, hear of resyncs, and go.
//
// Left out of client-go's: metrics, the detector of cached objects that somebody changes, and the processing in batches
// that came with RealFIFO.

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/todo"
)

// sharedIndexInformer implements cache.SharedIndexInformer. All methods may be called from any goroutine, and from
// handlers.
//
// Of its two locks mu is taken first. No lock is held while a handler runs.
type sharedIndexInformer struct {
	below   layers.Layers
	lw      cache.ListerWatcher
	example runtime.Object
	options cache.SharedIndexInformerOptions
	indexer cache.Indexer

	// synced is closed when the store has everything of the first list.
	synced chan struct{}

	// mu guards these. What is set after the start would not be heard.
	mu                sync.Mutex
	started, stopped  bool
	transform         cache.TransformFunc
	watchErrorHandler cache.WatchErrorHandlerWithContext
	// resyncCheck is how often it is asked whether a resync is due: the informer's own period, or a shorter one that
	// a handler has asked for before the start.
	resyncCheck time.Duration
	queue       cache.Queue      // nil before the start
	reflector   layers.Reflector // likewise

	// deltas is held while a delta goes to the store and to the listeners, and by callers that need the moment between two
	// deltas. It guards listeners and their schedules.
	deltas    sync.Mutex
	listeners map[*listener]*schedule
	// running counts the goroutines of listeners.
	running sync.WaitGroup
}

// NewSharedIndexInformer returns an informer on client-go's layers. Mirrors cache.NewSharedIndexInformer.
func NewSharedIndexInformer(
	lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, example,
		cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: indexers})
}

// NewSharedIndexInformerWithOptions is NewSharedIndexInformer with all that can be said. Mirrors
// cache.NewSharedIndexInformerWithOptions.
func NewSharedIndexInformerWithOptions(
	lw cache.ListerWatcher, example runtime.Object, options cache.SharedIndexInformerOptions,
) cache.SharedIndexInformer {
	return NewSharedIndexInformerOn(clientgo.Layers, lw, example, options)
}

// NewSharedIndexInformerOn returns an informer on the layers of one's choice. The options are client-go's; those about
// metrics are not used. client-go has no such function: there the layers are nailed down.
func NewSharedIndexInformerOn(
	below layers.Layers, lw cache.ListerWatcher, example runtime.Object, options cache.SharedIndexInformerOptions,
) cache.SharedIndexInformer {
	return &sharedIndexInformer{
		below:             below,
		lw:                lw,
		example:           example,
		options:           options,
		indexer:           below.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, options.Indexers),
		synced:            make(chan struct{}),
		watchErrorHandler: cache.DefaultWatchErrorHandler,
		resyncCheck:       options.ResyncPeriod,
		listeners:         map[*listener]*schedule{},
	}
}

// GetStore is the cache. Who reads from it shares the objects with all others, and must not change them.
func (s *sharedIndexInformer) GetStore() cache.Store { return s.indexer }

// GetIndexer is the same, with its indexes.
func (s *sharedIndexInformer) GetIndexer() cache.Indexer { return s.indexer }

// AddIndexers adds indexes, also after the start; they cover what is there already. After the end it is an error.
func (s *sharedIndexInformer) AddIndexers(indexers cache.Indexers) error {
	panic(todo.Task(5, "sharedIndexInformer.AddIndexers"))
}

// SetTransform has every object go through a function before anything else sees it, to make it smaller, say. It is an
// error after the start: what is in the store already would not have gone through it.
func (s *sharedIndexInformer) SetTransform(transform cache.TransformFunc) error {
	panic(todo.Task(5, "sharedIndexInformer.SetTransform"))
}

// SetWatchErrorHandlerWithContext sets what is told when a list, or the beginning of a watch, fails. It is an error
// after the start. The Reflector that it is given is good for nothing but its name.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	panic(todo.Task(5, "sharedIndexInformer.SetWatchErrorHandlerWithContext"))
}

// SetWatchErrorHandler is the same for handlers without a context.
func (s *sharedIndexInformer) SetWatchErrorHandler(handler cache.WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { handler(r, err) })
}

// HasSynced tells whether the store has everything of the first list. Handlers may not have heard of it yet: each
// registration has a HasSynced of its own.
func (s *sharedIndexInformer) HasSynced() bool { return cache.IsDone(s.HasSyncedChecker()) }

// HasSyncedChecker is the same, to wait for.
func (s *sharedIndexInformer) HasSyncedChecker() cache.DoneChecker {
	return done{fmt.Sprintf("SharedIndexInformer %T", s.example), s.synced}
}

// done is something to wait for. It implements cache.DoneChecker.
type done struct {
	name string
	ch   <-chan struct{}
}

func (d done) Name() string          { return d.name }
func (d done) Done() <-chan struct{} { return d.ch }

// LastSyncResourceVersion is the version that the Reflector has come to. It is empty before the first list.
func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reflector == nil {
		return ""
	}
	return s.reflector.LastSyncResourceVersion()
}

// IsStopped tells whether the informer has run, and has ended. It cannot run again.
func (s *sharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// Run is RunWithContext until a channel is closed.
func (s *sharedIndexInformer) Run(stop <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stop))
}

// GetController is for old code. What it returns can be asked, but not run.
func (s *sharedIndexInformer) GetController() cache.Controller { return onlyAsked{s} }

type onlyAsked struct{ *sharedIndexInformer }

func (onlyAsked) Run(<-chan struct{})            {}
func (onlyAsked) RunWithContext(context.Context) {}
