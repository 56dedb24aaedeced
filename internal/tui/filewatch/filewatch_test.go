package filewatch

// These tests bring their own clock (synctest), so that each asserts to the millisecond when a save is reported.
// folder_test.go waits for reports in real time.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// world is a folder with one file.
type world struct {
	t     *testing.T
	path  string
	start time.Time

	mu      sync.Mutex
	err     error // of reading it
	reports []time.Duration
	reads   int
}

// watched runs f while its world is watched, and then sees that the watching ends.
func watched(t *testing.T, f func(w *world)) {
	t.Helper()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, path: filepath.Join(folder, "a.go"), start: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Watch(ctx, func() []string { return []string{folder} }, w.content, w.saved)
		}()
		w.after(pause)
		require.Len(t, w.takeReports(), 1, "the files at the start are reported")
		f(w)
		cancel()
		<-ended // a bubble in which nothing can go on fails the test
	})
}

func (w *world) content() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	text, err := os.ReadFile(w.path)
	if os.IsNotExist(err) {
		err = nil
	}
	return string(text), errors.Join(err, w.err)
}

func (w *world) saved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reports = append(w.reports, time.Since(w.start))
}

func (w *world) save(text string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(w.path, []byte(text), 0o644))
}

// after lets time pass until nothing is left to do.
func (w *world) after(d time.Duration) {
	time.Sleep(d) // in the bubble: it takes no time
	synctest.Wait()
}

func (w *world) takeReports() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	reports := w.reports
	w.reports = nil
	return reports
}

// takeReads returns how often the content was read since the last call.
func (w *world) takeReads() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	reads := w.reads
	w.reads = 0
	return reads
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

func TestSave_is_reported_once_after_the_next_poll(t *testing.T) {
	watched(t, func(w *world) {
		w.after(time.Minute)
		now := time.Since(w.start)
		w.save("second")
		w.after(time.Minute)
		reports := w.takeReports()
		require.Len(t, reports, 1)
		require.LessOrEqual(t, reports[0]-now, pause+2*quiet)
	})
}

// An editor truncates, writes, and renames: that is one save.
func TestSave_of_many_writes_is_reported_once_and_whole(t *testing.T) {
	watched(t, func(w *world) {
		for _, text := range []string{"", "sec", "second", "second, whole"} {
			w.save(text)
			w.after(quiet / 2)
		}
		w.after(time.Minute)
		require.Len(t, w.takeReports(), 1)
	})
}

func TestSave_is_reported_although_writes_never_cease(t *testing.T) {
	watched(t, func(w *world) {
		before := time.Since(w.start)
		for n := range 100 { // a program writes a log there
			w.save(string(make([]byte, n)))
			w.after(quiet / 2)
		}
		require.LessOrEqual(t, w.takeReports()[0]-before, pause+maxQuiet+quiet)
	})
}

func TestTouch_without_change_is_no_save(t *testing.T) {
	watched(t, func(w *world) {
		w.save("one")
		w.after(time.Second)
		w.takeReports()
		w.takeReads()
		for _, year := range []int{1980, 2100, 2020} { // a clock that jumps
			at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			require.NoError(t, os.Chtimes(w.path, at, at))
			w.after(time.Second)
		}
		require.Empty(t, w.takeReports())
		require.Equal(t, 3, w.takeReads(), "without a new time or size the content is not read")
	})
}

func TestError_is_reported_once_and_so_is_its_end(t *testing.T) {
	watched(t, func(w *world) {
		w.save("first")
		w.after(time.Minute)
		w.takeReports()
		for _, err := range []error{errors.New("permission denied"), nil} {
			w.fail(err)
			for _, text := range []string{"", "first"} { // as it was before
				w.save(text)
				w.after(time.Minute)
			}
			require.NotEmpty(t, w.takeReports())
		}
	})
}
