package reflector

// This file is the bonus: a list that comes as a watch. The server sends what there is as ADDED, one by one, and then a
// bookmark that says: that was all. It need not hold the whole list in its memory, nor need the client. It is what
// client-go does first, since 0.35.

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// streamList begins a watch that sends what there is first, and replaces what is in the store when all of it has come. It
// returns the watch, which goes on from there. It returns nil and no error when the context ends; an error means that
// this server cannot do it, and that a list may.
//
// It asks for the last version that was seen, or for none. If the connection breaks before the bookmark, or the server
// refuses connections or has too much to do, it begins anew; if the server refuses the version, without one. Nothing of an
// attempt that did not get to its bookmark gets into the store, and no version in it counts as seen: its events are in no
// order. If Replace fails, it stops the watch and returns the error.
//
// ListAndWatchWithContext calls it first, each time anew, if r.streams; that it failed the last time means nothing.
//
//workshop:task 7
func (r *Reflector) streamList(ctx context.Context) (watch.Interface, error) {
	for ctx.Err() == nil {
		w, objs, version, err := r.stream(ctx)
		switch {
		case err == nil && w != nil:
			r.setUnavailable(false)
			if err := r.store.Replace(objs, version); err != nil {
				w.Stop()
				return nil, fmt.Errorf("replace what is in the store by the streamed list: %w", err)
			}
			r.setVersion(version)
			return w, nil
		case err == nil: // the connection broke
		case errors.Is(err, errStopped):
		case utilnet.IsConnectionRefused(err), apierrors.IsTooManyRequests(err):
			r.sleep(ctx)
		case expired(err), tooLarge(err):
			r.setUnavailable(true)
		default:
			return nil, err
		}
	}
	return nil, nil
}

// stream tries once. Without a bookmark there is no watch.
//
//workshop:omit
func (r *Reflector) stream(ctx context.Context) (w watch.Interface, objs []any, version string, err error) {
	initial := true
	start := r.clock.Now()
	w, err = r.lw.WatchWithContext(ctx, metav1.ListOptions{
		ResourceVersion: r.knownVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, SendInitialEvents: &initial,
		AllowWatchBookmarks: true, TimeoutSeconds: r.timeoutSeconds(),
	})
	if err != nil {
		return nil, nil, "", err
	}
	collected := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	version, err = r.consume(ctx, w, collected, consuming{start: start, initial: true})
	if err != nil || version == "" {
		return nil, nil, "", err
	}
	return w, collected.List(), version, nil
}
