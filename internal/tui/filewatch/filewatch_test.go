package filewatch

// These tests bring their own events and their own clock (synctest), so that each asserts to the millisecond when a
// save is reported. folder_test.go has the events of a real system.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
)

// world is a folder with one file, and the system that may tell of it.
type world struct {
	t      *testing.T
	events chan fsnotify.Event
	start  time.Time

	mu      sync.Mutex
	text    string
	err     error
	reads   int
	reports []report
}

type report struct {
	text, by, err string
	at            time.Duration
}

// watched runs f while its world is watched, and then sees that the watching ends.
func watched(t *testing.T, all bool, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, events: make(chan fsnotify.Event), text: "first", start: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			watch(ctx, w.events, all, w.content, w.changed)
		}()
		synctest.Wait()
		require.Len(t, w.takeReports(), 1, "the files at the start are reported")
		f(t, w)
		cancel()
		<-ended // a bubble in which nothing can go on fails the test
	})
}

func (w *world) content() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	return w.text, w.err
}

func (w *world) changed(text, by string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := report{text: text, by: by, at: time.Since(w.start)}
	if err != nil {
		r.err = err.Error()
	}
	w.reports = append(w.reports, r)
}

func (w *world) save(text string) { w.set(text, nil) }

func (w *world) set(text string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text, w.err = text, err
}

// event is one that the system sends.
func (w *world) event() { w.events <- fsnotify.Event{} }

// after lets time pass until nothing is left to do.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // in the bubble: it takes no time
	synctest.Wait()
}

func (w *world) takeReports() []report {
	w.mu.Lock()
	defer w.mu.Unlock()
	reports := w.reports
	w.reports = nil
	return reports
}

func (w *world) one() report {
	w.t.Helper()
	reports := w.takeReports()
	require.Len(w.t, reports, 1, "a save is reported once")
	return reports[0]
}

func TestSave_with_an_event_is_reported_at_once(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		w.after(time.Minute)
		w.save("second")
		w.event()
		w.after(quiet)
		require.Equal(t, report{"second", Events, "", time.Minute + quiet}, w.one())
	})
}

// An editor truncates, writes, and renames: that is one save.
func TestSave_of_many_events_is_reported_once_and_whole(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		for _, text := range []string{"", "sec", "second"} {
			w.save(text)
			w.event()
			w.after(quiet / 2)
		}
		w.after(quiet)
		require.Equal(t, "second", w.one().text)
	})
}

func TestSave_is_reported_although_events_never_cease(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		w.save("second")
		for range 100 { // a program writes a log there
			w.event()
			w.after(quiet / 2)
		}
		save := w.one()
		require.Equal(t, "second", save.text)
		require.LessOrEqual(t, save.at, maxQuiet+quiet)
	})
}

func TestTouch_without_change_is_no_save(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		for range 10 {
			w.event()
			w.after(time.Second)
		}
		require.Empty(t, w.takeReports())
	})
}

func TestSave_without_an_event_is_found_and_looking_becomes_the_way(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		w.after(time.Minute)
		w.save("second")
		w.after(slowPoll + grace)
		save := w.one()
		require.Equal(t, "second", save.text)
		require.Equal(t, Polling, save.by, "it says how it finds out")
		for i := range 5 {
			w.save(fmt.Sprint("more ", i))
			w.after(fastPoll)
			require.Equal(t, fmt.Sprint("more ", i), w.one().text, "from then on it looks more often")
		}
	})
}

// A busy machine is late with its events; that is no reason to give them up.
func TestEvent_that_is_late_keeps_events_the_way(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		w.after(time.Minute + slowPoll - 10*time.Millisecond)
		w.save("second")
		w.after(grace / 2) // it has been seen by now
		require.Empty(t, w.takeReports(), "what may be half a save is not reported while its event may come")
		w.save("second, whole")
		w.event()
		w.after(quiet)
		save := w.one()
		require.Equal(t, "second, whole", save.text)
		require.Equal(t, Events, save.by)
	})
}

// One event may be lost in a burst, when the system's queue is full.
func TestEvent_that_is_lost_after_others_came_keeps_events_the_way(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		w.save("second")
		w.event()
		w.after(quiet)
		require.Equal(t, "second", w.one().text)
		w.save("third")
		w.after(slowPoll + grace)
		save := w.one()
		require.Equal(t, "third", save.text)
		require.Equal(t, Events, save.by)
	})
}

func TestFolders_that_cannot_all_be_watched_are_looked_at(t *testing.T) {
	watched(t, false, func(t *testing.T, w *world) {
		w.save("second")
		w.after(fastPoll)
		save := w.one()
		require.Equal(t, "second", save.text)
		require.Equal(t, Polling, save.by)
	})
}

func TestEvents_that_end_are_replaced_by_looks(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		close(w.events)
		w.after(fastPoll)
		w.save("second")
		w.after(fastPoll)
		save := w.one()
		require.Equal(t, "second", save.text)
		require.Equal(t, Polling, save.by)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Less(t, w.reads, 10, "a closed channel is not asked again and again")
	})
}

func TestError_is_reported_once_and_so_is_its_end(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		w.set("", errors.New("permission denied"))
		w.event()
		w.after(time.Minute)
		require.Equal(t, report{"error: permission denied", Events, "permission denied", quiet}, w.one())
		w.set("first", nil) // as it was before
		w.event()
		w.after(time.Minute)
		save := w.one()
		require.Equal(t, "first", save.text)
		require.Empty(t, save.err)
	})
}

func TestError_that_no_event_tells_of_is_reported_as_an_error(t *testing.T) {
	watched(t, true, func(t *testing.T, w *world) {
		w.after(time.Minute)
		w.set("", errors.New("gone"))
		w.after(time.Minute)
		require.Equal(t, "gone", w.one().err)
	})
}

func TestWatch_ends_with_its_context_also_while_it_waits(t *testing.T) {
	for name, reach := range map[string]func(w *world){
		"at rest":      func(*world) {},
		"in a burst":   func(w *world) { w.event() },
		"for an event": func(w *world) { w.after(slowPoll - time.Millisecond); w.save("second"); w.after(2 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) { watched(t, true, func(t *testing.T, w *world) { reach(w) }) })
	}
}

func TestThousand_saves_are_each_told(t *testing.T) {
	for name, events := range map[string]bool{"by events": true, "by looks": false} {
		t.Run(name, func(t *testing.T) {
			watched(t, events, func(t *testing.T, w *world) {
				for i := range 1000 {
					text := fmt.Sprint("save ", i)
					w.save(text)
					if events {
						w.event()
					}
					w.after(fastPoll)
					require.Equal(t, text, w.one().text)
				}
			})
		})
	}
}
