package upstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// refuses is a store whose Replace fails.
type refuses struct{ cache.Store }

func (refuses) Replace([]any, string) error { return errors.New("the store is full") }

// Promise: "The watcher will always be stopped, unless …" the caller re-uses it (tools/cache/reflector.go:969).
//
// Defect: after a streamed list whose Replace fails, watchList returns the error without the watch and without
// stopping it (reflector.go:901).
//
// Impact: each such list leaves a stream open, with its connection, until the server ends it after minutes.
//
// Upstream: no report found; https://github.com/kubernetes/kubernetes/pull/131266 fixed a similar way out.
//
// Repair: w.Stop() before that return.
func TestReflector_leaves_a_stream_open_if_Replace_fails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened *watch.FakeWatcher
		s := server{
			list: func() (runtime.Object, error) { return nil, errors.New("no list") },
			watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				opened = stream(false, added("web"), endOfList())
				return opened, nil
			},
		}
		store := refuses{cache.NewStore(cache.MetaNamespaceKeyFunc)}
		r := cache.NewReflectorWithOptions(s, &corev1.Pod{}, store, cache.ReflectorOptions{})
		err := r.ListAndWatchWithContext(quiet(t))
		present(t, err != nil && opened != nil && !opened.IsStopped(), "the stream was stopped")
	})
}
