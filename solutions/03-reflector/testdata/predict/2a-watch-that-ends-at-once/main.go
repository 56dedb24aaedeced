// Every watch ends at once, and brings nothing.
//
// Question: Which requests does one call of ListAndWatchWithContext send?
//
// Wrong: hot-loop
//
// Story: Some proxies cannot pass a watch on: they answer 200 and close the connection. A watch that ends is normal, so
// the obvious loop starts the next one at once. Then each informer needs a CPU core for itself, and the server receives
// a thousand requests a second. client-go reports such a watch as `VeryShortWatchError`, lists again and backs off.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	var requests []string
	lw := &source{}
	lw.ListWithContextFunc = func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		requests = append(requests, "list@"+options.ResourceVersion)
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
	}
	lw.WatchFuncWithContext = func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
		if requests = append(requests, "watch@"+options.ResourceVersion); len(requests) == 5 {
			stop()
		}
		return watch.NewEmptyWatch(), nil
	}
	r := reflector.NewReflector(lw, nil, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	r.ListAndWatchWithContext(ctx)
	fmt.Println(requests)
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
