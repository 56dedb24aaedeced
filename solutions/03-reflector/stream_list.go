package reflector

// This file is the bonus: a list that comes as a watch. The server sends its objects as ADDED, one by one, and then a
// bookmark that ends the list. Neither the server nor the client holds the whole list in its encoded form. client-go
// tries this first since 0.35.

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// maxUnfinished is the number of unfinished streams after which a list is due. A short outage can end two, at a server
// and at the proxy before it. Each may have lasted ten minutes, so a larger number would leave the store old for long.
//
//workshop:omit
const maxUnfinished = 3

// streamList replaces the store's contents by a streamed list, and returns the watch, which goes on from there.
// ListAndWatchWithContext calls streamList first, on every call, if r.streams.
//
// A stream is a watch with SendInitialEvents, AllowWatchBookmarks and ResourceVersionMatch NotOlderThan. It asks for
// the last version, or for none before the first list. The bookmark that ends a streamed list has the annotation
// InitialEventsAnnotationKey, with the value true. The store receives nothing of a stream that did not reach its
// bookmark. No version before the bookmark counts.
//
// How it goes on after a failure:
//   - If the server refuses the version, the next stream starts at once, without one.
//   - If a stream ends before its bookmark, a new stream starts after the back-off.
//   - If three streams in a row end before their bookmark, streamList returns an error, and a list follows. A request
//     that is refused between them does not end the row.
//   - If the server refuses connections or has too much to do (429, as an answer or as an event), a new stream starts
//     after the back-off.
//   - If streamList returns any other error, a list follows. A stream that lasted less than a second and brought
//     nothing is an error (cache.VeryShortWatchError).
//   - If the context ends, streamList returns an error, and no list follows.
//
// If the store is a cache.TransformingStore, each object is transformed when it arrives. If an object cannot be
// transformed, streamList returns the error. If Replace fails, streamList stops the watch and returns the error.
//
//workshop:task 7
func (r *Reflector) streamList(ctx context.Context) (watch.Interface, error) {
	unfinished := 0
	for ctx.Err() == nil {
		list, err := r.stream(ctx)
		switch {
		case err == nil:
			r.setUnavailable(false)
			defer onPanic(list.watch.Stop)
			if err := r.store.Replace(list.objects, list.version); err != nil {
				list.watch.Stop()
				return nil, fmt.Errorf("replace the store's contents by the streamed list: %w", err)
			}
			r.setVersion(list.version)
			return list.watch, nil
		case err == io.EOF: // the connection broke, or the server does not send the bookmark
			if unfinished++; unfinished == maxUnfinished {
				return nil, err
			}
			r.sleep(ctx)
		case again(err):
			r.sleep(ctx)
		case refused(err) && r.knownVersion() != "":
			r.setUnavailable(true)
		default:
			return nil, err
		}
	}
	return nil, errStopped
}

// onPanic is for defer. If the function panics, onPanic calls stop, and panics again.
//
//workshop:omit
func onPanic(stop func()) {
	if p := recover(); p != nil {
		stop()
		panic(p)
	}
}

// streamedList is a list that came by a watch. The watch goes on from there.
//
//workshop:omit
type streamedList struct {
	watch   watch.Interface
	objects []any
	version string
}

// stream tries once. If the watch ends before the bookmark, stream returns io.EOF. An io.EOF of the request is wrapped,
// so it is not that one.
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
		return streamedList{}, fmt.Errorf("start a stream: %w", err)
	}
	defer onPanic(w.Stop)
	collected := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc, r.collecting()...)
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
		if err := r.apply(ctx, collected, event, object.GetResourceVersion()); err != nil {
			w.Stop()
			return streamedList{}, fmt.Errorf("collect the streamed list: %v", err) // not wrapped: it is not the server's
		}
	}
}

// collecting returns the options of the store that collects a stream. It transforms as r.store does, so that at most
// one object is in memory as the server sent it.
//
//workshop:omit
func (r *Reflector) collecting() []cache.StoreOption {
	if s, ok := r.store.(cache.TransformingStore); ok {
		return []cache.StoreOption{cache.WithTransformer(s.Transformer())}
	}
	return nil
}
