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
// returns a checksum of the files below folders. Watch calls both on its own goroutine. by is how Watch notices saves
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
		switch {
		case w.event(pause):
		case !w.differs():
			continue
		case w.by == Polling:
		case w.event(grace): // it was late; the change is reported once, and w.by stays
		case time.Since(w.lastEvent) > trust:
			w.by = Polling
		}
		w.check()
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

// event waits up to d for an event, and then until there was none for a moment. That second wait is limited, because a
// program may write a log there all the time. event reports whether there was an event.
func (w *watcher) event(d time.Duration) bool {
	found := w.next(d)
	for end := time.Now().Add(maxQuiet); found && time.Now().Before(end) && w.next(quiet); {
	}
	return found
}

// next waits up to d for an event, and reports whether there was one.
func (w *watcher) next(d time.Duration) bool {
	select {
	case _, ok := <-w.events:
		if !ok {
			w.events, w.by = nil, Polling
			return false
		}
		w.lastEvent = time.Now()
		return true
	case <-time.After(d):
	case <-w.ctx.Done():
	}
	return false
}

// differs reports whether the files have changed since the last report.
func (w *watcher) differs() bool {
	sum, _ := w.read()
	return sum != w.last
}

// check reports a change if there is one.
func (w *watcher) check() {
	sum, err := w.read()
	if w.started && sum == w.last || w.ctx.Err() != nil {
		return
	}
	w.started, w.last = true, sum
	w.changed(sum, w.by, err)
}

// read returns content's checksum, or, if it fails, the error as one.
func (w *watcher) read() (string, error) {
	sum, err := w.content()
	if err != nil {
		sum = fmt.Sprint("error: ", err)
	}
	return sum, err
}
