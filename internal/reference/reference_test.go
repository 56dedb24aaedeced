package reference

// These tests write small texts into a folder whose go.mod is the workshop's own, so they look into the very client-go
// that is pinned.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// check writes a text and returns the problems with it.
func check(t *testing.T, name, text string) (problems []string) {
	t.Helper()
	root := t.TempDir()
	for _, mod := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join("..", "..", mod))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, mod), content, 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "other.md"), []byte("# Other\n\n## A part\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	found, err := Check(context.Background(), root, []string{name})
	require.NoError(t, err)
	for _, p := range found {
		require.Equal(t, name, p.File)
		problems = append(problems, p.Text)
	}
	return problems
}

const source = "https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/thread_safe_store.go"

func TestCheck_is_silent_where_all_is_true(t *testing.T) {
	require.Empty(t, check(t, "README.md", strings.Join([]string{
		"# Title",
		"[other](other.md), [a part](other.md#a-part), [here](#title), [out](https://example.org/x)",
		"[`threadSafeMap`](" + source + "#L256) [the store](" + source + "#L1-L20) [file](" + source + ")",
		"[#84959](https://github.com/kubernetes/kubernetes/issues/84959)",
		"`cache.NewIndexer(keyFunc, nil)`, `*cache.DeltaFIFO`, `cache.Indexer.AddIndexers`, `cache.threadSafeMap`, `metav1.ObjectMeta`",
		"`workqueue.Typed[T]`, `example.com/cache.Nothing`, `my.cache.Nothing`, `cache.go`, `foo.Bar`, `tools/cache/store.go`",
		"```go", "cache.Nothing()", "```",
	}, "\n")))
}

func TestCheck_reports_what_has_gone_stale(t *testing.T) {
	for name, c := range map[string]struct{ text, problem string }{
		"a file that is gone":       {"[x](gone.md)", "the link to gone.md leads nowhere: there is no such file"},
		"a heading that is gone":    {"[x](other.md#gone)", "there is no heading with the anchor #gone"},
		"a heading of its own":      {"[x](#gone)", "there is no heading with the anchor #gone"},
		"a line that is gone":       {"[x](go.mod#L9999)", "there is no such line"},
		"another version":           {"[x](" + strings.Replace(source, "0.37.2", "0.30.0", 1) + "#L1)", "names v0.30.0, and go.mod pins v0.37.2"},
		"an upstream file":          {"[x](" + strings.Replace(source, "thread", "gone", 1) + ")", "has no such file"},
		"an upstream line":          {"[x](" + source + "#L99999)", "the file ends before that line"},
		"a symbol on another line":  {"[`threadSafeMap`](" + source + "#L1)", "`threadSafeMap` is declared at tools/cache/thread_safe_store.go#L256, not at line 1"},
		"a symbol that is not here": {"[`DeltaFIFO`](" + source + "#L1)", "`DeltaFIFO` is not declared in tools/cache/thread_safe_store.go"},
		"an unknown module":         {"[x](https://github.com/kubernetes/kubectl/blob/v1/a.go)", "go.mod does not require k8s.io/kubectl"},
		"two issues":                {"[#1](https://github.com/kubernetes/kubernetes/pull/2)", "the link [#1] leads to #2"},
		"a function that is gone":   {"`cache.NewNothing()`", "there is no cache.NewNothing in k8s.io/client-go/tools/cache v0.37.2"},
		"a method that is gone":     {"`cache.DeltaFIFO.AddIfNotPresent`", "there is no cache.DeltaFIFO.AddIfNotPresent"},
		"a path that is gone":       {"`tools/cache/gone.go`", "client-go v0.37.2 has no file tools/cache/gone.go"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := check(t, "README.md", "# Title\n\n"+c.text+"\n")
			require.Len(t, problems, 1)
			require.Contains(t, problems[0], c.problem)
		})
	}
}

func TestCheck_reads_the_comments_of_Go_files(t *testing.T) {
	require.Empty(t, check(t, "a.go", "package a\n\n// A mirrors cache.NewIndexer.\nvar A = cache.Nothing\n"))
	require.Equal(t, []string{"there is no cache.NewNothing in k8s.io/client-go/tools/cache v0.37.2"},
		check(t, "a.go", "package a\n\n// A mirrors cache.NewNothing.\nvar A int\n"))
}
