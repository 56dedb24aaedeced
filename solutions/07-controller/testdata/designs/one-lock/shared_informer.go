// This design of the informer has one lock for everything: the settings, the listeners, and the moment between two
// deltas. That is right because nothing that it guards takes long: the queue before a handler has no bound, and handlers
// run without it. It differs from the solution in these files:
//   - shared_informer.go, this one: no lock called deltas; mu is the fair one.
//   - informer_run.go: handleDeltas and awaitSync take mu.
//   - handlers.go: callers that have mu need no second lock.

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
)

// sharedIndexInformer implements cache.SharedIndexInformer. All methods may be called from any goroutine, and from
// handlers.
//
// No lock is held while a handler runs.
type sharedIndexInformer struct {
	below   layers.Layers
	lw      cache.ListerWatcher
	example runtime.Object
	options cache.SharedIndexInformerOptions
	indexer cache.Indexer

	// synced is closed when the store has every object of the first list.
	synced chan struct{}

	// mu guards the rest. It is held while a delta goes to the store and to the listeners.
	mu                fairLock
	started, stopped  bool
	transform         cache.TransformFunc
	watchErrorHandler cache.WatchErrorHandlerWithContext
	// resyncCheck is the time between two questions whether a resync is due: the informer's own period, or a shorter
	// one that a handler has asked for before the start.
	resyncCheck time.Duration
	queue       cache.Queue      // nil before the start
	reflector   layers.Reflector // likewise

	listeners map[*listener]*schedule
	// running counts the goroutines of listeners.
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

// NewSharedIndexInformer returns an informer on client-go's layers. Mirrors cache.NewSharedIndexInformer.
func NewSharedIndexInformer(
	lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, example,
		cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: indexers})
}

// NewSharedIndexInformerWithOptions is NewSharedIndexInformer with all options. Mirrors
// cache.NewSharedIndexInformerWithOptions.
func NewSharedIndexInformerWithOptions(
	lw cache.ListerWatcher, example runtime.Object, options cache.SharedIndexInformerOptions,
) cache.SharedIndexInformer {
	return NewSharedIndexInformerOn(clientgo.Layers, lw, example, options)
}

// NewSharedIndexInformerOn returns an informer on the layers that the caller chooses. The options are client-go's; those
// about metrics are not used. Client-go has no such function: there the layers are fixed.
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

// AddIndexers adds indexes to the store, before or after the start. They cover the objects that are already in the
// store. AddIndexers returns the indexer's error, for example for an index that exists already. AddIndexers returns an
// error after the end.
func (s *sharedIndexInformer) AddIndexers(indexers cache.Indexers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("add indexers: the informer has stopped already")
	}
	return s.indexer.AddIndexers(indexers)
}

// errStarted refuses settings that have no effect after the start.
var errStarted = errors.New("the informer has started already")

// SetTransform sets the function that every object passes through before it is stored. Handlers and the store receive
// the objects that the transform returns. SetTransform returns an error after the start. A second SetTransform replaces
// the first.
func (s *sharedIndexInformer) SetTransform(transform cache.TransformFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return fmt.Errorf("set a transform: %w", errStarted)
	}
	s.transform = transform
	return nil
}

// SetWatchErrorHandlerWithContext sets the function that receives each error of the Reflector.
// SetWatchErrorHandlerWithContext returns an error after the start.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return fmt.Errorf("set a handler of watch errors: %w", errStarted)
	}
	s.watchErrorHandler = handler
	return nil
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
