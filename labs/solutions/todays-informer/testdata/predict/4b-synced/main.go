// A consumer receives the first list, and asks the queue in the middle of its work whether it has synced.
//
// Question: What are the three answers?
//
// Wrong: processes-after-pop
//
// Story: A controller waits for HasSynced and then reads its cache. If HasSynced is true while the list is still in the
// hand of the consumer, the cache is empty. The controller takes each object for a missing one, and creates it again.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	queue := todaysinformer.NewBatchQueue(cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
	}))
	_ = queue.Bookmark("8")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}}
	_ = queue.Replace([]any{pod}, "9")
	queue.Close()

	single := func(obj any, _ bool) error {
		fmt.Printf("in the middle of the %s: %v\n", obj.(cache.Deltas)[0].Type, queue.HasSynced())
		return nil
	}
	for queue.PopBatch(nil, single) == nil {
	}
	fmt.Println("afterwards:", queue.HasSynced())
}
