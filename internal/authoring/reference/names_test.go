package reference

// Names of symbols and paths of files, in Markdown and in Go comments: those that exist, those that only look like it,
// those that are gone.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames_that_exist_are_silent(t *testing.T) {
	w := newTiny(t)
	w.silent(
		"`cache.NewStore(keyFunc, nil)`, `*cache.Config`, `&appsv1.Deployment{}`, `[]cache.KeyFunc`, "+
			"`func(opts ...cache.KeyFunc) cache.Store`",
		"`cache.cache`, `cache.cache.keyFunc`, `(*cache.Config).Queue`, `cache.First`, `cache.Second`, `cache.ErrClosed`, "+
			"`cache.KeyError{Obj: 1}`",
		"`cache.Indexer.ByIndex`, embedded: `cache.Indexer.Add`, `cache.Config.Pop`, `cache.Config.Depth`, "+
			"`cache.Typed[T].Pop`, `cache.Typed[cache.Store].Depth`",
		"`cache.Queue.Pop`, `cache.Config.ListOptions`, `cache.Config.LabelSelector`, `cache.Config.Indexer.ByIndex`, "+
			"`cache.Config.Marshal`, `(*cache.Typed[T]).Pop`",
		"`appsv1.Deployment.Name`, `appsv1.Deployment.ObjectMeta.Namespace`, `appsv1.Deployment.Spec.Replicas`, "+
			"`metav1.ObjectMeta`, `ptr.To(1)`",
		"`k8s.io/client-go/tools/cache.NewStore`, `workqueue.Typ…`, `cache.TypedLim*`, `watch.Interface{Stop(); "+
			"ResultChan()}`, `runtime.Object`")
}

func TestNames_that_cannot_be_told_from_source_are_silent(t *testing.T) {
	w := newTiny(t)
	w.silent("`cache.Foreign.Anything`, `cache.cache.Lock`, `cache.ErrClosed.Error`, "+
		"`appsv1.Deployment.Spec.Template.Labels`",
		"`klog.Info`, whose module is not at hand; `runtime.Gosched` is the standard library's")
}

func TestNames_that_only_look_like_symbols_are_silent(t *testing.T) {
	w := newTiny(t)
	w.silent(
		"`cache.go`, `tools/cache`, `store.go`, `cache.yaml`, `cache.test`, `foo.Bar`, `index.update`, `my.cache.Gone`, "+
			"`example.com/cache.Gone`, `x-cache.Gone`",
		"`kubernetes.io/hostname`, `app.kubernetes.io/name`, `kubernetes.default.svc`, `labels.app`, "+
			"`metadata.labels.app`, `watch.timeout`, `cache.k8s.io`",
		"`user@cache.Gone`, `#cache.Gone`, `$cache.Gone`, cache.Gone in prose, `cache. Gone`, `cache`, `cache.`, "+
			"`Cache.Gone`",
		"", "```go", "cache.Gone()", "```", "<!-- `cache.Gone` -->")
}

func TestNames_that_are_gone_are_reported(t *testing.T) {
	w := newTiny(t)
	const in = " in k8s.io/client-go/tools/cache v0.37.2"
	w.reports([]wrong{
		{"a function", "\n`cache.NewFIFO(f)`", []string{"2: there is no cache.NewFIFO" + in}},
		{"a function, misspelt", "`cache.NewStores`",
			[]string{"1: there is no cache.NewStores" + in + "; did you mean cache.NewStore?"}},
		{"in other case", "`cache.newStore`",
			[]string{"1: there is no cache.newStore" + in + "; did you mean cache.NewStore?"}},
		{"an unexported type", "`cache.threadSafeMap`", []string{"1: there is no cache.threadSafeMap" + in}},
		{"a method", "`cache.Store.Replace`", []string{"1: there is no cache.Store.Replace" + in}},
		{"a method of another type", "`cache.Store.ByIndex`",
			[]string{"1: there is no cache.Store.ByIndex" + in + "; did you mean cache.Indexer.ByIndex?"}},
		{"a method without its type", "`cache.ByIndex`",
			[]string{"1: there is no cache.ByIndex" + in + "; did you mean cache.Indexer.ByIndex?"}},
		{"a method of several types", "`cache.Add`",
			[]string{"1: there is no cache.Add" + in + "; did you mean cache.Store.Add or cache.cache.Add?"}},
		{"a field", "`cache.KeyError.Object`", []string{"1: there is no cache.KeyError.Object" + in}},
		{"of a field", "`cache.Config.Indexer.ByIndexes`", []string{"1: there is no cache.Config.Indexer.ByIndexes" + in}},
		{"of an embedded type", "`cache.Config.Push`", []string{"1: there is no cache.Config.Push" + in}},
		{"in another module", "`appsv1.Deployment.Spec.Replica`",
			[]string{"1: there is no appsv1.Deployment.Spec.Replica in k8s.io/api/apps/v1 v0.37.2"}},
		{"behind a pointer and type arguments", "`(*cache.Typed[T]).Push`", []string{"1: there is no cache.Typed.Push" + in}},
		{"as a type argument", "`workqueue.Typed[cache.Gone]`", []string{"1: there is no cache.Gone" + in}},
		{"as a parameter", "`func(o *cache.Gone, w watch.Gone)`",
			[]string{"1: there is no cache.Gone" + in, "1: there is no watch.Gone in k8s.io/apimachinery/pkg/watch v0.37.2"}},
		{"by prefix", "`cache.Untyped…`", []string{"1: there is no cache.Untyped" + in}},
		{"by import path", "`k8s.io/client-go/tools/cache.Gone`",
			[]string{"1: there is no k8s.io/client-go/tools/cache.Gone" + in}},
		{"its package", "`k8s.io/client-go/tools/gone.Gone`",
			[]string{"1: there is no package k8s.io/client-go/tools/gone in k8s.io/client-go v0.37.2, so no " +
				"k8s.io/client-go/tools/gone.Gone"}},
		{"the package of an alias", "`record.EventRecorder`",
			[]string{"1: there is no package k8s.io/client-go/tools/record in k8s.io/client-go v0.37.2, so no " +
				"record.EventRecorder"}},
		{"in no meaning of the name", "`runtime.Gone`",
			[]string{"1: there is no runtime.Gone in k8s.io/apimachinery/pkg/runtime v0.37.2"}},
		{"in code over two lines", "a `cache.Store,\ncache.Gone` b", []string{"1: there is no cache.Gone" + in}},
		{"as a link's text", "[`cache.Gone`](README.md)", []string{"1: there is no cache.Gone" + in}},
		{"in a heading", "# About `cache.Gone`", []string{"1: there is no cache.Gone" + in}},
		{"in a table", "| a | b |\n|---|---|\n| x | `cache.Gone` |", []string{"3: there is no cache.Gone" + in}},
	})
}

func TestNames_of_chapters_are_those_of_the_solutions(t *testing.T) {
	w := newTiny(t)
	w.silent("`indexer.NewStore()`, `indexer.index.keys`, `indexer.ByIndex(\"image\")` on a variable, " +
		"`workqueue.Ours`, `workqueue.Typed.Get`, `deltafifo.ToCome`")
	w.reports([]wrong{
		{"a chapter's", "`indexer.NewStor`",
			[]string{"1: there is no indexer.NewStor in client-go-workshop/solutions/05-indexer" +
				"; did you mean indexer.NewStore?"}},
		{"a chapter's and client-go's", "`workqueue.Theirs`",
			[]string{"1: there is no workqueue.Theirs in k8s.io/client-go/util/workqueue v0.37.2"}},
	})
}

func TestNames_marked_as_gone_may_be_spoken_of(t *testing.T) {
	w := newTiny(t)
	w.silent("`cache.ErrRequeue`, `cache.Queue.List`, `cache.OldQueue.Pop`, tools/cache/fifo.go", "",
		"<!-- gone: cache.ErrRequeue, cache.Queue.List,", "cache.OldQueue, tools/cache/fifo.go -->")
	w.reports([]wrong{
		{"and is there", "`cache.NewStore`\n\n<!-- gone: cache.NewStore -->",
			[]string{"1: cache.NewStore is marked as gone, and it is in k8s.io/client-go/tools/cache v0.37.2"}},
		{"and the file is there", "tools/cache/store.go\n\n<!-- gone: tools/cache/store.go -->",
			[]string{"1: tools/cache/store.go is marked as gone, and k8s.io/client-go v0.37.2 has it"}},
		{"and is not spoken of", "<!-- gone: cache.ErrRequeue -->",
			[]string{"1: cache.ErrRequeue is marked as gone, and this text does not name it: take it out of the comment"}},
	})
}

func TestPaths_are_those_of_the_pinned_source(t *testing.T) {
	w := newTiny(t)
	w.silent("`tools/cache/store.go` and tools/cache/store.go:3, client-go/tools/cache/index.go, "+
		"k8s.io/client-go/util/workqueue/queue.go,",
		"pkg/watch/watch.go, pkg/controller/deployment/sync.go, solutions/05-indexer/index.go, internal/gone.go, "+
			"store.go:999, ./tools/gone.go,")
	w.reports([]wrong{
		{"a file", "see tools/cache/gone.go.", []string{"1: client-go v0.37.2 has no file tools/cache/gone.go"}},
		{"a file that moved", "see `util/queue/queue.go`",
			[]string{"1: client-go v0.37.2 has no file util/queue/queue.go; there is util/workqueue/queue.go"}},
		{"a file of apimachinery", "`pkg/watch/gone.go`", []string{"1: apimachinery v0.37.2 has no file pkg/watch/gone.go"}},
		{"a line", "util/workqueue/queue.go:99", []string{"1: util/workqueue/queue.go ends before line 99"}},
	})
}

func TestGo_comments_are_read_like_texts(t *testing.T) {
	w := newTiny(t)
	require.Empty(t, w.check("05-indexer/a.go", `// Package indexer (store.go, cache.go) mirrors cache.NewStore and cache.cache.keyFunc. It is client-go's tools/cache/store.go.
package indexer

import (
	"runtime"

	v1listers "k8s.io/client-go/util/workqueue"
	"client-go-workshop/05-indexer"
	"client-go-workshop/internal/watch"
	"example.org/labels"
)

// A calls runtime.Anything, watch.Anything, labels.Anything, indexer.NewStore, v1listers.Typed and rest.Anything. The
// variables are no packages: wait.Anything, sets.Anything, types.Anything, meta.Anything, json.Anything, ptr.Anything.
func A(rest int) {
	wait := 1
	var sets, _ = wait, func() { type types int }
	for meta, json := range []int{sets} {
	}
	x := cache.Gone // "cache.Store."
	/* cache.Store
	   See https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/store.go#L3. */
}

func ptr() {}
`))
	require.Equal(t, []string{
		"3: there is no workqueue.Gone in k8s.io/apimachinery/pkg/watch v0.37.2",
		"5: there is no cache.NewFIFO in k8s.io/client-go/tools/cache v0.37.2",
		"6: client-go v0.37.2 has no file tools/cache/fifo.go",
		"10: there is no cache.Gone in k8s.io/client-go/tools/cache v0.37.2",
		"11: the link to tools/cache/store.go names v0.1.0, and go.mod pins v0.37.2",
	}, w.check("05-indexer/a.go", `package indexer

import workqueue "k8s.io/apimachinery/pkg/watch" // workqueue.Gone is not what it is called here

// A mirrors cache.NewFIFO.
// See tools/cache/fifo.go.
var A = 1

/*
	x := cache.Gone
	https://github.com/kubernetes/client-go/blob/v0.1.0/tools/cache/store.go.
*/
`))
	require.Equal(t, []string{"1: its comments cannot be read: 05-indexer/a.go:1:1: expected 'package', found nothing"},
		w.check("05-indexer/a.go", "nothing"))
}

func TestDistance_counts_letters(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"NewStore", "NewStores", 1}, {"ab", "ba", 2},
	} {
		require.Equal(t, c.want, distance(c.a, c.b), "%q, %q", c.a, c.b)
	}
}

func TestChapters_have_their_package_names_and_labs_too(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"solutions/02-watch-stream", "labs/solutions/rewriting-proxy"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o755))
	}
	require.Equal(t, map[string]string{
		"watchstream":    "client-go-workshop/solutions/02-watch-stream",
		"rewritingproxy": "client-go-workshop/labs/solutions/rewriting-proxy",
	}, chapters(root))
}
