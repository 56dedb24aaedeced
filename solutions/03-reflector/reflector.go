// Package reflector keeps a store equal to the server, whatever ends a watch.
//
//	ListWatch ──▶ [ Reflector ] ──▶ DeltaFIFO, or any other store
//
// The files, in the order in which a Reflector uses them:
//
//   - reflector.go: the constructor, the loop that never ends, and the version.
//   - list.go: a list replaces the store's contents.
//   - watch.go: watches bring every change after the list.
//   - resync.go: the store goes over its objects again.
//   - stream_list.go: a list that comes as a watch. It is the bonus.
//
// The options are client-go's own. This package leaves out the names that client-go makes from the caller's line,
// objects in Table form, the logging of slow lists, and the handler for watch errors.
package reflector

// This file has the Reflector: its constructor, the loop that never ends, and the version. list.go and watch.go do the
// work. It mirrors client-go's tools/cache/reflector.go.
//
//workshop:file omit

import (
	"context"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/utils/clock"
)

// The durations of a Reflector.
const (
	// minWatchTimeout is the shortest time that a watch asks to last.
	minWatchTimeout = 5 * time.Minute
	// The back-off starts with backoffFirst and doubles up to backoffMost. Chance makes each wait up to twice as
	// long. After backoffReset the back-off starts with backoffFirst again.
	backoffFirst = 800 * time.Millisecond
	backoffMost  = 30 * time.Second
	backoffReset = 2 * time.Minute
	// shortWatch is the shortest time that a watch without an event lasts. A shorter one is broken: see
	// cache.VeryShortWatchError.
	//
	//workshop:omit
	shortWatch = time.Second
	// internalErrorReset is the minResetPeriod of cache.NewRetryWithDeadline. After this time without an internal
	// error, the next one counts as the first again.
	//
	//workshop:omit
	internalErrorReset = time.Minute
)

// Reflector keeps a store equal to the objects of one resource on a server. Mirrors cache.Reflector.
//
// Only one goroutine at a time may call RunWithContext or ListAndWatchWithContext. Set the exported fields before. Any
// goroutine may call the other methods.
type Reflector struct {
	name     string
	lw       cache.ListerWatcherWithContext
	store    cache.ReflectorStore
	expected expected
	clock    clock.Clock

	resyncPeriod time.Duration
	watchTimeout time.Duration
	// delay returns the duration of the next wait. Each call counts as one wait.
	delay wait.DelayFunc
	// streams is true if lw supports streaming lists, and client-go's gate WatchListClient is on.
	streams bool
	// paged is true if the list at "0" came in pages: there may be no watch cache, so relists come in pages too.
	//
	//workshop:omit
	paged bool

	// lock guards version and unavailable.
	//
	//workshop:omit
	lock sync.RWMutex
	// version is that of the last list, event or bookmark that the store has received.
	//
	//workshop:omit
	version string
	// unavailable is true if the server has refused version.
	//
	//workshop:omit
	unavailable bool

	// WatchListPageSize is the number of objects in a page of every list. If it is 0, the list at "0" comes in pages
	// of the pager's own size, and relists at a version come in one piece. If the list at "0" came in pages, relists do
	// too.
	WatchListPageSize int64
	// ShouldResync is called before each resync. If it returns false, this resync is skipped. Nil means true.
	ShouldResync func() bool
	// MaxInternalErrorRetryDuration limits how long watches that end with internal errors start again without a
	// list.
	MaxInternalErrorRetryDuration time.Duration
}

// NewReflector returns a Reflector that lists and watches with lw and fills store. Objects of other types than
// expectedType are left out; nil means any type. It mirrors cache.NewReflector.
func NewReflector(
	lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore, resyncPeriod time.Duration,
) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, cache.ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewReflectorWithOptions is NewReflector with options. A MinWatchTimeout below five minutes is ignored. If
// expectedType is an *unstructured.Unstructured with a kind, objects of other kinds are left out too. options.Clock
// measures all durations; nil means the real clock.
//
// It mirrors cache.NewReflectorWithOptions.
func NewReflectorWithOptions(
	lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore, options cache.ReflectorOptions,
) *Reflector {
	r := &Reflector{
		name:         options.Name,
		lw:           cache.ToListerWatcherWithContext(lw),
		store:        store,
		expected:     expecting(expectedType),
		clock:        options.Clock,
		resyncPeriod: options.ResyncPeriod,
		watchTimeout: max(options.MinWatchTimeout, minWatchTimeout),
		streams: features.FeatureGates().Enabled(features.WatchListClient) &&
			!watchlist.DoesClientNotSupportWatchListSemantics(lw),
	}
	if r.clock == nil {
		r.clock = clock.RealClock{}
	}
	backoff := options.Backoff
	if backoff == nil {
		backoff = &wait.Backoff{Duration: backoffFirst, Cap: backoffMost, Factor: 2, Jitter: 1,
			Steps: int(backoffMost / backoffFirst)}
	}
	r.delay = backoff.DelayWithReset(r.clock, backoffReset)
	return r
}

// RunWithContext calls ListAndWatchWithContext again and again until the context ends. It waits for the back-off after
// each call. It mirrors cache.Reflector.RunWithContext.
//
//workshop:task 2
func (r *Reflector) RunWithContext(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.ListAndWatchWithContext(ctx); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Failed to list or watch", "reflector", r.name)
		}
		r.sleep(ctx)
	}
}

// sleep waits for the back-off or the end of the context.
func (r *Reflector) sleep(ctx context.Context) {
	timer := r.clock.NewTimer(r.delay())
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// ListAndWatchWithContext replaces the store's contents by a list. The events of watches follow, one watch after
// another, until a list is due or the context ends.
//
// The first list asks for version 0. The store does not receive a list that comes after the end of the context. The
// slice that Replace receives belongs to the store.
//
// A watch starts at the last version, and asks for bookmarks. A watch asks to last at least five minutes, or
// MinWatchTimeout if that is longer, and at most twice as long. However a watch ends (even by a panic of the store),
// the Reflector stops it.
//
// ListAndWatchWithContext returns an error if a list or Replace failed, or if a watch could not start. The end of a
// watch that has started is not an error. The end of the context is not an error. When ListAndWatchWithContext returns,
// nothing of it is left: no watch, no goroutine and no call of the store.
//
// It mirrors cache.Reflector.ListAndWatchWithContext.
//
//workshop:task 1
func (r *Reflector) ListAndWatchWithContext(ctx context.Context) error {
	if r.streams {
		w, err := r.streamList(ctx)
		switch {
		case err == nil:
			return r.watchAndResync(ctx, w)
		case ctx.Err() != nil:
			return nil
		}
		// This server cannot stream a list now. An ordinary list is as good.
	}
	if err := r.list(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return r.watchAndResync(ctx, nil)
}

// LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has received. It is
// empty before the first list. It may be called from any goroutine.
//
// It mirrors cache.Reflector.LastSyncResourceVersion.
//
//workshop:task 1
func (r *Reflector) LastSyncResourceVersion() string {
	r.lock.RLock()
	defer r.lock.RUnlock()
	return r.version
}

// setVersion sets the version to that of the last list, event or bookmark that the store has received. The caller has
// passed that list or event to the store before.
func (r *Reflector) setVersion(version string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.version = version
}

// setUnavailable notes whether the server has refused the version: it has forgotten the version, or has not reached it.
// Only a list that was refused sets it, and only a list that succeeded clears it.
func (r *Reflector) setUnavailable(unavailable bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.unavailable = unavailable
}

// knownVersion returns the version of the store. It is empty if there is none, or if the server has refused it.
func (r *Reflector) knownVersion() string {
	r.lock.RLock()
	defer r.lock.RUnlock()
	if r.unavailable {
		return ""
	}
	return r.version
}

// timeoutSeconds returns how long the next watch asks to last, in seconds. Chance makes it up to twice as long as the
// timeout, so that the watches of a cluster do not all end together.
func (r *Reflector) timeoutSeconds() *int64 {
	seconds := int64(r.watchTimeout.Seconds() * (1 + rand.Float64()))
	return &seconds
}

// expected describes the objects that a Reflector accepts from a watch.
type expected struct {
	goType reflect.Type             // nil means any
	kind   *schema.GroupVersionKind // of unstructured objects
}

//workshop:keep
func expecting(example any) expected {
	e := expected{goType: reflect.TypeOf(example)}
	if u, ok := example.(*unstructured.Unstructured); ok {
		if kind := u.GroupVersionKind(); !kind.Empty() {
			e.kind = &kind
		}
	}
	return e
}
