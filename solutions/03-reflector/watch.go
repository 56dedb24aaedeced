package reflector

// This file is the watch: what happens after the list, told to the store event by event, and what is to be done when it
// ends. Most of a Reflector's life is here.
//
//workshop:file omit

import (
	"context"
	"errors"
	"fmt"
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

// errStopped is why a watch ended when the context did.
var errStopped = errors.New("stop requested")

// watchAndResync watches, beginning with w if there is one, and resyncs meanwhile.
func (r *Reflector) watchAndResync(ctx context.Context, w watch.Interface) error {
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

// watch watches from the version that the store has, again and again. It returns when a list is due, and then only
// if a watch could not be begun with an error. The context ends it without one.
//
//   - A watch that ends is begun again, from the version that the store has come to. One that lasted less than a second
//     and brought nothing is not: something is wrong with it.
//   - A server that refuses connections, or that has too much to do (429, be it as answer or as event), has forgotten
//     nothing. The watch is begun again after the back-off.
//   - An internal error in the watch is tried again at once, for as long as MaxInternalErrorRetryDuration says.
//   - Anything else, and 410 first of all, makes a list due.
func (r *Reflector) watch(ctx context.Context, w watch.Interface, failed <-chan error) error {
	retry := cache.NewRetryWithDeadline(r.MaxInternalErrorRetryDuration, internalErrorReset, apierrors.IsInternalError, r.clock)
	for ctx.Err() == nil {
		start := r.clock.Now()
		inOrder := true
		if w == nil {
			options := metav1.ListOptions{
				ResourceVersion: r.LastSyncResourceVersion(), TimeoutSeconds: r.timeoutSeconds(), AllowWatchBookmarks: true,
			}
			// Without a version the server begins with what there is, in any order.
			inOrder = options.ResourceVersion != "" && options.ResourceVersion != "0"
			var err error
			if w, err = r.lw.WatchWithContext(ctx, options); err != nil {
				if again(err) {
					r.sleep(ctx)
					continue
				}
				return err
			}
		}
		_, err := r.consume(ctx, w, r.store, consuming{start: start, inOrder: inOrder, failed: failed})
		w = nil
		retry.After(err)
		switch {
		case err == nil: // the server's time-out, most often
		case again(err):
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

// again says whether a watch is to be begun again after the back-off, from the version that the store has: the server
// refuses connections, or has too much to do (429). The error may be wrapped.
//
//workshop:task 4
func again(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// consuming is what there is to know of one watch.
type consuming struct {
	start time.Time
	// inOrder says that each event's version is larger than the one's before it, from the first event on.
	inOrder bool
	// failed brings the error of a resync.
	failed <-chan error
	// initial ends it with the bookmark that ends the initial events, and leaves the watch open. No version before that one
	// is the Reflector's.
	initial bool
}

// consume takes the events of a watch to a store, until it ends. It stops the watch, however it ends, but for an initial
// one that has come to its bookmark, whose version it returns.
//
// An event of another type, or kind, than is expected is left out. The version is that of the event once the store has it;
// bookmarks move it too, and are told to a store that wants to know. As long as events are not in order, which is while
// there are only ADDED of a watch without a version, it does not move: a watch that resumed there would miss the others
// (#136583). A watch that ends within a second and without an event is a cache.VeryShortWatchError.
func (r *Reflector) consume(ctx context.Context, w watch.Interface, store cache.ReflectorStore, c consuming) (version string, err error) {
	complete := false
	defer func() {
		if !complete {
			w.Stop()
		}
	}()
	events, inOrder := 0, c.inOrder
	for {
		var event watch.Event
		var open bool
		select {
		case <-ctx.Done():
			return "", errStopped
		case err := <-c.failed:
			return "", err
		case event, open = <-w.ResultChan():
		}
		if !open {
			if events == 0 && r.clock.Since(c.start) < shortWatch {
				return "", &cache.VeryShortWatchError{Name: r.name}
			}
			return "", nil
		}
		if event.Type == watch.Error {
			return "", apierrors.FromObject(event.Object)
		}
		about, ok := r.admit(ctx, event)
		if !ok {
			continue
		}
		r.tell(ctx, store, event, about.GetResourceVersion())
		events++
		inOrder = inOrder || event.Type != watch.Added
		if c.initial {
			if event.Type == watch.Bookmark && about.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				complete = true
				return about.GetResourceVersion(), nil
			}
			continue
		}
		if inOrder {
			r.advance(about.GetResourceVersion())
		}
	}
}

// admit says whether an event is about what is expected, and returns the metadata of its object.
func (r *Reflector) admit(ctx context.Context, event watch.Event) (metav1.Object, bool) {
	if r.expected.goType != nil && reflect.TypeOf(event.Object) != r.expected.goType {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unexpected type in watch event", "reflector", r.name, "type", fmt.Sprintf("%T", event.Object))
		return nil, false
	}
	if r.expected.kind != nil && event.Object.GetObjectKind().GroupVersionKind() != *r.expected.kind {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unexpected kind in watch event", "reflector", r.name, "kind", event.Object.GetObjectKind().GroupVersionKind())
		return nil, false
	}
	about, err := meta.Accessor(event.Object)
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Object without metadata in watch event", "reflector", r.name)
		return nil, false
	}
	return about, true
}

// tell brings an event to the store. What the store says against it does not end the watch, nor keep the version back: the
// next event is another object's, and from the server the same one would come again.
func (r *Reflector) tell(ctx context.Context, store cache.ReflectorStore, event watch.Event, version string) {
	var err error
	switch event.Type {
	case watch.Added:
		err = store.Add(event.Object)
	case watch.Modified:
		err = store.Update(event.Object)
	case watch.Deleted:
		err = store.Delete(event.Object)
	case watch.Bookmark:
		err = tellBookmark(store, version)
	default:
		err = fmt.Errorf("unknown type %q", event.Type)
	}
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "The store has not taken a watch event", "reflector", r.name, "event", event.Type)
	}
}

// tellBookmark tells a store that wants to know, which is one with the methods of cache.ReflectorBookmarkStore, of a
// bookmark. For other stores a bookmark is nothing.
//
//workshop:task 6
func tellBookmark(store cache.ReflectorStore, version string) error {
	if s, ok := store.(cache.ReflectorBookmarkStore); ok {
		return s.Bookmark(version)
	}
	return nil
}

// advance moves the version, and tells a store that wants to know.
func (r *Reflector) advance(version string) {
	r.setVersion(version)
	if s, ok := r.store.(cache.ResourceVersionUpdater); ok {
		s.UpdateResourceVersion(version)
	}
}
