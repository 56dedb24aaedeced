package reflector

// This file is the watch: it applies every change after the list to the store, and chooses the next step when a watch
// ends.
//
//workshop:file omit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
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
//
//workshop:omit
var errStopped = errors.New("stop requested")

// watchAndResync watches, and resyncs meanwhile. If w is not nil, it is the first watch.
func (r *Reflector) watchAndResync(ctx context.Context, w watch.Interface) error {
	if r.resyncPeriod == 0 {
		return r.watch(ctx, w, nil)
	}
	resyncing, stop := context.WithCancel(ctx)
	failed := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.resync(resyncing, failed)
	}()
	defer func() {
		stop()
		<-ended
	}()
	return r.watch(ctx, w, failed)
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
func (r *Reflector) watch(ctx context.Context, w watch.Interface, failed <-chan error) error {
	retry := cache.NewRetryWithDeadline(r.MaxInternalErrorRetryDuration, internalErrorReset, apierrors.IsInternalError,
		r.clock)
	for ctx.Err() == nil {
		current := &session{Interface: w, start: r.clock.Now(), inOrder: true, failed: failed}
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
//
//workshop:task 4
func again(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// session is one watch.
//
//workshop:omit
type session struct {
	watch.Interface
	start time.Time
	// events counts the events that were of the expected type.
	events int
	// inOrder is true if each event has a larger version than the one before it, from the first event on.
	inOrder bool
	// failed receives the error of a resync. If it is nil, there is no resync.
	failed <-chan error
}

// consume applies the events of a watch to the store until the watch ends, and stops it. consume returns the errors of
// nextEvent, never nil.
//
// Each event moves the version, and so does a bookmark. But a watch without a version brings the current objects
// first, as ADDED and in any order. During that time the version does not move: a watch that resumed there would miss
// objects (#136583).
func (r *Reflector) consume(ctx context.Context, w *session) error {
	defer w.Stop()
	for {
		event, object, err := r.nextEvent(ctx, w)
		if err != nil {
			return err
		}
		version := object.GetResourceVersion() // now: the store may change the object
		// An error of the store does not end the watch or hold the version back: the next event is about another object,
		// and a new watch would bring the same event again.
		if err := r.apply(ctx, r.store, event, version); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "The store has not taken a watch event", "reflector", r.name,
				"event", event.Type)
		}
		w.inOrder = w.inOrder || event.Type == watch.Modified || event.Type == watch.Deleted || event.Type == watch.Bookmark
		if w.inOrder {
			r.advance(version)
		}
	}
}

// nextEvent returns the next event of a watch and the metadata of its object. It leaves out objects of other types and
// kinds than the expected ones. The error is
//
//   - errStopped if the context has ended,
//   - the error of a resync that has failed,
//   - the server's Status for an event of type ERROR,
//   - a cache.VeryShortWatchError if the watch has ended within a second and without an event,
//   - io.EOF if the watch has ended otherwise.
func (r *Reflector) nextEvent(ctx context.Context, w *session) (watch.Event, metav1.Object, error) {
	for {
		select {
		case <-ctx.Done():
			return watch.Event{}, nil, errStopped
		case err := <-w.failed:
			return watch.Event{}, nil, fmt.Errorf("resync: %v", err) // not wrapped: the store's 429 is not the server's
		case event, open := <-w.ResultChan():
			switch {
			case !open && w.events == 0 && r.clock.Since(w.start) < shortWatch:
				return watch.Event{}, nil, &cache.VeryShortWatchError{Name: r.name}
			case !open:
				return watch.Event{}, nil, io.EOF
			case event.Type == watch.Error:
				return watch.Event{}, nil, apierrors.FromObject(event.Object)
			}
			if object, ok := r.admit(ctx, event); ok {
				w.events++
				return event, object, nil
			}
		}
	}
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
//
//workshop:task 6
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
