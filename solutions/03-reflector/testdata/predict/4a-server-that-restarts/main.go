// The server refuses one connection while it restarts.
//
// Question: Which requests has the Reflector sent when the second watch has started?
//
// Wrong: refused-makes-a-list-due
//
// Story: A server that refuses a connection has forgotten nothing, so a watch at the last version brings every missed
// change. Until 2019 Reflectors listed instead: their check did not recognize the error. In a large cluster each
// restart of an API server ended with a list from every client, at the moment when the server had the least time for it
// ([#81634](https://github.com/kubernetes/kubernetes/pull/81634)).
package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	utilruntime.ErrorHandlers = nil // no log
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
		if watches++; watches == 1 {
			return nil, syscall.ECONNREFUSED
		}
		stop()
		return watch.NewFake(), nil
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
