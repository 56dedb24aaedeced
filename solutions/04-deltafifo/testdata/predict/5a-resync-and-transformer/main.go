// A transformer counts its calls while a Pod is added, popped and resynced.
//
// Question: What does the last line print?
//
// Wrong: resync-transforms
//
// Story: client-go called the transformer for the objects of a resync too. These objects are in the store, and handlers
// read them at the same time. So a transformer that writes to its object was a data race
// ([#124337](https://github.com/kubernetes/kubernetes/issues/124337)).
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/solutions/04-deltafifo"
)

func main() {
	calls := 0
	known := cache.NewStore(cache.MetaNamespaceKeyFunc)
	q := deltafifo.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
		KnownObjects: known,
		Transformer:  func(obj any) (any, error) { calls++; return obj, nil },
	})
	store := func(popped any, _ bool) error { return known.Add(popped.(cache.Deltas).Newest().Object) }

	_ = q.Add(pod("web", "1"))
	_, _ = q.Pop(store)
	fmt.Println("calls after Add:", calls)

	_ = q.Resync()
	_, _ = q.Pop(store)
	fmt.Println("calls after Resync:", calls)
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
