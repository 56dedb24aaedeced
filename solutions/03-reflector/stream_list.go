package reflector

// This file is the bonus: a list that comes as a watch. The server sends its objects as ADDED, one by one, and then a
// bookmark that ends the list. Neither server nor client holds the whole list in its encoded form. client-go tries this
// first, since 0.35.

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// streamList starts a watch that begins with the objects that exist, collects them up to the bookmark that ends them,
// and replaces the store's contents. It returns the watch, which goes on from there. It returns errStopped if the
// context ends. Any other error means that this server cannot stream a list, or that the store has failed; a list may
// succeed.
//
// It asks for the store's version, or for none. If the connection breaks before the bookmark, or the server refuses
// connections or has too much to do, it starts again; if the server refuses the version, without one. An attempt that
// did not reach its bookmark leaves nothing in the store, and none of its versions counts as seen: its events have no
// order. If Replace fails, streamList stops the watch and returns the error.
//
// ListAndWatchWithContext calls it first, on every call, if r.streams; an earlier failure means nothing.
//
//workshop:task 7
func (r *Reflector) streamList(ctx context.Context) (watch.Interface, error) {
	for ctx.Err() == nil {
		list, err := r.stream(ctx)
		switch {
		case err == nil:
			r.setUnavailable(false)
			if err := r.store.Replace(list.objects, list.version); err != nil {
				list.watch.Stop()
				return nil, fmt.Errorf("replace the store's contents by the streamed list: %w", err)
			}
			r.setVersion(list.version)
			return list.watch, nil
		case err == io.EOF: // the connection broke
		case again(err):
			r.sleep(ctx)
		case expired(err), tooLarge(err):
			r.setUnavailable(true)
		default:
			return nil, err
		}
	}
	return nil, errStopped
}

// streamedList is a list that came by a watch. The watch goes on from there.
//
//workshop:omit
type streamedList struct {
	watch   watch.Interface
	objects []any
	version string
}

// stream tries once. It returns io.EOF if the watch ended before the bookmark.
//
//workshop:omit
func (r *Reflector) stream(ctx context.Context) (streamedList, error) {
	initial := true
	start := r.clock.Now()
	w, err := r.lw.WatchWithContext(ctx, metav1.ListOptions{
		ResourceVersion: r.knownVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:   &initial,
		AllowWatchBookmarks: true, TimeoutSeconds: r.timeoutSeconds(),
	})
	if err != nil {
		return streamedList{}, err
	}
	collected := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	current := &session{Interface: w, start: start}
	for {
		event, object, err := r.nextEvent(ctx, current)
		if err != nil {
			w.Stop()
			return streamedList{}, err
		}
		if event.Type == watch.Bookmark && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			return streamedList{w, collected.List(), object.GetResourceVersion()}, nil
		}
		r.apply(ctx, collected, event, object.GetResourceVersion())
	}
}
