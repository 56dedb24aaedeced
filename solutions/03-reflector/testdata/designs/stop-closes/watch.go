package reflector

// In this design only one goroutine waits at a time. A watch is read with range until its channel closes: the end of the
// context calls Stop, and a watch.Interface closes its channel after Stop. A resync that fails cancels the context of the
// watches. So no select remains.
//
//	watch.go         range and context.AfterFunc
//	stream_list.go   the same for the events before the bookmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// errStopped means that a watch or a list has ended because the context has.
var errStopped = errors.New("stop requested")

// watchAndResync watches, and resyncs meanwhile. If w is not nil, it is the first watch.
func (r *Reflector) watchAndResync(ctx context.Context, w watch.Interface) error {
	if r.resyncPeriod == 0 {
		return r.watch(ctx, w)
	}
	ctx, stop := context.WithCancel(ctx)
	var resyncing sync.WaitGroup
	defer resyncing.Wait()
	defer stop()
	resyncing.Go(func() {
		failed := make(chan error, 1)
		if r.resync(ctx, failed); len(failed) > 0 {
			stop()
		}
	})
	return r.watch(ctx, w)
}

// watch starts one watch after another, each at the last version, until a list is due or the context ends. If w is not
// nil, it is the first watch. watch returns an error only if a watch could not start.
//
//   - When a watch ends, watch starts the next one. But after a watch that lasted less than a second and brought
//     nothing, a list is due.
//   - If the server refuses connections, or has too much to do (429, as answer or as event), it has forgotten nothing:
//     the next watch starts after the back-off.
//   - After an internal error the next watch starts at once, within MaxInternalErrorRetryDuration.
//   - Any other error makes a list due. The most common one is 410.
func (r *Reflector) watch(ctx context.Context, w watch.Interface) error {
	retry := cache.NewRetryWithDeadline(r.MaxInternalErrorRetryDuration, internalErrorReset, apierrors.IsInternalError,
		r.clock)
	for ctx.Err() == nil {
		current := &session{Interface: w, start: r.clock.Now(), inOrder: true}
		if w == nil {
			options := metav1.ListOptions{
				ResourceVersion: r.LastSyncResourceVersion(), TimeoutSeconds: r.timeoutSeconds(), AllowWatchBookmarks: true,
			}
			// Without a version the server sends the current objects first, in any order.
			current.inOrder = options.ResourceVersion != "" && options.ResourceVersion != "0"
			var err error
			current.Interface, err = r.lw.WatchWithContext(ctx, options)
			switch {
			case err == nil:
			case ctx.Err() != nil:
				return nil
			case again(err):
				r.sleep(ctx)
				continue
			default:
				return err
			}
		}
		w = nil
		err := r.consume(ctx, current)
		retry.After(err)
		switch {
		case err == io.EOF: // usually the server's timeout
		case apierrors.IsTooManyRequests(err):
			r.sleep(ctx)
		case apierrors.IsInternalError(err) && retry.ShouldRetry():
		default:
			return nil
		}
	}
	if w != nil {
		w.Stop()
	}
	return nil
}

// again reports whether a watch that could not start can start later, at the same version: the server refuses
// connections, or has too much to do (429). The error may be wrapped.
func again(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// session is one watch.
type session struct {
	watch.Interface
	start time.Time
	// events counts the events that were of the expected type.
	events int
	// inOrder is true if each event has a larger version than the one before it, from the first event on.
	inOrder bool
}

// consume applies the events of a watch to the store until the watch ends, and stops it. The error is never nil: that of
// an ERROR event, or that of ended.
//
// Each event moves the version, and so does a bookmark. But a watch without a version brings the current objects
// first, as ADDED and in any order. During that time the version does not move.
func (r *Reflector) consume(ctx context.Context, w *session) error {
	defer w.Stop()
	defer context.AfterFunc(ctx, w.Stop)()
	for event := range w.ResultChan() {
		if ctx.Err() != nil {
			break // after Stop the channel may still have events
		}
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		object, ok := r.admit(ctx, event)
		if !ok {
			continue
		}
		w.events++
		version := object.GetResourceVersion() // now: the store may change the object
		if err := r.apply(ctx, r.store, event, version); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "The store has not taken a watch event", "reflector", r.name,
				"event", event.Type)
		}
		w.inOrder = w.inOrder || event.Type == watch.Modified || event.Type == watch.Deleted || event.Type == watch.Bookmark
		if w.inOrder {
			r.advance(version)
		}
	}
	return r.ended(ctx, w)
}

// ended returns why the channel of a watch has closed: errStopped, a cache.VeryShortWatchError or io.EOF.
func (r *Reflector) ended(ctx context.Context, w *session) error {
	switch {
	case ctx.Err() != nil:
		return errStopped
	case w.events == 0 && r.clock.Since(w.start) < shortWatch:
		return &cache.VeryShortWatchError{Name: r.name}
	}
	return io.EOF
}

// admit returns the metadata of an event's object, and reports whether the object is of the expected type and kind.
func (r *Reflector) admit(ctx context.Context, event watch.Event) (metav1.Object, bool) {
	if r.expected.goType != nil && reflect.TypeOf(event.Object) != r.expected.goType {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unexpected type in watch event", "reflector", r.name, "type",
			fmt.Sprintf("%T", event.Object))
		return nil, false
	}
	if r.expected.kind != nil && event.Object.GetObjectKind().GroupVersionKind() != *r.expected.kind {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unexpected kind in watch event", "reflector", r.name, "kind",
			event.Object.GetObjectKind().GroupVersionKind())
		return nil, false
	}
	object, err := meta.Accessor(event.Object)
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Object without metadata in watch event", "reflector", r.name)
		return nil, false
	}
	return object, true
}

// apply applies an event to a store, and returns the store's error. Events of unknown types are left out.
func (r *Reflector) apply(ctx context.Context, store cache.ReflectorStore, event watch.Event, version string) error {
	switch event.Type {
	case watch.Added:
		return store.Add(event.Object)
	case watch.Modified:
		return store.Update(event.Object)
	case watch.Deleted:
		return store.Delete(event.Object)
	case watch.Bookmark:
		if s, ok := store.(cache.ReflectorBookmarkStore); ok {
			return applyBookmark(s, version)
		}
		return nil
	}
	utilruntime.HandleErrorWithContext(ctx, nil, "Unknown watch event", "reflector", r.name, "event", event.Type)
	return nil
}

// applyBookmark passes the version of a bookmark to a store that implements cache.ReflectorBookmarkStore. It returns
// the store's error.
func applyBookmark(store cache.ReflectorBookmarkStore, version string) error {
	return store.Bookmark(version)
}

// advance moves the version, and passes it to a store that implements cache.ResourceVersionUpdater.
func (r *Reflector) advance(version string) {
	r.setVersion(version)
	if s, ok := r.store.(cache.ResourceVersionUpdater); ok {
		s.UpdateResourceVersion(version)
	}
}
