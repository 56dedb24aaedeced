package upstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Promise: "In that case we reset the RV and try to get a consistent snapshot" (tools/cache/reflector.go:823): the
// second request differs from the refused one.
//
// Defect: a stream that is refused with 410 although it asked for no version is repeated as it was, at once, forever
// (reflector.go:820).
//
// Impact: a server or proxy that answers 410 to every stream receives as many requests as it can answer, and the
// informer never lists.
//
// Upstream: no report found.
//
// Repair: retry only if the refused request had a version; otherwise return the error, and a list follows.
func TestReflector_repeats_a_refused_stream_without_a_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(quiet(t))
		lists, refused, started := 0, 0, time.Now()
		s := server{
			list: func() (runtime.Object, error) { lists++; stop(); return pods("web"), nil },
			watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if refused++; refused == 20_000 {
					stop()
				}
				return nil, apierrors.NewResourceExpired("the version is too old: " + o.ResourceVersion)
			},
		}
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		r := cache.NewReflectorWithOptions(s, &corev1.Pod{}, store, cache.ReflectorOptions{})
		r.RunWithContext(ctx)
		present(t, lists == 0 && time.Since(started) == 0, "the Reflector listed, or it waited")
	})
}
