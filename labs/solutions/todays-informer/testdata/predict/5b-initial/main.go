// The first list and one more event are in a queue, and the handler looks at isInInitialList.
//
// Question: What does the handler receive for each Pod?
//
// Wrong: item-is-a-list-of-changes
//
// Story: A registration counts the additions of the first list until its handler has received them all. If nothing has
// isInInitialList, it has synced at once. The Kubernetes scheduler would then place Pods before it knows the nodes, as in
// [#113985](https://github.com/kubernetes/kubernetes/pull/113985).
package main

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	queue := todaysinformer.NewBatchQueue(cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
	}))
	_ = queue.Replace([]any{pod("listed-0"), pod("listed-1")}, "9")
	_ = queue.Add(pod("created-later"))
	queue.Close()

	handler := cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(obj any, isInInitialList bool) {
		fmt.Println(obj.(*corev1.Pod).Name, isInInitialList)
	}}
	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	for todaysinformer.Pop(queue, store, handler, &sync.Mutex{}) == nil {
	}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
