// A watch brings an event and then 410, because the server has forgotten the version.
//
// Question: Which version does the second list ask for?
//
// Wrong: relist-at-0
//
// Story: At version 0 any server may answer with what it has in memory, and a server that lags behind has old objects
// there. A kubelet that lists at 0 can see a deleted Pod again and start it, while its successor runs on another node
// ([#59848](https://github.com/kubernetes/kubernetes/issues/59848)). Until 0.17 every relist of client-go asked for 0.
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
	var requests []string
	newest := "7"
	lw := &source{}
	lw.ListWithContextFunc = func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		requests = append(requests, "list@"+options.ResourceVersion)
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: newest}}, nil
	}
	lw.WatchFuncWithContext = func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
		requests = append(requests, "watch@"+options.ResourceVersion)
		w := watch.NewFakeWithChanSize(2, false)
		w.Add(configMap("a", "8"))
		newest = "9"
		w.Error(&metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired})
		return w, nil
	}
	r := reflector.NewReflector(lw, nil, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	for range 2 {
		r.ListAndWatchWithContext(context.Background())
	}
	fmt.Println(requests)
}

func configMap(name, version string) *corev1.ConfigMap {
	m := metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}
	return &corev1.ConfigMap{ObjectMeta: m}
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
