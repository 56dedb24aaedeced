package reflector

// In this design each watch has a goroutine, the pump. The pump reads the watch's channel, leaves out unexpected objects,
// passes the other events on, and reports the end of the watch as an error. So the loop reads one channel. The pump ends
// with its watch: however a watch ends, consume stops it and waits for the pump. An atomic pointer to one value replaces
// the lock, the version and the refusal. A map collects a streamed list.
//
//	list.go          as in the solution, but for the position
//	reflector.go     the position in place of lock, version and unavailable
//	watch.go         the pump, and the loop behind it
//	stream_list.go   a map by namespace and name

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
func again(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// session is one watch.
type session struct {
	watch.Interface
	start time.Time
	// inOrder is true if each event has a larger version than the one before it, from the first event on.
	inOrder bool
	// failed receives the error of a resync. If it is nil, there is no resync.
	failed <-chan error
	// events has the events that the Reflector lets in. It is closed behind the last one; then err says how it ended.
	events chan admitted
	err    error
	// quit is closed when nothing reads events any more.
	quit chan struct{}
	// list is true if the pump ends at the bookmark that ends a streamed list, so that the next session gets the rest.
	list bool
}

// admitted is an event of the expected type and kind.
type admitted struct {
	watch.Event
	object metav1.Object
}

// pump passes the events of a watch on until the watch ends, or until quit is closed.
func (r *Reflector) pump(ctx context.Context, w *session) {
	defer close(w.events)
	count := 0
	for {
		var event watch.Event
		var open bool
		select {
		case <-w.quit:
			return
		case event, open = <-w.ResultChan():
		}
		switch {
		case !open && count == 0 && r.clock.Since(w.start) < shortWatch:
			w.err = &cache.VeryShortWatchError{Name: r.name}
			return
		case !open:
			w.err = io.EOF
			return
		case event.Type == watch.Error:
			w.err = apierrors.FromObject(event.Object)
			return
		}
		object, ok := r.admit(ctx, event)
		if !ok {
			continue
		}
		count++
		select {
		case <-w.quit:
			return
		case w.events <- admitted{event, object}:
		}
		if w.list && endsList(event, object) {
			return
		}
	}
}

// endsList reports whether an event ends a streamed list.
func endsList(event watch.Event, object metav1.Object) bool {
	return event.Type == watch.Bookmark && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// run starts the pump.
func (r *Reflector) run(ctx context.Context, w *session) {
	w.events, w.quit = make(chan admitted), make(chan struct{})
	go r.pump(ctx, w)
}

// end stops the watch and waits for the pump.
func (w *session) end() {
	w.Stop()
	w.detach()
}

// detach waits for the pump, and leaves the watch open.
func (w *session) detach() {
	close(w.quit)
	for range w.events { // until the pump has closed it
	}
}

// next returns the next event, or the reason why there is none.
func (w *session) next(ctx context.Context) (admitted, error) {
	select {
	case <-ctx.Done():
		return admitted{}, errStopped
	case err := <-w.failed:
		return admitted{}, fmt.Errorf("resync: %v", err) // not wrapped: the store's 429 is not the server's
	case event, open := <-w.events:
		if !open {
			return admitted{}, w.err
		}
		return event, nil
	}
}

// consume applies the events of a watch to the store until the watch ends, and stops it. It returns the errors of next,
// never nil.
func (r *Reflector) consume(ctx context.Context, w *session) error {
	r.run(ctx, w)
	defer w.end()
	for {
		event, err := w.next(ctx)
		if err != nil {
			return err
		}
		version := event.object.GetResourceVersion()
		if err := r.apply(ctx, r.store, event.Event, version); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "The store has not taken a watch event", "reflector", r.name,
				"event", event.Type)
		}
		w.inOrder = w.inOrder || event.Type == watch.Modified || event.Type == watch.Deleted || event.Type == watch.Bookmark
		if w.inOrder {
			r.advance(version)
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
