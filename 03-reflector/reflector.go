// Package reflector is chapter 03 of the workshop: what keeps a store equal to the server, through every way in which a
// watch can die.
//
//	ListWatch ──▶ [ Reflector ] ──▶ DeltaFIFO, or any other store
//
// The files, in the order of a Reflector's life:
//
//   - reflector.go, this one: what it is made of, the endless loop, and the version that it has come to.
//   - list.go: everything at once.
//   - watch.go: what happens from then on, and what to do when it ends.
//   - resync.go: nothing has happened, and the store is told so.
//   - stream_list.go: everything at once, by a watch. It is the bonus.
//
// The options are client-go's own. What is left out: names made of the caller's line, objects in Table form, logging of
// slow lists, and a handler for errors that the informer can set.
package reflector

import (
	"context"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/utils/clock"

	"client-go-workshop/internal/testkit/todo"
)

// What a Reflector does not wait less, or more, than.
const (
	// minWatchTimeout is the shortest time that a watch is asked to last. At most it is twice as long.
	minWatchTimeout = 5 * time.Minute
	// The back-off between tries begins with backoffFirst, doubles up to backoffMost, and each wait may be up to twice as
	// long as that by chance, so that clients that were cut off together do not come back together. After backoffReset it
	// begins anew.
	backoffFirst = 800 * time.Millisecond
	backoffMost  = 30 * time.Second
	backoffReset = 2 * time.Minute
	// shortWatch is what a watch that brought nothing must last, or something is wrong with it.
	shortWatch = time.Second
	// internalErrorReset is the minResetPeriod of cache.NewRetryWithDeadline: after so long without an internal error, the
	// next one is the first again.
	internalErrorReset = time.Minute
)

// Reflector keeps a store equal to what a server has of one resource. Mirrors cache.Reflector.
//
// RunWithContext and ListAndWatchWithContext are for one goroutine at a time; the exported fields are set before. The
// other methods may be called from any goroutine.
type Reflector struct {
	name     string
	lw       cache.ListerWatcherWithContext
	store    cache.ReflectorStore
	expected expected
	clock    clock.Clock

	resyncPeriod time.Duration
	watchTimeout time.Duration
	// delay returns how long to wait before the next try, and counts it.
	delay wait.DelayFunc
	// streams is true if lw can list by a watch.
	streams bool
	// paged says that a list at "0" has come in pages. Then the server has no list in its memory that it could give in one
	// piece, and relists come in pages too. Whoever lists sets it; the pager says how a list has come.
	paged bool

	// lock guards version and unavailable.
	lock sync.RWMutex
	// version is that of the last list, event or bookmark which the store has got. Empty at first.
	version string
	// unavailable says that the server has refused version: it has forgotten it, or has not heard of it.
	unavailable bool

	// WatchListPageSize is how many objects a page of a list has. If it is 0, lists at "0" and "" are asked for in pages
	// of the pager's own size, and others in one piece, unless paged.
	WatchListPageSize int64
	// ShouldResync is asked before each resync. Nil is always.
	ShouldResync func() bool
	// MaxInternalErrorRetryDuration is how long a watch that ends with an internal error is begun again, without a list.
	MaxInternalErrorRetryDuration time.Duration
}

// NewReflector returns a Reflector that lists and watches by lw, and puts objects of the type of expectedType into
// store; nil is any type. Mirrors cache.NewReflector.
func NewReflector(
	lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore, resyncPeriod time.Duration,
) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, cache.ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewReflectorWithOptions is NewReflector with all that can be said. A MinWatchTimeout below five minutes is ignored.
// If expectedType is an *unstructured.Unstructured with a kind, objects of other kinds are left out as well. Mirrors
// cache.NewReflectorWithOptions.
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
		streams:      !watchlist.DoesClientNotSupportWatchListSemantics(lw),
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

// RunWithContext lists and watches, again and again, until the context ends. After each time, whether it went well or
// not, it waits for the back-off. Mirrors cache.Reflector.RunWithContext.
func (r *Reflector) RunWithContext(ctx context.Context) {
	panic(todo.Task(2, "Reflector.RunWithContext"))
}

// ListAndWatchWithContext fills the store with a list, and then keeps it up to date by watches, one after another,
// until one ends in a way after which a list is due, or until the context ends. It returns an error if there was no
// list, or if a watch could not be begun; however one ends that has begun, that is no error. A list that comes when the
// context has ended is not told to the store. When it returns nothing of it is left. Mirrors
// cache.Reflector.ListAndWatchWithContext.
func (r *Reflector) ListAndWatchWithContext(ctx context.Context) error {
	panic(todo.Task(1, "Reflector.ListAndWatchWithContext"))
}

// LastSyncResourceVersion is the version that the store has come to: that of the last list, event or bookmark. It is
// empty before the first list. Mirrors cache.Reflector.LastSyncResourceVersion.
func (r *Reflector) LastSyncResourceVersion() string {
	panic(todo.Task(1, "Reflector.LastSyncResourceVersion"))
}

// timeoutSeconds is how long the next watch is to last: at least the time-out, and up to twice as long by chance, so
// that the watches of a cluster do not all end together.
func (r *Reflector) timeoutSeconds() *int64 {
	seconds := int64(r.watchTimeout.Seconds() * (1 + rand.Float64()))
	return &seconds
}

// expected is what a Reflector lets into its store.
type expected struct {
	goType reflect.Type             // nil is any
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
