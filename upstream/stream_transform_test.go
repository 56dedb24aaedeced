package upstream

import (
	"context"
	"errors"
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

// Promise: "returned data is consistent, as if, served directly from etcd via a quorum read" (watchList,
// tools/cache/reflector.go:790). A plain list whose transform fails is an error, and changes nothing.
//
// Defect: an object of a streamed list that the informer's transform refuses is logged and left out
// (reflector.go:1039). Replace then treats it as deleted.
//
// Impact: after a reconnect, one object that cannot be transformed is deleted from the cache, and handlers receive
// OnDelete for an object that exists. A controller may delete what belongs to it.
//
// Upstream: no report found; the temporary store transforms since
// https://github.com/kubernetes/kubernetes/pull/131799.
//
// Repair: let watchList return the error of the temporary store, so that a list follows.
func TestReflector_deletes_an_object_that_cannot_be_transformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(quiet(t))
		var deleted []string
		streams := 0
		s := server{
			list: func() (runtime.Object, error) { return pods("web", "db"), nil },
			watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if o.SendInitialEvents == nil {
					return nil, apierrors.NewResourceExpired("too old")
				}
				streams++
				return stream(streams == 1, added("web"), added("db"), endOfList()), nil
			},
		}
		informer := cache.NewSharedIndexInformer(s, &corev1.Pod{}, 0, cache.Indexers{})
		_ = informer.SetTransform(func(obj any) (any, error) {
			if p, ok := obj.(*corev1.Pod); ok && p.Name == "db" && streams > 1 {
				return nil, errors.New("this transform does not know the Pod any more")
			}
			return obj, nil
		})
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
			key, _ := cache.DeletionHandlingObjectToName(obj)
			deleted = append(deleted, key.Name)
		}})
		time.AfterFunc(time.Minute, stop) // simulated: the second stream is there by then
		informer.RunWithContext(ctx)
		present(t, len(deleted) == 1 && deleted[0] == "db", "the Pod stayed in the cache")
	})
}
