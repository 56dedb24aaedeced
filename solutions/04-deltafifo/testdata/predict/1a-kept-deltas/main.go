// A consumer keeps the Deltas of its last Pop.
//
// Question: What does the last line print?
//
// Wrong: deltas-reused
//
// Story: A queue that reuses the slice of popped Deltas saves an allocation for each key. A consumer that keeps Deltas,
// for example to log them later, then finds a newer change in them. client-go allocates a new slice for each key.
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
	_ = q.Add(pod("web", "1"))
	popped, _ := q.Pop(func(any, bool) error { return nil })
	kept := popped.(cache.Deltas)
	fmt.Println(kept[0].Type)

	_ = q.Update(pod("web", "2"))
	fmt.Println(kept[0].Type)
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
