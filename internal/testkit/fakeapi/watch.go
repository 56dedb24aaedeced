package fakeapi

// This file has watch: an answer that sends every change after a version, in order, and does not end. Without a
// version, with version 0, or with sendInitialEvents, it first sends the current objects.

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/utils/ptr"
)

const (
	// bookmarkPeriod is how often a watch that wants bookmarks gets one.
	bookmarkPeriod = time.Minute
	// bookmarkBeforeEnd is how long before the end there is another.
	bookmarkBeforeEnd = 2 * time.Second
	// minWatch is how long a watch lasts at least, if the client does not say. At most it is twice as long.
	minWatch = 30 * time.Minute
)

// watcher is one watch.
type watcher struct {
	*call
	stream    *stream
	selected  selection
	bookmarks bool
	// at is the revision up to which every change was sent. At the start of the watch it was start.
	at, start int64
}

func (c *call) watch() error {
	options, selected, err := c.options()
	if err != nil {
		return err
	}
	at, err := parseVersion(options.ResourceVersion)
	if err != nil {
		return internal(err.Error())
	}
	w := &watcher{call: c, selected: selected, bookmarks: options.AllowWatchBookmarks, at: at, start: at}
	c.lock.Lock()
	end, bookmark := c.endWatches, c.bookmarks
	c.lock.Unlock()
	c.watches.Add(1)
	defer c.watches.Add(-1)
	wanted := ptr.Deref(options.SendInitialEvents, false)
	objs, refused := w.look(options, wanted)
	if w.stream, err = newStream(c.w, c.r, c.res); err != nil {
		return err
	}
	if refused != nil {
		w.stream.send("ERROR", statusOfError(refused))
		return nil
	}
	if err := w.begin(objs, wanted); err == nil {
		w.run(lasting(options.TimeoutSeconds), end, bookmark)
	}
	return nil
}

// look sets the revision at which the watch starts, and returns the objects that it starts with. It runs before the
// answer starts: a client that makes a change after it has read the answer's head receives the change as an event.
func (w *watcher) look(options metav1.ListOptions, wanted bool) (objs []Object, err error) {
	switch {
	case wanted && w.at > 0:
		if err := w.reach(w.at); err != nil {
			return nil, err
		}
	case !wanted && w.at > 0:
		return nil, nil
	case !wanted && options.SendInitialEvents != nil:
		w.at, _ = w.store.current()
		w.start = w.at
		return nil, nil
	}
	objs, w.at, err = w.store.list(w.res, latest)
	w.start = w.at
	return objs, err
}

// begin sends the first objects, and the bookmark behind them if it is wanted. An error means that the client has gone.
func (w *watcher) begin(objs []Object, wanted bool) error {
	for _, obj := range objs {
		if err := w.change(change{now: obj}); err != nil {
			return err
		}
	}
	if err := w.stream.flush(); err != nil || !wanted {
		return err
	}
	return w.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
}

// lasting returns how long a watch lasts.
func lasting(seconds *int64) time.Duration {
	if s := ptr.Deref(seconds, 0); s != 0 {
		return time.Duration(s) * time.Second
	}
	return time.Duration(float64(minWatch) * (1 + rand.Float64()))
}

// run sends all changes until the watch ends. An error means that the client has gone, so there is nothing to report.
func (w *watcher) run(lasts time.Duration, end, bookmark <-chan struct{}) {
	ctx, cancel := context.WithTimeout(w.r.Context(), lasts)
	defer cancel()
	period := time.NewTicker(bookmarkPeriod)
	defer period.Stop()
	var last <-chan time.Time
	if lasts > bookmarkBeforeEnd {
		last = time.After(lasts - bookmarkBeforeEnd)
	}
	for {
		changed, err := w.sendChanges()
		if err != nil {
			return
		}
		select {
		case <-changed:
		case <-period.C:
			err = w.progress()
		case <-last:
			err = w.progress()
		case <-bookmark:
			w.lock.Lock()
			bookmark = w.Server.bookmarks
			w.lock.Unlock()
			err = w.bookmark(nil)
		case <-end:
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// sendChanges sends the changes since its last call. The channel is closed at the next change.
func (w *watcher) sendChanges() (<-chan struct{}, error) {
	changes, at, changed, err := w.store.since(w.res, w.at)
	if err != nil {
		w.stream.send("ERROR", statusOfError(err))
		return nil, err
	}
	for _, c := range changes {
		if err := w.change(c); err != nil {
			return nil, err
		}
	}
	w.at = at
	return changed, w.stream.flush()
}

// change sends one change of the selected objects: an object that joins or leaves the selection is added or deleted.
func (w *watcher) change(c change) error {
	before, now := w.selected.has(w.res, c.before), w.selected.has(w.res, c.now)
	switch {
	case now && before:
		return w.stream.add("MODIFIED", c.now)
	case now:
		return w.stream.add("ADDED", c.now)
	case before:
		last := c.before.DeepCopyObject().(Object)
		last.SetResourceVersion(strconv.FormatInt(c.revision, 10))
		return w.stream.add("DELETED", last)
	}
	return nil
}

// progress sends a bookmark if its version is a new one.
func (w *watcher) progress() error {
	if w.at == w.start {
		return nil
	}
	return w.bookmark(nil)
}

// bookmark sends the version up to which every change was sent, if the watch allows bookmarks.
func (w *watcher) bookmark(annotations map[string]string) error {
	if !w.bookmarks {
		return nil
	}
	obj := w.res.new()
	if d, ok := obj.(*appsv1.Deployment); ok {
		d.Spec.Replicas = new(int32) // as the real server's conversion leaves it
	}
	obj.SetResourceVersion(strconv.FormatInt(w.at, 10))
	obj.SetAnnotations(annotations)
	return w.stream.send("BOOKMARK", obj)
}

// stream writes events as the client wants them: JSON, one after another, or protobuf, each with its length before it.
type stream struct {
	w      http.ResponseWriter
	res    *resource
	form   accepted
	events streaming.Encoder
	// started says that an event was added: only the first Table has the columns.
	started bool
}

// newStream answers 200. If it returns an error, it has sent nothing.
func newStream(w http.ResponseWriter, r *http.Request, res *resource) (*stream, error) {
	form, err := negotiate(r)
	if err != nil {
		return nil, err
	}
	if form.info.StreamSerializer == nil {
		return nil, notAcceptable(r)
	}
	contentType := form.info.MediaType
	if contentType != runtime.ContentTypeJSON {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	frames := form.info.StreamSerializer.NewFrameWriter(w)
	s := &stream{w: w, res: res, form: form, events: streaming.NewEncoder(frames, form.info.StreamSerializer)}
	return s, s.flush()
}

// send writes an event and flushes it.
func (s *stream) send(kind string, obj runtime.Object) error {
	if err := s.add(kind, obj); err != nil {
		return err
	}
	return s.flush()
}

// add writes an event; the next flush sends it at the latest.
func (s *stream) add(kind string, obj runtime.Object) error {
	obj, err := s.form.shape(s.res, obj, !s.started)
	if err != nil {
		return err
	}
	s.started = true
	raw, err := encode(s.form.info.Serializer, obj)
	if err != nil {
		return err
	}
	return s.events.Encode(&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: raw}})
}

func (s *stream) flush() error { return http.NewResponseController(s.w).Flush() }
