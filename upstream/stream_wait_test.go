package upstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Promise: "Run will exit when the context is canceled." (RunWithContext, tools/cache/reflector.go:422)
//
// Defect: the wait of watchList after a refused connection or a 429 does not look at the context (reflector.go:817).
// It takes up to a minute. The same wait of a watch does (reflector.go:609).
//
// Impact: in an outage of the API server, a program takes up to a minute longer to end, often longer than its grace
// period.
//
// Upstream: no report found.
//
// Repair: select on ctx.Done() beside the timer, as watch does.
func TestReflector_waits_after_the_end_of_its_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(quiet(t))
		s := server{watch: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, apierrors.NewTooManyRequestsError("busy")
		}}
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		r := cache.NewReflectorWithOptions(s, &corev1.Pod{}, store, cache.ReflectorOptions{})
		returned := make(chan struct{})
		go func() { r.RunWithContext(ctx); close(returned) }()
		time.Sleep(10 * time.Minute) // the waits have their full length by now
		stop()
		cancelled := time.Now()
		<-returned
		present(t, time.Since(cancelled) > 0, "the Reflector returned at once")
	})
}
