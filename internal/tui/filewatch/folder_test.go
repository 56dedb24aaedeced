package filewatch

// These tests watch a folder in real time. They wait for reports, and for nothing else.

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const patience = time.Minute // far more than it takes, since the machine may be busy

// folder is a watched one.
type folder struct {
	t       *testing.T
	path    string
	reports chan string // contents, as they are reported
	stop    func()
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, path: t.TempDir(), reports: make(chan string, 10_000)}
	require.NoError(t, os.Mkdir(filepath.Join(f.path, "below"), 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Watch(ctx, func() []string { return []string{f.path} }, f.content, func() { f.reports <- f.now() })
	}()
	f.stop = func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("Watch does not return when its context ends")
		}
	}
	t.Cleanup(f.stop)
	f.waitFor(f.now())
	return f
}

func (f *folder) content() (string, error) {
	sum := sha256.New()
	for _, name := range []string{"a.go", "below/b.go"} {
		text, err := os.ReadFile(filepath.Join(f.path, name))
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
		fmt.Fprintln(sum, name, len(text), string(text))
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

func (f *folder) now() string {
	sum, err := f.content()
	require.NoError(f.t, err)
	return sum
}

func (f *folder) write(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.path, name), []byte(text), 0o644))
}

// waitFor waits until a content is reported. What came before it may have been seen half written.
func (f *folder) waitFor(sum string) {
	f.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case content := <-f.reports:
			if content == sum {
				return
			}
		case <-deadline:
			f.t.Fatal("a save was missed")
		}
	}
}

// Editors save in different ways.
func TestFolder_tells_of_every_way_to_save(t *testing.T) {
	f := newFolder(t)
	path := filepath.Join(f.path, "a.go")
	for _, way := range []struct {
		name string
		save func()
	}{
		{"a new file", func() { f.write("a.go", "one") }},
		{"written in place", func() { f.write("a.go", "two") }},
		{"written beside, and renamed", func() {
			f.write("a.go~", "three")
			require.NoError(t, os.Rename(path+"~", path))
		}},
		{"the old one renamed, and written again", func() {
			require.NoError(t, os.Rename(path, path+"~"))
			f.write("a.go", "four")
		}},
		{"taken away, and written again", func() {
			require.NoError(t, os.Remove(path))
			f.write("a.go", "five")
		}},
		{"deleted", func() { require.NoError(t, os.Remove(path)) }},
		{"in a folder below", func() { f.write("below/b.go", "six") }},
	} {
		t.Run(way.name, func(t *testing.T) {
			way.save()
			f.waitFor(f.now())
		})
	}
}

// Two hundred saves, in bursts of ten: within a burst a newer one may take an older one's place, as it does when
// a program saves faster than the files can be read; the last save must be reported.
func TestFolder_misses_none_of_two_hundred_saves_and_leaves_nothing_behind(t *testing.T) {
	before := runtime.NumGoroutine()
	f := newFolder(t)
	watching := 0
	for i := range 200 {
		text := fmt.Sprint("save ", i)
		switch i % 3 {
		case 0:
			f.write("a.go", text)
		case 1:
			f.write("a.go~", text)
			require.NoError(t, os.Rename(filepath.Join(f.path, "a.go~"), filepath.Join(f.path, "a.go")))
		case 2:
			f.write("below/b.go", text)
		}
		if i%10 == 9 {
			f.waitFor(f.now())
		}
		if i == 99 {
			watching = runtime.NumGoroutine()
		}
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), watching, "goroutines pile up")
	f.stop()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			t.Fatal("goroutines are left behind")
		}
	}
}
