// Package saves notices that somebody has saved a file.
//
// Where the system tells of changes (fsnotify), a save is noticed at once. On WSL2 drives, network folders and in some
// containers no such events arrive, and nothing says so; that is the most frequent complaint about tools like this one.
// So the files are also read every now and then, and when such a look finds a change that no event has told of, looking
// becomes the way, at a quicker pace. Content decides, not time stamps: a clock that jumps changes nothing, and saving a
// file as it was is no save.
//
// What it leaves out: what to do about it.
package saves

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How it works out that something has changed.
const (
	Events = "events"
	Looks  = "polling"
)

const (
	settle   = 20 * time.Millisecond  // an editor writes, renames and touches; wait until it is done
	grace    = 400 * time.Millisecond // how long an event may be behind a look before events count as missing
	slowLook = 500 * time.Millisecond
	fastLook = 200 * time.Millisecond
)

// Watch calls changed whenever content changes, and once at the start, until ctx ends; then it returns. content sums up
// the files below folders; it is called on Watch's goroutine, as is changed. by tells how saves are noticed from then on,
// Events or Looks. An error from content is handed to changed in place of a sum, and once only until it goes away.
func Watch(ctx context.Context, folders []string, content func() (string, error), changed func(sum, by string, err error)) {
	w := watcher{content: content, changed: changed, by: Events}
	events, stop := w.listen(folders)
	defer stop()
	w.look()
	for {
		pace := slowLook
		if w.by == Looks {
			pace = fastLook
		}
		timer := time.NewTimer(pace)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case _, ok := <-events:
			timer.Stop()
			if !ok {
				events = nil
				w.by = Looks
				continue
			}
			w.drain(ctx, events)
			w.heard = time.Now()
			w.look()
		case <-timer.C:
			w.lookUnasked(ctx, events)
		}
	}
}

type watcher struct {
	content func() (string, error)
	changed func(sum, by string, err error)
	by      string
	last    string
	started bool
	heard   time.Time // of the last event; monotonic
}

// listen asks for events of the folders and all below them. Where that fails there are none, and looking remains.
func (w *watcher) listen(folders []string) (<-chan fsnotify.Event, func()) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.by = Looks
		return nil, func() {}
	}
	for _, folder := range folders {
		filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && notify.Add(path) != nil {
				w.by = Looks
			}
			return nil
		})
	}
	go func() { // lost events are found by looking
		for range notify.Errors {
		}
	}()
	return notify.Events, func() { notify.Close() }
}

// drain waits until no event has come for a moment.
func (w *watcher) drain(ctx context.Context, events <-chan fsnotify.Event) {
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
		case <-time.After(settle):
			return
		case <-ctx.Done():
			return
		}
	}
}

// lookUnasked looks although no event has come. A change that it finds is either told of by an event that is on its
// way, or events do not arrive here.
func (w *watcher) lookUnasked(ctx context.Context, events <-chan fsnotify.Event) {
	before := w.last
	w.look()
	if w.last == before || w.by == Looks {
		return
	}
	select {
	case <-events:
		w.heard = time.Now()
	case <-time.After(grace):
		if time.Since(w.heard) > grace+slowLook {
			w.by = Looks
			w.changed(w.last, w.by, nil)
		}
	case <-ctx.Done():
	}
}

// look tells of a change if there is one.
func (w *watcher) look() {
	sum, err := w.content()
	if err != nil {
		sum = fmt.Sprint("error: ", err)
	}
	if w.started && sum == w.last {
		return
	}
	w.started, w.last = true, sum
	w.changed(sum, w.by, err)
}
