// While the watch is down, a Pod is deleted and another one with the same role is created.
//
// Question: In which order are the two items popped?
//
// Wrong: real-fifo-lists-before-it-deletes
//
// Story: If the listed objects come first, the store has both Pods for an instant. An index by image, or by leader,
// then finds two objects where there was only ever one.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/solutions/04-deltafifo"
)

func main() {
	known := cache.NewStore(cache.MetaNamespaceKeyFunc)
	_ = known.Add(pod("leader-old", "1"))
	q := deltafifo.NewRealFIFOWithOptions(cache.RealFIFOOptions{KnownObjects: known})

	_ = q.Replace([]any{pod("leader-new", "2")}, "2")

	_, _ = q.Pop(show)
	_, _ = q.Pop(show)
}

func show(popped any, _ bool) error {
	for _, d := range popped.(cache.Deltas) {
		switch obj := d.Object.(type) {
		case *corev1.Pod:
			fmt.Println(d.Type, obj.Name, "at", obj.ResourceVersion)
		case cache.DeletedFinalStateUnknown:
			fmt.Println(d.Type, obj.Key, "with a tombstone")
		}
	}
	return nil
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
