package controller

// This file is the shared informer: one list and watch, one cache, and any number of handlers that receive every
// change.
//
// It has four files:
//   - shared_informer.go, this one: its parts, its settings, and what you can ask it.
//   - informer_run.go: how it starts, how it stops, and how it processes a delta.
//   - listener.go: one handler and its queue.
//   - handlers.go: adding and removing handlers, and resyncs.
//
// Client-go's informer also has metrics, a detector of changes to cached objects, traces of slow handlers, and
// processing in batches, which RealFIFO has since 0.35.

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
// handlers. Lock mu before deltas.
type sharedIndexInformer struct {
	below   layers.Layers
	lw      cache.ListerWatcher
	example runtime.Object
	options cache.SharedIndexInformerOptions
	indexer cache.Indexer

	// synced is closed when the store has every object of the first list.
	synced chan struct{}

	// mu guards these.
	mu                sync.Mutex
	started, stopped  bool
	transform         cache.TransformFunc
	watchErrorHandler cache.WatchErrorHandlerWithContext
	// resyncCheck is the informer's pace: the time between two calls of shouldResync.
	resyncCheck time.Duration
	queue       cache.Queue      // nil before the start
	reflector   layers.Reflector // likewise

	// deltas guards listeners and their schedules. Nothing happens in the middle of a delta while it is held.
	deltas    fairLock
	listeners map[*listener]*schedule
	// running counts the goroutines of the listeners.
	running sync.WaitGroup
}

// fairLock is a lock that waiting goroutines receive in turn. A sync.Mutex often returns to the goroutine that has just
// released it. If handlers are added and removed without a pause, each delta would then wait for a millisecond.
//
// At most one goroutine waits for held: the one that holds next. So no goroutine can overtake it.
type fairLock struct{ next, held sync.Mutex }

func (l *fairLock) Lock() {
	l.next.Lock()
	defer l.next.Unlock()
	l.held.Lock()
}

func (l *fairLock) Unlock() { l.held.Unlock() }

// NewSharedIndexInformer returns an informer on client-go's layers. It mirrors cache.NewSharedIndexInformer.
func NewSharedIndexInformer(
	lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, example,
		cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: indexers})
}

// NewSharedIndexInformerWithOptions is NewSharedIndexInformer with all options. It mirrors
// cache.NewSharedIndexInformerWithOptions.
func NewSharedIndexInformerWithOptions(
	lw cache.ListerWatcher, example runtime.Object, options cache.SharedIndexInformerOptions,
) cache.SharedIndexInformer {
	return NewSharedIndexInformerOn(clientgo.Layers, lw, example, options)
}

// NewSharedIndexInformerOn returns an informer on the layers that the caller chooses. It ignores the options about
// metrics. Client-go has no such function, because its layers are fixed.
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

// GetStore returns the cache. Its objects are shared with every other reader and must not be changed.
func (s *sharedIndexInformer) GetStore() cache.Store { return s.indexer }

// GetIndexer returns the cache with its indexes.
func (s *sharedIndexInformer) GetIndexer() cache.Indexer { return s.indexer }

// AddIndexers adds indexes to the store, before or after the start. New indexes cover the objects that are already in
// the store.
//
// It returns the indexer's error, for example for an index that exists already. It then adds none of the indexes. It
// returns an error after the end.
func (s *sharedIndexInformer) AddIndexers(indexers cache.Indexers) error {
	panic(todo.Task(5, "sharedIndexInformer.AddIndexers"))
}

// SetTransform sets the function that every object passes through before it is stored. Handlers and the store receive
// the objects that the transform returns. A second SetTransform replaces the first.
//
// It returns an error after the start.
func (s *sharedIndexInformer) SetTransform(transform cache.TransformFunc) error {
	panic(todo.Task(5, "sharedIndexInformer.SetTransform"))
}

// SetWatchErrorHandlerWithContext sets the function that receives each error of the Reflector. It returns an error
// after the start.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	panic(todo.Task(5, "sharedIndexInformer.SetWatchErrorHandlerWithContext"))
}

// SetWatchErrorHandler is SetWatchErrorHandlerWithContext for handlers without a context.
func (s *sharedIndexInformer) SetWatchErrorHandler(handler cache.WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { handler(r, err) })
}

// HasSynced reports whether the store has every object of the first list. Handlers may not have received it yet: each
// registration has a HasSynced too.
func (s *sharedIndexInformer) HasSynced() bool { return cache.IsDone(s.HasSyncedChecker()) }

// HasSyncedChecker is done when HasSynced is true.
func (s *sharedIndexInformer) HasSyncedChecker() cache.DoneChecker {
	return done{fmt.Sprintf("SharedIndexInformer %T", s.example), s.synced}
}

// done implements cache.DoneChecker with a channel.
type done struct {
	name string
	ch   <-chan struct{}
}

func (d done) Name() string          { return d.name }
func (d done) Done() <-chan struct{} { return d.ch }

// LastSyncResourceVersion returns the version that the Reflector has reached. It is empty before the first list.
func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reflector == nil {
		return ""
	}
	return s.reflector.LastSyncResourceVersion()
}

// IsStopped reports whether the informer has run and has stopped. It cannot run again.
func (s *sharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// Run runs the informer until stop is closed. See RunWithContext.
func (s *sharedIndexInformer) Run(stop <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stop))
}

// GetController returns a controller for old code, which can call its methods but cannot run it.
func (s *sharedIndexInformer) GetController() cache.Controller { return onlyAsked{s} }

type onlyAsked struct{ *sharedIndexInformer }

func (onlyAsked) Run(<-chan struct{})            {}
func (onlyAsked) RunWithContext(context.Context) {}
