// The server ends a watch with 429, because it has too much to do.
//
// Question: Which requests has the Reflector sent when the second watch has started?
//
// Wrong: busy-event-makes-a-list-due
//
// Story: 429 says: come back later. A list is the most expensive request that a client can send, and a Reflector that
// answers 429 with a list makes a busy server busier
// ([#100878](https://github.com/kubernetes/kubernetes/issues/100878)). The answer may also come as an event of a watch
// that has started, which a check of the first response misses.
package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	var requests []string
	watches := 0
	lw := &source{}
	lw.ListWithContextFunc = func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		requests = append(requests, "list@"+options.ResourceVersion)
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
	}
	lw.WatchFuncWithContext = func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
		requests = append(requests, "watch@"+options.ResourceVersion)
		if watches++; watches == 2 {
			stop()
		}
		w := watch.NewFakeWithChanSize(1, false)
		w.Error(&metav1.Status{Code: 429, Reason: metav1.StatusReasonTooManyRequests})
		return w, nil
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	r := reflector.NewReflectorWithOptions(lw, nil, store, cache.ReflectorOptions{
		Backoff: &wait.Backoff{Duration: time.Millisecond, Steps: 1},
	})
	r.RunWithContext(ctx)
	fmt.Println(requests)
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
