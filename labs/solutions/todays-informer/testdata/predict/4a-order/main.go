// Two Pods change, and the first one changes again before the consumer has popped anything.
//
// Question: What does each line show?
//
// Wrong: item-that-does-not-fit-goes-first
//
// Story: The consumer writes version 3 first, and then the batch with version 1 over it. The cache keeps an old state
// until the Pod changes again, which may be never.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	fifo := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, EmitDeltaTypeBookmark: true})
	queue := todaysinformer.NewBatchQueue(fifo)
	for _, p := range []*corev1.Pod{pod("web-0", "1"), pod("web-1", "2"), pod("web-0", "3")} {
		_ = queue.Update(p)
	}
	queue.Close()

	show := func(deltas []cache.Delta, _ bool) error {
		for _, d := range deltas {
			fmt.Println(d.Object.(*corev1.Pod).Name, "at version", d.Object.(*corev1.Pod).ResourceVersion)
		}
		return nil
	}
	single := func(obj any, initial bool) error { return show(obj.(cache.Deltas), initial) }
	for queue.PopBatch(show, single) == nil {
	}
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}
