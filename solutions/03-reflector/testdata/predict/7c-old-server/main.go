// A server cannot stream lists, and refuses each stream as invalid.
//
// Question: Which requests does the Reflector send?
//
// Wrong: no-way-back-to-lists
//
// Story: client-go streams lists by default since 0.35, and talks to servers that have never heard of it. Such a server
// answers 422 to every stream. Without a way back to lists, the cache of a new program never fills on an old cluster.
// No request fails in an unusual way: the program waits for its caches, and nothing happens.
package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	var requests []string
	request := func(text string) {
		if requests = append(requests, text); len(requests) == 3 {
			stop()
		}
	}
	lw := &cache.ListWatch{}
	lw.ListWithContextFunc = func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		request("list@" + options.ResourceVersion)
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
	}
	lw.WatchFuncWithContext = func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
		if options.SendInitialEvents != nil {
			request("stream@" + options.ResourceVersion)
			return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
		}
		request("watch@" + options.ResourceVersion)
		return watch.NewFake(), nil
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	r := reflector.NewReflectorWithOptions(lw, nil, store, cache.ReflectorOptions{
		Backoff: &wait.Backoff{Duration: time.Millisecond, Steps: 1},
	})
	r.ListAndWatchWithContext(ctx)
	fmt.Println(requests)
}
