// A closed queue has two keys, and the consumer fails for the first one.
//
// Question: For which keys is process called, and in which order?
//
// Wrong: process-error-puts-back
//
// Story: A queue that puts a key back after an error retries at once and forever. One object that cannot be processed
// then keeps the informer busy. client-go had ErrRequeue for this until 0.33, and removed it. Controllers retry with
// the workqueue of chapter 06, which has a back-off.
package main

import (
	"errors"
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

	failed := false
	for {
		_, err := q.Pop(func(popped any, _ bool) error {
			key, _ := q.KeyOf(popped)
			fmt.Println("process", key)
			if !failed {
				failed = true
				return errors.New("the disk is full")
			}
			return nil
		})
		fmt.Println("error:", err)
		if errors.Is(err, cache.ErrFIFOClosed) {
			return
		}
	}
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
