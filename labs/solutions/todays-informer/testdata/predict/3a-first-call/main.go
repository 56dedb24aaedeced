// Three Pods are created at once, and a handler counts the Pods in the store at each call.
//
// Question: Which number does each call print?
//
// Wrong: transaction-is-not-used
//
// Story: One write for each Pod also means one wait for all readers of the cache. In
// [#130767](https://github.com/kubernetes/kubernetes/issues/130767) the caches of a controller manager fell
// behind for this reason.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		fmt.Printf("%s is added, Pods in the store: %d\n", obj.(*corev1.Pod).Name, len(store.List()))
	}}

	var batch []cache.Delta
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		batch = append(batch, cache.Delta{Type: cache.Added, Object: pod})
	}
	if err := todaysinformer.ProcessDeltasInBatch(handler, store, batch, false); err != nil {
		fmt.Println("error:", err)
	}
}
