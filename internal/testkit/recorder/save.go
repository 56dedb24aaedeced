package recorder

// This file writes the runs of a failure to a file that `workshop show` opens.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/pipeline"
)

// kept is how many recordings of failures the folder has at most. The oldest ones are removed.
const kept = 10

// Off is the value of env.Recordings for no recordings at all.
const Off = "off"

// Saves reports whether failures are recorded.
func Saves() bool { return os.Getenv(env.Recordings) != Off }

// Save writes recordings to one file in .workshop/recordings, in place of an older one of this name. It returns the
// command that opens the file.
func Save(name string, all ...pipeline.Recording) (command string, err error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	shown := filepath.Join(".workshop", "recordings", name+".json")
	path := filepath.Join(root, shown)
	if folder := os.Getenv(env.Recordings); folder != "" {
		path = filepath.Join(folder, name+".json")
		shown = path
	}
	var text bytes.Buffer
	for _, r := range all {
		r.Log.NoteOverdue()
		if err := r.Write(&text); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("save a recording: %w", err)
	}
	if err := os.WriteFile(path+".new", text.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("save a recording: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("save a recording: %w", err)
	}
	prune(filepath.Dir(path))
	return "go tool workshop show " + filepath.ToSlash(shown), nil
}

// notInFileNames are the characters that the name of a test can have and a file's should not.
var notInFileNames = regexp.MustCompile(`[^\pL\p{Nd}_]`)

// FileName makes the name of a recording from the name of a test.
func FileName(test string) string { return notInFileNames.ReplaceAllString(test, "-") }

// root returns the folder of the module that the test belongs to.
func root() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("save a recording: there is no go.mod in this folder or above")
		}
	}
	return "", fmt.Errorf("save a recording: %w", err)
}

// prune removes the oldest recordings. A failure to remove one does no harm.
func prune(folder string) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	changed := func(path string) (at time.Time) {
		if info, err := os.Stat(path); err == nil {
			at = info.ModTime()
		}
		return at
	}
	slices.SortFunc(paths, func(a, b string) int { return changed(a).Compare(changed(b)) })
	for _, path := range paths[:max(0, len(paths)-kept)] {
		_ = os.Remove(path)
	}
}

// Serve records the changes of an API server, also those of other clients.
func (r *Recorder) Serve(api *fakeapi.Server) {
	r.serves.Store(true)
	api.OnChange(func(before, now fakeapi.Object, version int64) {
		if now == nil {
			r.Changed(before, strconv.FormatInt(version, 10), true)
		} else {
			r.Changed(now, strconv.FormatInt(version, 10), false)
		}
	})
}

// Changed records that a server of the test has stored or removed an object, and which version that is. The caller then
// records all changes of its server, also those that the code under test has asked for.
func (r *Recorder) Changed(obj any, version string, removed bool) {
	r.serves.Store(true)
	step := pipeline.Step{Seam: pipeline.Server, Verb: pipeline.Wrote}
	if removed {
		step.Verb = pipeline.Removed
	}
	step = Of(step, obj)
	step.Text, step.Kind, step.Version = NoteOf(obj), reflect.TypeOf(obj).Elem().Name(), version
	r.Log.Append(step)
}
