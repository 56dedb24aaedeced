// Package filewatch reports when a file was saved.
//
// It listens to the system's file events (fsnotify). On WSL2 drives, network folders and in some containers no events
// arrive, and the system reports no error; users of such tools complain about this most. So Watch also polls the files,
// slowly. When a poll finds a change without an event, Watch stops trusting events and polls faster. It compares
// contents, not time stamps: a clock that jumps has no effect, and saving a file without a change is not a save.
package filewatch

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Events and Polling are the ways in which Watch notices a save.
const (
	Events  = "events"
	Polling = "polling"
)

const (
	quiet    = 20 * time.Millisecond  // an editor writes, renames and touches; wait until it is done
	maxQuiet = 300 * time.Millisecond // but no longer than this
	grace    = 400 * time.Millisecond // how much later than a poll an event may arrive
	trust    = 5 * time.Second        // for so long after an event, one missing event does not end the trust in events
	slowPoll = 500 * time.Millisecond
	fastPoll = 200 * time.Millisecond
)

// Watch calls changed once at the start and after each change of content, until ctx ends; then it returns. content
// returns a check sum of the files below folders. Watch calls both on its own goroutine. by is how Watch notices saves
// from then on, Events or Polling. If content returns an error, changed receives it once, until the error changes or
// ends.
func Watch(ctx context.Context, folders []string, content func() (string, error),
	changed func(sum, by string, err error)) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		watch(ctx, nil, false, content, changed)
		return
	}
	defer notify.Close()
	all := true // folders and the folders below them send events
	for _, folder := range folders {
		filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && notify.Add(path) != nil {
				all = false
			}
			return nil
		})
	}
	go func() { // polling finds the changes of lost events
		for range notify.Errors {
		}
	}()
	watch(ctx, notify.Events, all, content, changed)
}

// watch is Watch with given events. The channel may be nil, and may be closed. all is false if events are missing.
func watch(ctx context.Context, events <-chan fsnotify.Event, all bool, content func() (string, error),
	changed func(sum, by string, err error)) {
	w := watcher{ctx: ctx, events: events, content: content, changed: changed, by: Events}
	if !all {
		w.by = Polling
	}
	w.check()
	for ctx.Err() == nil {
		pause := slowPoll
		if w.by == Polling {
			pause = fastPoll
		}
		select {
		case <-ctx.Done():
		case _, ok := <-w.events:
			if !ok {
				w.events, w.by = nil, Polling
				continue
			}
			w.awaitQuiet()
			w.check()
		case <-time.After(pause):
			w.poll()
		}
	}
}

type watcher struct {
	ctx       context.Context
	events    <-chan fsnotify.Event
	content   func() (string, error)
	changed   func(sum, by string, err error)
	by        string
	last      string
	started   bool
	lastEvent time.Time
}

// awaitQuiet is called after an event, and waits until there was none for a moment. The wait is limited, because a
// program may write a log there all the time.
func (w *watcher) awaitQuiet() {
	w.lastEvent = time.Now()
	for end := time.After(maxQuiet); ; {
		select {
		case _, ok := <-w.events:
			if !ok {
				return
			}
			w.lastEvent = time.Now()
		case <-time.After(quiet):
			return
		case <-end:
			return
		case <-w.ctx.Done():
			return
		}
	}
}

// poll reads the files without an event. If they have changed, it waits for the event, so that it reports the change
// once and with the right by. If no event arrives, it stops trusting events.
func (w *watcher) poll() {
	if sum, _ := w.read(); sum == w.last {
		return
	}
	if w.by == Events {
		select {
		case _, ok := <-w.events:
			if ok {
				w.awaitQuiet()
			}
		case <-time.After(grace):
			if time.Since(w.lastEvent) > trust {
				w.by = Polling
			}
		case <-w.ctx.Done():
			return
		}
	}
	w.check()
}

// check reports a change if there is one.
func (w *watcher) check() {
	sum, err := w.read()
	if w.started && sum == w.last {
		return
	}
	w.started, w.last = true, sum
	w.changed(sum, w.by, err)
}

// read returns content's check sum, or, if it fails, the error as one.
func (w *watcher) read() (string, error) {
	sum, err := w.content()
	if err != nil {
		sum = fmt.Sprint("error: ", err)
	}
	return sum, err
}
