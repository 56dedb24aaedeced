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

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/utils/clock"

	"client-go-workshop/internal/testkit/todo"
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
func (r *Reflector) RunWithContext(ctx context.Context) {
	panic(todo.Task(2, "Reflector.RunWithContext"))
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
func (r *Reflector) ListAndWatchWithContext(ctx context.Context) error {
	panic(todo.Task(1, "Reflector.ListAndWatchWithContext"))
}

// LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has received. It is
// empty before the first list. It may be called from any goroutine.
//
// It mirrors cache.Reflector.LastSyncResourceVersion.
func (r *Reflector) LastSyncResourceVersion() string {
	panic(todo.Task(1, "Reflector.LastSyncResourceVersion"))
}

// expected describes the objects that a Reflector accepts from a watch.
type expected struct {
	goType reflect.Type             // nil means any
	kind   *schema.GroupVersionKind // of unstructured objects
}

func expecting(example any) expected {
	e := expected{goType: reflect.TypeOf(example)}
	if u, ok := example.(*unstructured.Unstructured); ok {
		if kind := u.GroupVersionKind(); !kind.Empty() {
			e.kind = &kind
		}
	}
	return e
}
