// Package filewatch notices that somebody has saved a file.
//
// Where the system tells of changes (fsnotify), a save is noticed at once. On WSL2 drives, network folders and in some
// containers no such events arrive, and nothing says so; that is the most frequent complaint about tools like this one.
// So the files are also read every now and then, and when such a look finds a change that no event has told of, looking
// becomes the way, at a quicker pace. Content decides, not time stamps: a clock that jumps changes nothing, and saving a
// file as it was is no save.
//
// What it leaves out: what to do about it.
package filewatch

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
	settle    = 20 * time.Millisecond  // an editor writes, renames and touches; wait until it is done
	unsettled = 300 * time.Millisecond // but no longer than this
	grace     = 400 * time.Millisecond // how long an event may be behind a look before events count as missing
	trust     = 5 * time.Second        // so long after an event, one that is missing is just lost
	slowLook  = 500 * time.Millisecond
	fastLook  = 200 * time.Millisecond
)

// Watch calls changed whenever content changes, and once at the start, until ctx ends; then it returns. content sums up
// the files below folders; it is called on Watch's goroutine, as is changed. by tells how saves are noticed from then on,
// Events or Looks. An error from content is handed to changed in place of a sum, and once only until it goes away.
func Watch(ctx context.Context, folders []string, content func() (string, error), changed func(sum, by string, err error)) {
	events, all, stop := listen(folders)
	defer stop()
	watch(ctx, events, all, content, changed)
}

// listen asks the system for events of the folders and all below them. all is false if it does not give all of them.
func listen(folders []string) (events <-chan fsnotify.Event, all bool, stop func()) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, false, func() {}
	}
	all = true
	for _, folder := range folders {
		filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && notify.Add(path) != nil {
				all = false
			}
			return nil
		})
	}
	go func() { // lost events are found by looking
		for range notify.Errors {
		}
	}()
	return notify.Events, all, func() { notify.Close() }
}

// watch is Watch with events from anywhere. A nil channel never has one; a closed one will have no more.
func watch(ctx context.Context, events <-chan fsnotify.Event, all bool, content func() (string, error), changed func(sum, by string, err error)) {
	w := watcher{content: content, changed: changed, by: Events}
	if !all {
		w.by = Looks
	}
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
			w.hear(ctx, events)
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
	heard   time.Time // when the last event came; monotonic
}

// hear is called after an event, and waits until no further one has come for a moment. It does not wait for ever: a
// program may write a log there.
func (w *watcher) hear(ctx context.Context, events <-chan fsnotify.Event) {
	w.heard = time.Now()
	end := time.After(unsettled)
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
			w.heard = time.Now()
		case <-time.After(settle):
			return
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// lookUnasked looks although no event has come. If something has changed, an event is on its way that tells of it, or
// events do not arrive here. It waits for one before it tells, so that what changed is told once, with the right by.
func (w *watcher) lookUnasked(ctx context.Context, events <-chan fsnotify.Event) {
	if sum, _ := w.read(); sum == w.last {
		return
	}
	if w.by == Events {
		select {
		case _, ok := <-events:
			if ok {
				w.hear(ctx, events)
			}
		case <-time.After(grace):
			if time.Since(w.heard) > trust {
				w.by = Looks
			}
		case <-ctx.Done():
			return
		}
	}
	w.look()
}

// look tells of a change if there is one.
func (w *watcher) look() {
	sum, err := w.read()
	if w.started && sum == w.last {
		return
	}
	w.started, w.last = true, sum
	w.changed(sum, w.by, err)
}

// read is content, with an error for a sum where there is none.
func (w *watcher) read() (string, error) {
	sum, err := w.content()
	if err != nil {
		sum = fmt.Sprint("error: ", err)
	}
	return sum, err
}
