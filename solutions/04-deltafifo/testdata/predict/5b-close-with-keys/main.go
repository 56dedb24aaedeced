// A queue with two keys is closed.
//
// Question: What do the three Pops return?
//
// Wrong: close-drops-what-is-queued
//
// Story: A Pop that checks only whether the queue is closed drops the pending keys. The last events before a shutdown
// are then lost, and a test that closes the queue before it pops receives nothing.
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
	_ = q.Add(pod("a", "1"))
	_ = q.Add(pod("b", "2"))
	q.Close()

	for range 3 {
		popped, err := q.Pop(func(any, bool) error { return nil })
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		key, _ := q.KeyOf(popped)
		fmt.Println("popped", key)
	}
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
