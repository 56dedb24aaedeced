package verify

// This file keeps results in .workshop/verified, so that nothing runs again that has not changed. A result is kept for
// each test, under a hash of what it depends on (inputs.go). A test that was not as it must be is not kept.

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

// keptFor is how long a result is kept that no run asks for.
const keptFor = 14 * 24 * time.Hour

// results is a folder with results by their keys. The nil results has none, and keeps none.
type results struct {
	dir      string
	packages packages
}

// openResults removes results that were not used for long.
func openResults(root string) *results {
	k := &results{filepath.Join(root, ".workshop", "verified"), packages{root: root, folders: map[string]folder{}}}
	files, _ := filepath.Glob(filepath.Join(k.dir, "*", "*")) // the pattern is right
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > keptFor {
			os.Remove(path) // the next run tries again
		}
	}
	return k
}

func (k *results) path(key string) string { return filepath.Join(k.dir, key[:2], key[2:]) }

// get reads a result. It reports whether there is one.
func (k *results) get(key string, to any) bool {
	content, err := os.ReadFile(k.path(key))
	if err != nil || json.Unmarshal(content, to) != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(k.path(key), now, now) // it only tells that the result is in use
	return true
}

// put keeps a result. Without it, the next run only takes longer, so an error is no problem of the chapter's.
func (k *results) put(key string, result any) {
	content, err := json.Marshal(result)
	if err != nil || os.MkdirAll(filepath.Dir(k.path(key)), 0o755) != nil {
		return
	}
	temporary, err := os.CreateTemp(k.dir, "new")
	if err != nil {
		return
	}
	_, err = temporary.Write(content)
	if temporary.Close() != nil || err != nil || os.Rename(temporary.Name(), k.path(key)) != nil {
		os.Remove(temporary.Name())
	}
}

// keep returns the result of work, or the one that was kept when its inputs were the same: what it is, and the code of
// layers. It keeps a result that is good.
func keep[T any](r *run, what string, layers []overlay.Layer, good func(T) bool, work func() (T, error),
) (result T, err error) {
	if r.inputs == nil {
		return work()
	}
	parts := []string{"work", what, r.inputs.common}
	for _, layer := range layers {
		parts = append(parts, r.layerSum(layer))
	}
	key := sum(parts...)
	if r.results.get(key, &result) {
		return result, nil
	}
	if result, err = work(); err == nil && good(result) {
		r.results.put(key, result)
	}
	return result, err
}

// always is for results that are good if there is no error.
func always[T any](T) bool { return true }

// keptTest is a test of an earlier run.
type keptTest struct {
	Test gotest.Test
	Exit int // of the run
}

// testKey returns the key of a test over code. what distinguishes runs over the same code.
func (r *run) testKey(what, code, test string) string {
	return sum("test", what, code, r.inputs.common, r.inputs.shared, test, r.inputs.tests[test])
}

// tested returns the result of the tests that match a pattern over a layer. It starts those that were not kept, calls
// good for each of them, and keeps those that are good. what distinguishes runs over the same code. start receives a
// pattern of the tests to skip.
func (r *run) tested(what string, layer overlay.Layer, pattern string, good func(gotest.Test) bool,
	start func(skip string) (gotest.Result, error),
) (gotest.Result, error) {
	matching, err := regexp.Compile(pattern)
	if err != nil {
		return gotest.Result{}, err
	}
	var old gotest.Result
	var skipped []string
	missing, code := 0, ""
	if r.inputs != nil {
		code = r.layerSum(layer)
		for _, name := range r.inputs.names {
			var k keptTest
			switch {
			case !matching.MatchString(name):
			case r.results.get(r.testKey(what, code, name), &k):
				old.Tests, old.Took, old.Exit = append(old.Tests, k.Test), old.Took+k.Test.Took, max(old.Exit, k.Exit)
				skipped = append(skipped, "^"+name+"$")
			default:
				missing++
			}
		}
	}
	if missing == 0 && len(skipped) > 0 {
		return old, nil
	}
	res, err := start(strings.Join(skipped, "|"))
	if err != nil {
		return res, err
	}
	r.keepTests(what, code, res, good)
	res.Tests, res.Took, res.Exit = append(old.Tests, res.Tests...), res.Took+old.Took, max(res.Exit, old.Exit)
	if r.inputs != nil {
		slices.SortStableFunc(res.Tests, func(a, b gotest.Test) int {
			return cmp.Compare(slices.Index(r.inputs.names, a.Name), slices.Index(r.inputs.names, b.Name))
		})
	}
	return res, nil
}

// keepTests keeps the good tests of a run, unless one ended the test binary.
func (r *run) keepTests(what, code string, res gotest.Result, good func(gotest.Test) bool) {
	keeps := map[string]keptTest{}
	whole := true
	for _, t := range res.Tests {
		if good(t) {
			k := keptTest{Test: t}
			if t.Status == gotest.Failed {
				k.Exit = res.Exit
			}
			keeps[t.Name] = k
		}
		whole = whole && !t.Crashed()
	}
	if r.inputs == nil || !whole {
		return
	}
	for name, k := range keeps {
		r.results.put(r.testKey(what, code, name), k)
	}
}

// passes reports whether a test passed, or was left out on purpose.
func passes(t gotest.Test) bool { return t.Status == gotest.Passed || t.Status == gotest.Skipped }
