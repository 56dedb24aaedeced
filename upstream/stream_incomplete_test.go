package upstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Promise: the Reflector falls back: "Data couldn't be fetched in watchlist mode. Falling back to regular list. This
// is expected if watchlist is not supported or disabled in kube-apiserver." (tools/cache/reflector.go:491)
//
// Defect: a stream that ends before its last bookmark is no error (reflector.go:1094), so watchList opens the next
// one, without a limit (reflector.go:890) and without a wait.
//
// Impact: an informer of such a server never has a list. In kube-controller-manager, one of them stopped the whole
// ResourceQuota controller. A stream that breaks after its first event is asked for again thousands of times a second.
//
// Upstream: https://github.com/kubernetes/kubernetes/issues/140890, and
// https://github.com/kubernetes/kubernetes/pull/140902 (open) for the limit.
//
// Repair: return an error after a few incomplete streams, and use the back-off between them.
func TestReflector_asks_for_incomplete_streams_forever(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"ends at once": 0, "ends after a second": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(quiet(t))
				streams, lists, started := 0, 0, time.Now()
				s := server{
					list: func() (runtime.Object, error) { lists++; return pods("web"), nil },
					watch: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
						time.Sleep(lasts)
						if streams++; streams == 20_000 || lists > 0 {
							stop()
						}
						return stream(true, added("web")), nil
					},
				}
				store := cache.NewStore(cache.MetaNamespaceKeyFunc)
				r := cache.NewReflectorWithOptions(s, &corev1.Pod{}, store, cache.ReflectorOptions{})
				r.RunWithContext(ctx)
				waited := time.Since(started) - time.Duration(streams)*lasts
				present(t, lists == 0 && waited == 0, "the Reflector listed, or it waited between two streams")
			})
		})
	}
}
