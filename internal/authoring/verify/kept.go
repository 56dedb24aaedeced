package verify

// This file keeps results in .workshop/verified, so that nothing runs again that has not changed. A result is kept for
// each test, under a hash of what it depends on (inputs.go). A test that was not as it must be is not kept.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"client-go-workshop/internal/runner/gotest"
)

// keptFor is how long a result is kept.
const keptFor = 14 * 24 * time.Hour

// results is a folder with results by their keys. The empty results has none, and keeps none.
type results string

// openResults removes old results.
func openResults(root string) results {
	dir := filepath.Join(root, ".workshop", "verified")
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*")) // the pattern is right
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > keptFor {
			os.Remove(path) // the next run tries again
		}
	}
	return results(dir)
}

func (k results) path(key string) string { return filepath.Join(string(k), key[:2], key[2:]) }

// get reads a result. It reports whether there is one. A file that another process is writing is none yet.
func (k results) get(key string, to any) bool {
	if key == "" {
		return false
	}
	content, err := os.ReadFile(k.path(key))
	return err == nil && json.Unmarshal(content, to) == nil
}

// put keeps a result. Without it, the next run only takes longer, so an error is no problem of the chapter's.
func (k results) put(key string, result any) {
	content, err := json.Marshal(result)
	if err == nil && os.MkdirAll(filepath.Dir(k.path(key)), 0o755) == nil {
		_ = os.WriteFile(k.path(key), content, 0o644)
	}
}

// keep returns the result of work, or the one that was kept under the key. It keeps a result that is good.
func keep[T any](r *run, key string, good func(T) bool, work func() (T, error)) (result T, err error) {
	if r.results.get(key, &result) {
		return result, nil
	}
	if result, err = work(); err == nil && key != "" && good(result) {
		r.results.put(key, result)
	}
	return result, err
}

// testKey returns the key of a test over code.
func (r *run) testKey(c code, test string) string {
	if c.key == "" {
		return ""
	}
	return sum(c.key, test, r.inputs.tests[test])
}

// keptTest returns what a test of an earlier run came to, if it was kept.
func (r *run) keptTest(c code, test string) (t gotest.Test, kept bool) {
	kept = r.results.get(r.testKey(c, test), &t)
	return t, kept
}

// keepTests keeps the good tests of a run, unless one ended the test binary, or failed with exit code 0.
func (r *run) keepTests(c code, res gotest.Result, good func(gotest.Test) bool) {
	keeps := slices.DeleteFunc(slices.Clone(res.Tests), func(t gotest.Test) bool { return !good(t) })
	whole := !slices.ContainsFunc(res.Tests, func(t gotest.Test) bool {
		return t.Crashed() || t.Status == gotest.Failed && res.Exit == 0
	})
	if !whole || c.key == "" {
		return
	}
	for _, t := range keeps {
		r.results.put(r.testKey(c, t.Name), t)
	}
}
