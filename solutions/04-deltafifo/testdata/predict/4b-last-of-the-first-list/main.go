// The first list has two Pods, and a third one is created afterwards.
//
// Question: For which Pods does process learn that they belong to the first list?
//
// Wrong: last-one-is-not-initial
//
// Story: A queue that counts a key before it computes the second argument of process makes one mistake: the last object
// of the first list looks new. A handler that announces new objects announces this one at every start of the
// controller.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/solutions/04-deltafifo"
)

func main() {
	q := deltafifo.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{})

	_ = q.Replace([]any{pod("a", "1"), pod("b", "2")}, "2")
	_ = q.Add(pod("c", "3"))

	for range 3 {
		_, _ = q.Pop(func(popped any, isInInitialList bool) error {
			key, _ := q.KeyOf(popped)
			fmt.Println(key, isInInitialList)
			return nil
		})
	}
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
