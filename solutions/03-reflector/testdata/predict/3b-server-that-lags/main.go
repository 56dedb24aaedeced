// A client has seen version 7, and now talks to a server that has only reached version 5.
//
// Question: Which requests do three calls of ListAndWatchWithContext send?
//
// Wrong: too-large-is-not-known
//
// Story: After the upgrade of a control plane, or a restore of etcd from a backup, a client may know a version that no
// server has reached. The server refuses it as too large. Some kubelets repeated the same request for an hour or two
// ([#91073](https://github.com/kubernetes/kubernetes/issues/91073)).
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	var requests []string
	newest := "7"
	lw := &source{}
	lw.ListWithContextFunc = func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		requests = append(requests, "list@"+options.ResourceVersion)
		if options.ResourceVersion > newest { // a server compares numbers
			return nil, apierrors.NewTimeoutError("Too large resource version: 7, current: 5", 1)
		}
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: newest}}, nil
	}
	lw.WatchFuncWithContext = func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
		requests = append(requests, "watch@"+options.ResourceVersion)
		return watch.NewEmptyWatch(), nil // ends at once, so a list is due
	}
	r := reflector.NewReflector(lw, nil, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	for range 3 {
		r.ListAndWatchWithContext(context.Background())
		newest = "5"
	}
	fmt.Println(requests)
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
