package verify

// This file keeps results in .workshop/verified, so that nothing runs again that has not changed. A result is kept for
// each test, under a hash of what it depends on (inputs.go). A test that was not as it must be is not kept.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"client-go-workshop/internal/runner/gotest"
)

// keptFor is how long a result is kept that no run asks for.
const keptFor = 14 * 24 * time.Hour

// results is a folder with results by their keys. The empty results has none, and keeps none.
type results string

// openResults removes results that were not used for long.
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

// get reads a result. It reports whether there is one.
func (k results) get(key string, to any) bool {
	if key == "" {
		return false
	}
	content, err := os.ReadFile(k.path(key))
	if err != nil || json.Unmarshal(content, to) != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(k.path(key), now, now) // it only tells that the result is in use
	return true
}

// put keeps a result. Without it, the next run only takes longer, so an error is no problem of the chapter's.
func (k results) put(key string, result any) {
	content, err := json.Marshal(result)
	if err != nil || os.MkdirAll(filepath.Dir(k.path(key)), 0o755) != nil {
		return
	}
	temporary, err := os.CreateTemp(string(k), "new")
	if err != nil {
		return
	}
	_, err = temporary.Write(content)
	if temporary.Close() != nil || err != nil || os.Rename(temporary.Name(), k.path(key)) != nil {
		os.Remove(temporary.Name())
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
	var keeps []gotest.Test
	whole := true
	for _, t := range res.Tests {
		if good(t) {
			keeps = append(keeps, t)
		}
		whole = whole && !t.Crashed() && (t.Status != gotest.Failed || res.Exit != 0)
	}
	for _, t := range keeps {
		if key := r.testKey(c, t.Name); key != "" && whole {
			r.results.put(key, t)
		}
	}
}
